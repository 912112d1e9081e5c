import { clipText } from '../text.ts'
import type { ToolResult } from '../tool.ts'
import { inputInvalid } from './answer.ts'
import type { SearchSession } from './search-session.ts'

/** Says why `call_tool` called nothing. */
export function explainCallTool(
  name: string,
  { session, searchTool, misplaced }: Misplaced<'suggest' | 'isGone'> & { readonly searchTool: string },
): ToolResult {
  if (name === 'call_tool') return inputInvalid('call_tool cannot call itself; give the name of another tool')
  if (misplaced.length > 0) return inputInvalid(describeMisplaced('call_tool', name, misplaced))
  if (session.isGone(name))
    return notAvailable(`"${name}" is no longer available: it was removed; find another with ${searchTool}`)
  const close = session.suggest(name)
  const next = close.length > 0 ? `did you mean ${close.join(' or ')}?` : `find it with ${searchTool}`
  return notAvailable(`Unknown tool: ${clipText(name, 200)}; ${next}`)
}

/** Says why `call_read_tool` called nothing. */
export function explainCallReadTool(name: string, { session, misplaced }: Misplaced<'describe'>): ToolResult {
  const definition = session.describe(name)
  if (definition && misplaced.length > 0)
    return inputInvalid(describeMisplaced('call_read_tool', name, misplaced))
  return notAvailable(refusalToRead(definition ? definition.name : name, definition !== undefined))
}

interface Misplaced<Powers extends keyof SearchSession> {
  readonly session: Pick<SearchSession, Powers>
  /** The keys that belong in `arguments`. */
  readonly misplaced: readonly string[]
}

/** Why `call_read_tool` does not call a tool. */
export function refusalToRead(name: string, isKnown: boolean): string {
  const shown = clipText(name, 200)
  if (!isKnown) return `Unknown tool: ${shown}; find it with the search tool. Nothing was run.`
  return `"${shown}" does not say that it only reads; call it with call_tool. Nothing was run.`
}

function notAvailable(error: string): ToolResult {
  return { ok: false, code: 'not_available', error }
}

function describeMisplaced(dispatchTool: string, name: string, misplaced: readonly string[]): string {
  const shown = misplaced.slice(0, 5).map((key) => `"${clipText(key, 60)}"`)
  const form = `{ "name": "${clipText(name, 200)}", "arguments": { … } }`
  return `the arguments of the tool go in "arguments", not beside "name" (found ${shown.join(', ')}); ${dispatchTool} takes ${form}. Nothing was run.`
}
