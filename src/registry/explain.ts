import type { Entry } from './entry.ts'
import type { View } from './viewer.ts'

/** Why a tool is, or is not, there for a session. */
export interface Explanation {
  readonly name: string
  readonly state: 'visible' | 'active' | 'deferred' | 'unavailable' | 'denied' | 'quarantined' | 'unknown'
  readonly reason: string
}

export interface ExplainOptions {
  readonly view: View
  readonly denial: string | undefined
  readonly isActive: boolean
  isAvailable(entry: Entry): boolean
}

/** Asks the gates in their order; the first that says no is the reason. */
export function explainEntry(
  entry: Entry,
  { view, denial, isActive, isAvailable }: ExplainOptions,
): Explanation {
  const { name } = entry
  const quarantine = view.snapshot.quarantined.get(name)
  if (quarantine !== undefined) return { name, state: 'quarantined', reason: quarantine }
  if (denial !== undefined) return { name, state: 'denied', reason: `refused by ${denial}` }
  if (!isAvailable(entry)) return { name, state: 'unavailable', reason: 'its isAvailable() says no' }
  if (!view.deferred.has(name)) return { name, state: 'visible', reason: whyShown(entry, view) }
  if (isActive) return { name, state: 'active', reason: 'checked out by this session' }
  return { name, state: 'deferred', reason: `shown once activated; ${view.mode.reason}` }
}

function whyShown({ deferral }: Entry, { mode }: View): string {
  if (!mode.isLazy) return `nothing is deferred: ${mode.reason}`
  return deferral === 'pinned'
    ? 'pinned: it is never deferred'
    : 'pinned by name, or not deferrable under `defer`'
}

export function explainMetaTool(name: string, denial: string | undefined, isShown: boolean): Explanation {
  if (denial !== undefined) return { name, state: 'denied', reason: `refused by ${denial}` }
  if (isShown) return { name, state: 'visible', reason: 'a meta-tool of this session' }
  return { name, state: 'unavailable', reason: 'a meta-tool that is not shown here' }
}

export function explainUnknown(name: string, close: readonly string[]): Explanation {
  const hint = close.length > 0 ? `; close: ${close.join(', ')}` : ''
  return { name, state: 'unknown', reason: `not registered${hint}` }
}
