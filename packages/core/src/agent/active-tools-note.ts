import type { Session } from '../session/session.ts'
import { clipText, estimateTokens } from '../text.ts'
import type { ToolDefinition } from '../tool.ts'

/** The most tokens that definitions may take in a note; tools beyond that are only named. */
const MAX_NOTE_TOKENS = 4000

/**
 * Returns a note for a model whose history was shortened: which tools the session still has checked out, and what only
 * the history said about them. `''` if there are none.
 */
export function activeToolsNote(session: Session): string {
  const active = activeTools(session)
  if (active.length === 0) return ''
  const opening = `Earlier messages were shortened. These tools are still active: ${namesOf(active)}.`
  return withDefinitions(opening, session, active)
}

/**
 * Returns a note to put before a sub-agent's task: which of its caller's tools it starts with. `''` if there are none,
 * or if its requests show them anyway.
 */
export function inheritedToolsNote(session: Session): string {
  const active = activeTools(session)
  if (active.length === 0 || areShown(session)) return ''
  return withDefinitions(`These tools are active from the start: ${namesOf(active)}.`, session, active)
}

function activeTools(session: Session): readonly ToolDefinition[] {
  const { deferred } = session.scope().view
  return session.toJSON().activations.flatMap(({ name }) => deferred.get(name)?.definition ?? [])
}

function namesOf(definitions: readonly ToolDefinition[]): string {
  return definitions.map(({ name }) => name).join(', ')
}

/** The opening, followed by what the surface does not show of the tools. */
function withDefinitions(opening: string, session: Session, active: readonly ToolDefinition[]): string {
  if (areShown(session)) return opening
  const { searchTool } = session.settings
  // The provider shows a deferred definition only if the history refers to it.
  if (session.surface().strategy === 'native') {
    const lines = active.map(({ name, description }) => `- ${name}: ${clipText(description, 200)}`)
    return [
      `${opening} Before you call one, load its definition with ${searchTool}. What they do:`,
      ...fitting(lines),
    ].join('\n')
  }
  const lines = active.map(({ name, parameters }) => `- ${name}: ${JSON.stringify(parameters)}`)
  return [`${opening} Call them through call_tool. Their parameters:`, ...fitting(lines)].join('\n')
}

/** Whether every request shows the definitions: under append, and under native without a search tool. */
function areShown(session: Session): boolean {
  const { strategy, tools } = session.surface()
  if (strategy === 'native') return !tools.some(({ name }) => name === session.settings.searchTool)
  return strategy === 'append'
}

function fitting(lines: readonly string[]): readonly string[] {
  let left = MAX_NOTE_TOKENS
  return lines.filter((line) => {
    const tokens = estimateTokens(line)
    if (tokens > left) return false
    left -= tokens
    return true
  })
}
