import type { Session } from '../session/session.ts'
import { estimateTokens } from '../tokens.ts'

/** What the definitions in the note may take; beyond that only names are told. */
const MAX_NOTE_TOKENS = 4000

/**
 * What a model should know after its history was shortened: which tools the session still has checked out, and what
 * only the history said of them. `''` when there are none.
 */
export function activeToolsNote(session: Session): string {
  const { strategy, tools } = session.surface()
  const { deferred } = session.view()
  const active = session.toJSON().activations.flatMap(({ name }) => deferred.get(name)?.definition ?? [])
  if (active.length === 0) return ''
  const names = active.map(({ name }) => name)
  const opening = `Earlier messages were shortened. These tools are still active: ${names.join(', ')}.`
  if (strategy === 'append') return opening
  const searchTool = session.settings.searchTool
  const canSearch = tools.some(({ name }) => name === searchTool)
  // The provider shows a deferred definition only where the history refers to it.
  if (strategy === 'native' && canSearch)
    return `${opening} Before you call one, load its definition again with ${searchTool}.`
  let left = MAX_NOTE_TOKENS
  const lines = active.flatMap(({ name, parameters }) => {
    const line = `- ${name}: ${JSON.stringify(parameters)}`
    left -= estimateTokens(line)
    return left >= 0 ? [line] : []
  })
  return [`${opening} Call them through call_tool. Their parameters:`, ...lines].join('\n')
}
