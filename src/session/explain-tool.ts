import { isMetaToolName } from '../meta-tools/session-meta-tools.ts'
import type { Availability } from '../registry/availability.ts'
import type { Catalogue } from '../registry/catalogue.ts'
import type { Entry } from '../registry/entry.ts'
import type { CompiledPolicy } from '../registry/policy.ts'
import type { View } from '../registry/view.ts'
import type { SessionServices } from './session-services.ts'

/** Why a tool is, or is not, there for a session. */
export interface Explanation {
  readonly name: string
  readonly state: 'visible' | 'active' | 'deferred' | 'unavailable' | 'denied' | 'quarantined' | 'unknown'
  readonly reason: string
}

/** Who asks: a session, or the registry itself. */
export interface Onlooker {
  readonly view: View
  readonly policy: CompiledPolicy
  /** The meta-tools that are shown. */
  readonly metaTools: readonly Entry[]
  isActive(name: string): boolean
}

/** Says why a tool is, or is not, there for the onlooker. */
export function explainTool(
  name: string,
  onlooker: Onlooker,
  catalogue: Catalogue,
  { availability, finder }: SessionServices,
): Explanation {
  const entry = catalogue.get(name)
  if (entry) return explainEntry(entry, onlooker, availability)
  if (isMetaToolName(name)) return explainMetaTool(name, onlooker)
  const close = finder.suggest(name, () => true)
  const hint = close.length > 0 ? `; close: ${close.join(', ')}` : ''
  return { name, state: 'unknown', reason: `not registered${hint}` }
}

/** Checks the gates in their order; the first that refuses is the reason. */
function explainEntry(entry: Entry, onlooker: Onlooker, availability: Availability): Explanation {
  const { name } = entry
  const { view, policy } = onlooker
  const quarantine = view.snapshot.quarantined.get(name)
  if (quarantine !== undefined) return { name, state: 'quarantined', reason: quarantine }
  const denial = policy.denial(entry)
  if (denial !== undefined) return { name, state: 'denied', reason: `refused by ${denial}` }
  if (!availability.isAvailable(entry.tool))
    return { name, state: 'unavailable', reason: 'its isAvailable() does not return true' }
  if (!view.deferred.has(name)) return { name, state: 'visible', reason: whyShown(entry, view) }
  if (onlooker.isActive(name)) return { name, state: 'active', reason: 'checked out by this session' }
  return { name, state: 'deferred', reason: `shown once activated; ${view.mode.reason}` }
}

function whyShown({ deferral }: Entry, { mode }: View): string {
  if (!mode.isLazy) return `nothing is deferred: ${mode.reason}`
  return deferral === 'pinned'
    ? 'pinned: it is never deferred'
    : 'pinned by name, or not deferrable under `defer`'
}

function explainMetaTool(name: string, { policy, metaTools }: Onlooker): Explanation {
  const denial = policy.denialOfMetaTool(name)
  if (denial !== undefined) return { name, state: 'denied', reason: `refused by ${denial}` }
  if (metaTools.some((metaTool) => metaTool.name === name))
    return { name, state: 'visible', reason: 'a meta-tool of this session' }
  return { name, state: 'unavailable', reason: 'a meta-tool that is not shown here' }
}
