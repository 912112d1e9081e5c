import { missingCapabilities } from '../call/run-tool.ts'
import { isMetaToolName } from '../meta-tools/session-meta-tools.ts'
import type { Catalogue } from '../registry/catalogue.ts'
import type { Entry } from '../registry/entry.ts'
import type { CompiledPolicy } from '../registry/policy.ts'
import type { View } from '../registry/view.ts'
import type { Viewpoint } from '../registry/viewpoint.ts'
import type { SessionServices } from './session-services.ts'
import type { Strategy } from './surface.ts'

/** Why a session can or cannot use a tool. */
export interface Explanation {
  readonly name: string
  readonly state: 'visible' | 'active' | 'deferred' | 'unavailable' | 'denied' | 'quarantined' | 'unknown'
  readonly reason: string
}

/** Whose view is explained. Implemented by `Turn` for a session, and by `RegistryOnlooker`. */
export interface Onlooker {
  readonly view: View
  readonly policy: CompiledPolicy
  /** The meta-tools that are shown. */
  readonly metaTools: readonly Entry[]
  readonly strategy?: Strategy
  /** Says why a permitted tool is shown or deferred. */
  explain(entry: Entry): string
  isActive(name: string): boolean
  isKept(name: string): boolean
  /** Whether the model was shown a tool of this name that no longer exists. */
  isGone(name: string): boolean
}

/** A registry without a session: nothing is checked out, and no meta-tools are shown. */
export class RegistryOnlooker implements Onlooker {
  readonly view: View
  readonly policy: CompiledPolicy
  readonly metaTools = []
  readonly #viewpoint: Viewpoint

  constructor(viewpoint: Viewpoint, policy: CompiledPolicy) {
    this.view = viewpoint.current()
    this.policy = policy
    this.#viewpoint = viewpoint
  }

  explain(entry: Entry): string {
    return this.#viewpoint.explain(entry)
  }

  isActive(): boolean {
    return false
  }

  isKept(): boolean {
    return false
  }

  isGone(): boolean {
    return false
  }
}

/** Explains why the onlooker can or cannot use a tool. */
export function explainTool(
  name: string,
  onlooker: Onlooker,
  catalogue: Catalogue,
  services: SessionServices,
): Explanation {
  const entry = catalogue.get(name)
  if (entry) return explainEntry(entry, onlooker, services)
  if (isMetaToolName(name)) return explainMetaTool(name, onlooker)
  if (onlooker.isGone(name))
    return { name, state: 'unknown', reason: 'no longer registered; calls return not_available' }
  const close = services.finder.suggest(name, () => true)
  const hint = close.length > 0 ? `; close: ${close.join(', ')}` : ''
  return { name, state: 'unknown', reason: `not registered${hint}` }
}

/** Checks the gates in their order; the first that refuses is the reason. */
function explainEntry(entry: Entry, onlooker: Onlooker, services: SessionServices): Explanation {
  const { name, tool } = entry
  const { view, policy } = onlooker
  const quarantine = view.snapshot.quarantined.get(name)
  if (quarantine !== undefined) return { name, state: 'quarantined', reason: quarantine }
  const denial = policy.denial(entry)
  if (denial !== undefined) return { name, state: 'denied', reason: `refused by ${denial}` }
  if (!services.availability.isAvailable(tool))
    return { name, state: 'unavailable', reason: 'its isAvailable() does not return true' }
  const missing = missingCapabilities(tool.capabilities, services.backends)
  const refused =
    missing.length > 0
      ? `; calls are refused: it needs ${missing.join(', ')}, which this host does not grant`
      : ''
  if (!view.deferred.has(name)) return { name, state: 'visible', reason: onlooker.explain(entry) + refused }
  if (onlooker.isActive(name)) return { name, state: 'active', reason: whyActive(name, onlooker) + refused }
  return { name, state: 'deferred', reason: `shown once activated: ${onlooker.explain(entry)}${refused}` }
}

function whyActive(name: string, onlooker: Onlooker): string {
  const how = onlooker.isKept(name) ? 'preloaded by this session' : 'checked out by this session'
  if (onlooker.strategy === 'dispatch') return `${how}; called through call_tool`
  return onlooker.strategy === 'native' ? `${how}; the provider shows it` : how
}

function explainMetaTool(name: string, { policy, metaTools }: Onlooker): Explanation {
  const denial = policy.denialOfMetaTool(name)
  if (denial !== undefined) return { name, state: 'denied', reason: `refused by ${denial}` }
  if (metaTools.some((metaTool) => metaTool.name === name))
    return { name, state: 'visible', reason: 'a meta-tool of this session' }
  return { name, state: 'unavailable', reason: 'a meta-tool that is not shown here' }
}
