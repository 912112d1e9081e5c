import { clamp, clipText } from '../text.ts'
import type { ToolResult } from '../tool.ts'
import {
  answer,
  checkOut,
  clipList,
  echo,
  howToCall,
  isBadQuery,
  notLoaded,
  ONLY_VISIBLE,
  searchFacts,
} from './answer.ts'
import type { DeferredResult, SearchSession, SearchToolOptions } from './search-session.ts'

/** Loads the tools that match a pattern, and says which. */
export async function answerPattern(
  session: SearchSession,
  { pattern, limit }: { readonly pattern: string; readonly limit?: number | undefined },
  options: SearchToolOptions,
): Promise<ToolResult> {
  try {
    const found = await session.searchDeferred(`/${pattern}/`, {
      limit: clamp(limit, { min: 1, max: 50, otherwise: 10 }),
    })
    if (found.total === 0) return noMatches(session, pattern, found)
    return await load(session, pattern, found, options)
  } catch (error) {
    if (isBadQuery(error)) return badPattern(pattern, error.message)
    throw error
  }
}

async function load(
  session: SearchSession,
  pattern: string,
  found: DeferredResult,
  options: SearchToolOptions,
): Promise<ToolResult> {
  const { fitItems, fitParameters } = await import('./fit-matches.ts')
  const described = found.matches.map(({ name, description }) => ({
    name,
    description: clipText(description, 300),
  }))
  const { maxAnswerTokens: maxTokens, isDispatch } = options
  // Where no later request declares what is loaded, this is where the model sees its parameters.
  const { shown: fitting, complete } = isDispatch
    ? fitParameters(described, session, maxTokens)
    : { shown: fitItems(described, maxTokens), complete: [] }
  const names = fitting.map(({ name }) => name)
  const before = new Set(names.filter((name) => session.isActive(name)))
  const report = await checkOut(session, names)
  session.noteSeen(complete)
  const { activated, evicted } = report
  const tools = fitting.map(({ name, description, ...more }) => ({
    name,
    description,
    loaded: activated.includes(name),
    ...more,
  }))
  const newlyLoaded = activated.filter((name) => !before.has(name)).length
  const unloaded = notLoaded(names, report)
  return answer({
    status: 'success',
    pattern,
    total_matches: found.total,
    tools,
    newly_loaded: newlyLoaded,
    message: `Found ${found.total} ${found.total === 1 ? 'tool' : 'tools'}; ${newlyLoaded} newly loaded${noRoom(unloaded.length, options)}. To use one, ${howToCall(options)}.`,
    ...(unloaded.length > 0 ? { not_activated: clipList(unloaded) } : {}),
    ...(evicted.length > 0 ? { evicted } : {}),
    ...searchFacts(found, session),
  })
}

function noRoom(count: number, { isDispatch }: SearchToolOptions): string {
  if (count === 0) return ''
  const step = isDispatch ? 'you can still call them' : 'a narrower pattern loads the one you need'
  return `; there was no room for ${count} more: ${step}`
}

function noMatches(session: SearchSession, pattern: string, found: DeferredResult): ToolResult {
  return answer({
    status: 'no_matches',
    message: `No deferred tool matches /${pattern}/.`,
    suggestion:
      found.alreadyVisible.length > 0
        ? ONLY_VISIBLE
        : 'Try a shorter pattern, or alternatives such as "file|document".',
    // A pattern has no terms.
    ...searchFacts({ ...found, unmatchedTerms: [] }, session),
  })
}

function badPattern(pattern: string, error: string): ToolResult {
  return answer({
    status: 'error',
    pattern: echo(pattern),
    error,
    suggestion: 'Correct the pattern, or use plain words joined by "|".',
  })
}
