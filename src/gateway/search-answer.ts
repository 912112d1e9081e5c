import type { ToolResult } from 'toolcrib'
import type { ToolNames } from './tool-names.ts'
import { isJson } from './upstream.ts'

/** Where the answers of search tools hold names. */
const LISTS_OF_NAMES = ['activated', 'evicted', 'suggestions', 'already_visible']

/** The answer of a search tool with the names that clients are shown, and with the door for each tool it found. */
export function renameTools(
  result: ToolResult,
  names: ToolNames,
  doorOf: (registered: string) => string | undefined,
): ToolResult {
  const { structured } = result
  if (!result.ok || !isJson(structured)) return result
  const renamed = Object.entries(structured).map(([key, value]) => {
    if (LISTS_OF_NAMES.includes(key) && Array.isArray(value))
      return [key, value.map((name) => (typeof name === 'string' ? names.shown(name) : name))]
    if ((key === 'matches' || key === 'tools') && Array.isArray(value))
      return [key, value.map((match) => renameMatch(match, names, doorOf))]
    return [key, key === 'name' && typeof value === 'string' ? names.shown(value) : value]
  })
  const answer: unknown = Object.fromEntries(renamed)
  return { ...result, structured: answer, value: JSON.stringify(answer) }
}

function renameMatch(
  match: unknown,
  names: ToolNames,
  doorOf: (registered: string) => string | undefined,
): unknown {
  if (!isJson(match) || typeof match.name !== 'string') return match
  const door = doorOf(match.name)
  return { ...match, name: names.shown(match.name), ...(door === undefined ? {} : { call_with: door }) }
}
