import type { Session } from '../session/session.ts'
import { clipText } from '../text.ts'
import { estimateTokens } from '../tokens.ts'
import type { ToolDefinition } from '../tool.ts'

/** What the definitions in a note may take; beyond that only names are told. */
const MAX_NOTE_TOKENS = 4000

/**
 * What a model should know after its history was shortened: which tools the session still has checked out, and what
 * only the history said of them. `''` when there are none.
 */
export function activeToolsNote(session: Session): string {
  const active = activeTools(session)
  if (active.length === 0) return ''
  const opening = `Earlier messages were shortened. These tools are still active: ${namesOf(active)}.`
  return withDefinitions(opening, session, active)
}

/**
 * What a sub-agent should know before its task: which of its caller's tools it starts with. `''` when there are none,
 * or when they are shown to it anyway.
 */
export function inheritedToolsNote(session: Session): string {
  const active = activeTools(session)
  if (active.length === 0 || areShown(session)) return ''
  return withDefinitions(`These tools are active from the start: ${namesOf(active)}.`, session, active)
}

function activeTools(session: Session): readonly ToolDefinition[] {
  const { deferred } = session.currentTurn().view
  return session.toJSON().activations.flatMap(({ name }) => deferred.get(name)?.definition ?? [])
}

function namesOf(definitions: readonly ToolDefinition[]): string {
  return definitions.map(({ name }) => name).join(', ')
}

/** The opening, and what the surface does not say of the tools itself. */
function withDefinitions(opening: string, session: Session, active: readonly ToolDefinition[]): string {
  if (areShown(session)) return opening
  const { searchTool } = session.settings
  // The provider shows a deferred definition only where the history refers to it.
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

/** Whether every request has the definitions: under append it does, and so where nothing could load them. */
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
