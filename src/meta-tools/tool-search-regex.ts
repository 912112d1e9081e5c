import { clamp, clipText } from '../text.ts'
import type { Tool, ToolResult } from '../tool.ts'
import {
  answer,
  clipList,
  echo,
  howToCall,
  inputInvalid,
  isBadQuery,
  notLoaded,
  ONLY_VISIBLE,
  serverChanges,
} from './answer.ts'
import { fitItems } from './fit-matches.ts'
import type { DeferredResult, SearchSession, SearchToolOptions } from './search-session.ts'

interface Input {
  readonly pattern: string
  readonly limit?: number
}

/** `tool_search_regex`: loads the tools whose name or description matches a pattern. */
export function toolSearchRegex(session: SearchSession, options: SearchToolOptions): Tool<Input> {
  return {
    name: 'tool_search_regex',
    description: `Finds tools that are not shown to you by a regular expression over names and descriptions, and loads them: ${howToCall(options)}. Search before you conclude that something cannot be done.\nBehind it:\n${options.behind}`,
    inputSchema: {
      type: 'object',
      properties: {
        pattern: {
          type: 'string',
          description:
            'A regular expression, matched against names and descriptions; case does not matter. At most 200 characters.',
        },
        limit: { type: 'integer', description: 'How many tools, 1 to 50.', default: 10 },
      },
      required: ['pattern'],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    async execute({ pattern, limit }, ctx) {
      const maxAnswerTokens = Math.min(options.maxAnswerTokens, Math.floor(ctx.resultLimitChars / 4))
      if (pattern.trim() === '')
        return inputInvalid('pattern is empty; give a regular expression such as "github.*issue"')
      try {
        const found = await session.searchDeferred(`/${pattern}/`, {
          limit: clamp(limit, { min: 1, max: 50, otherwise: 10 }),
        })
        return found.total === 0
          ? noMatches(session, pattern, found)
          : await load(session, pattern, found, { ...options, maxAnswerTokens })
      } catch (error) {
        if (isBadQuery(error)) return badPattern(pattern, error.message)
        throw error
      }
    },
  }
}

async function load(
  session: SearchSession,
  pattern: string,
  found: DeferredResult,
  options: SearchToolOptions,
): Promise<ToolResult> {
  const described = found.matches.map(({ name, description }) => ({
    name,
    description: clipText(description, 300),
  }))
  const fitting = fitItems(described, options.maxAnswerTokens)
  const names = fitting.map(({ name }) => name)
  const before = new Set(names.filter((name) => session.isActive(name)))
  const report = await session.activate(names)
  const { activated, evicted } = report
  const tools = fitting.map((tool) => ({ ...tool, loaded: activated.includes(tool.name) }))
  const newlyLoaded = activated.filter((name) => !before.has(name)).length
  const unloaded = notLoaded(names, report)
  const gone = [...session.takeEvictions(), ...evicted]
  return answer({
    status: 'success',
    pattern,
    total_matches: found.total,
    tools,
    newly_loaded: newlyLoaded,
    message: `Found ${found.total} ${found.total === 1 ? 'tool' : 'tools'}; ${newlyLoaded} newly loaded${noRoom(unloaded.length, options)}. To use one, ${howToCall(options)}.`,
    ...(unloaded.length > 0 ? { not_activated: clipList(unloaded) } : {}),
    ...(gone.length > 0 ? { evicted: gone } : {}),
    ...visible(found),
    ...serverChanges(session),
    ...(found.servers?.length ? { servers: found.servers.slice(0, 25) } : {}),
  })
}

function noRoom(count: number, { isDispatch }: SearchToolOptions): string {
  if (count === 0) return ''
  const step = isDispatch ? 'you can still call them' : 'a narrower pattern loads the one you need'
  return `; there was no room for ${count} more: ${step}`
}

function visible({ alreadyVisible }: DeferredResult): object {
  return alreadyVisible.length > 0 ? { already_visible: clipList(alreadyVisible) } : {}
}

function noMatches(session: SearchSession, pattern: string, found: DeferredResult): ToolResult {
  return answer({
    status: 'no_matches',
    message: `No deferred tool matches /${pattern}/.`,
    ...visible(found),
    ...serverChanges(session),
    suggestion:
      found.alreadyVisible.length > 0
        ? ONLY_VISIBLE
        : 'Try a shorter pattern, or alternatives such as "file|document".',
    ...(found.servers?.length ? { servers: found.servers.slice(0, 25) } : {}),
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
