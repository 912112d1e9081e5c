import { clamp } from '../text.ts'
import type { ToolResult } from '../tool.ts'
import {
  answer,
  answerSearch,
  checkOut,
  clipList,
  echo,
  searchFacts,
  verdict,
  withoutRoom,
} from './answer.ts'
import { fitMatches } from './fit-matches.ts'
import type { SearchSession, SearchToolOptions } from './search-session.ts'

/** Finds or fetches tools, checks them out and describes them, within `maxAnswerTokens`. */
export function answerSelect(
  session: SearchSession,
  { query, max_results }: { readonly query: string; readonly max_results?: number | undefined },
  options: SearchToolOptions,
): Promise<ToolResult> {
  const limit = clamp(max_results, { min: 1, max: 25, otherwise: 5 })
  return answerSearch(async () => {
    const found = await session.searchDeferred(query, { limit })
    const isSelect = found.kind === 'select'
    const { isDispatch } = options
    const loaded = isSelect ? 'your next list of tools has all of it' : 'fetch with select:<name>'
    const schemaBy = isDispatch ? 'call it: an error about arguments has all of it' : loaded
    const types = await session.typesOf(found.matches.map(({ name }) => name))
    const limits = { maxTokens: options.maxAnswerTokens, isDispatch, schemaBy, types }
    const { shown: matches, worthActivating, complete } = fitMatches(found, session, limits)
    session.noteSeen(complete)
    const shown = matches.map(({ name }) => name)
    const left = found.matches.map(({ name }) => name).filter((name) => !shown.includes(name))
    const wanted = isSelect ? shown : worthActivating
    const report = await checkOut(session, wanted)
    const { activated, evicted } = report
    const use = options.isDispatch ? 'call it' : 'fetch it with select:<name>'
    const { note, hint } = verdict(found, { use, activated })
    const full = withoutRoom(wanted, report, { ...options, use })
    return answer({
      query: echo(query),
      query_kind: isSelect ? 'select' : 'keyword',
      total_deferred_tools: session.deferrableCount(),
      ...(note === undefined ? {} : { note }),
      matches: isSelect ? matches.map(({ score: _, ...match }) => match) : matches,
      ...(activated.length < matches.length ? { activated } : {}),
      ...(full ? { not_activated: full.names } : {}),
      ...(evicted.length > 0 ? { evicted } : {}),
      ...searchFacts(found, session),
      ...(hint === undefined ? {} : { hint }),
      ...(full ? { hint: full.hint } : {}),
      ...(left.length > 0
        ? {
            omitted: clipList(left),
            hint: `${full ? `${full.hint} Those omitted` : 'These'} did not fit; select them next.`,
          }
        : {}),
    })
  })
}
