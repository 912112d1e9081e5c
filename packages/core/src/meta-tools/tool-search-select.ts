import { clamp } from '../text.ts'
import type { Tool } from '../tool.ts'
import {
  answer,
  answerLimit,
  answerSearch,
  checkOut,
  clipList,
  echo,
  HOW_TO_ASK,
  howToCall,
  inputInvalid,
  searchFacts,
  verdict,
  withoutRoom,
} from './answer.ts'
import type { SearchSession, SearchToolOptions } from './search-session.ts'

interface Input {
  readonly query: string
  readonly max_results?: number
}

/** `ToolSearch`: `select:A,B` fetches by name, anything else searches; what it returns is checked out. */
export function toolSearchSelect(session: SearchSession, options: SearchToolOptions): Tool<Input> {
  return {
    name: 'ToolSearch',
    description: `Fetches tools that are not shown to you, with their parameters: ${howToCall(options)}. Search before you conclude that something cannot be done. ${HOW_TO_ASK} Queries: "select:A,B" for exact names; "notebook jupyter" for the best matches; "+slack send" to require a word.\nBehind it:\n${options.behind}`,
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'select:<names>, or what you need in a few words.' },
        max_results: { type: 'integer', description: 'How many matches, 1 to 25.', default: 5 },
      },
      required: ['query'],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    execute({ query, max_results }, ctx) {
      if (query.trim() === '')
        return inputInvalid('ToolSearch needs a query: select:<names>, or what you need in a few words')
      const limit = clamp(max_results, { min: 1, max: 25, otherwise: 5 })
      const maxTokens = answerLimit(options, ctx)
      return answerSearch(async () => {
        const { fitMatches } = await import('./fit-matches.ts')
        const found = await session.searchDeferred(query, { limit })
        const isSelect = found.kind === 'select'
        const { isDispatch } = options
        const loaded = isSelect ? 'your next list of tools has all of it' : 'fetch with select:<name>'
        const schemaBy = isDispatch ? 'call it: an error about arguments has all of it' : loaded
        const limits = { maxTokens, isDispatch, schemaBy }
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
    },
  }
}
