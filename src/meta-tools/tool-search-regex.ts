import type { SearchResult } from '../search/search-result.ts'
import type { Tool, ToolResult } from '../tool.ts'
import { answer, clamp, inputInvalid, isBadQuery } from './answer.ts'
import { howToCall, type SearchPowers, type SearchToolOptions } from './search-powers.ts'

interface Input {
  readonly pattern: string
  readonly limit?: number
}

/** `tool_search_regex`: loads the tools whose name or description matches a pattern. */
export function toolSearchRegex(session: SearchPowers, options: SearchToolOptions): Tool<Input> {
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
    isSelfLimiting: true,
    async execute({ pattern, limit }) {
      if (pattern.trim() === '')
        return inputInvalid('pattern is empty; give a regular expression such as "github.*issue"')
      try {
        const found = await session.search(`/${pattern}/`, {
          limit: clamp(limit, { min: 1, max: 50, otherwise: 10 }),
        })
        return found.total === 0 ? noMatches(pattern, found) : await load(session, pattern, found, options)
      } catch (error) {
        if (isBadQuery(error)) return badPattern(pattern, error.message)
        throw error
      }
    },
  }
}

async function load(
  session: SearchPowers,
  pattern: string,
  found: SearchResult,
  options: SearchToolOptions,
): Promise<ToolResult> {
  const names = found.matches.map(({ name }) => name)
  const before = new Set(names.filter((name) => session.isActive(name)))
  const { evicted } = await session.activate(names)
  const isLoaded = (name: string) => session.isActive(name) && !before.has(name)
  const newlyLoaded = names.filter(isLoaded).length
  const gone = [...session.takeEvictions(), ...evicted]
  return answer({
    status: 'success',
    pattern,
    total_matches: found.total,
    tools: found.matches.map(({ name, description }) => ({
      name,
      description: description.slice(0, 300),
      loaded: isLoaded(name),
    })),
    newly_loaded: newlyLoaded,
    message: `Found ${found.total} tools; ${newlyLoaded} newly loaded. To use one, ${howToCall(options)}.`,
    ...(gone.length > 0 ? { evicted: gone } : {}),
    ...(found.servers?.length ? { servers: found.servers } : {}),
  })
}

function noMatches(pattern: string, found: SearchResult): ToolResult {
  return answer({
    status: 'no_matches',
    message: `No tool matches /${pattern}/.`,
    suggestion: 'Try a shorter pattern, or alternatives such as "file|document".',
    ...(found.servers?.length ? { servers: found.servers } : {}),
  })
}

function badPattern(pattern: string, error: string): ToolResult {
  return answer({
    status: 'error',
    pattern: pattern.slice(0, 200),
    error,
    suggestion: 'Mend the pattern, or use plain words joined by "|".',
  })
}
