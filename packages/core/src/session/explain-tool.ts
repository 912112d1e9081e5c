import { missingCapabilities } from '../call/run-tool.ts'
import type { CapabilityBackends } from '../capability.ts'
import { isMetaTool } from '../names.ts'
import type { Availability } from '../registry/availability.ts'
import type { Catalogue } from '../registry/catalogue.ts'
import type { Entry } from '../registry/entry.ts'
import type { CompiledPolicy } from '../registry/policy.ts'
import type { View } from '../registry/view.ts'
import type { ViewBuilder } from '../registry/view-builder.ts'
import type { ToolFinder } from '../search/tool-finder.ts'
import type { Strategy } from './surface.ts'

/** Why a session can or cannot use a tool. */
export interface Explanation {
  readonly name: string
  readonly state: 'visible' | 'active' | 'deferred' | 'unavailable' | 'denied' | 'quarantined' | 'unknown'
  readonly reason: string
}

/** Whose view is explained. Implemented by `SessionScope` for a session, and by `RegistryViewer`. */
export interface Viewer {
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
export class RegistryViewer implements Viewer {
  readonly view: View
  readonly policy: CompiledPolicy
  readonly metaTools = []
  readonly #builder: ViewBuilder

  constructor(builder: ViewBuilder, policy: CompiledPolicy) {
    this.view = builder.current()
    this.policy = policy
    this.#builder = builder
  }

  explain(entry: Entry): string {
    return this.#builder.explain(entry)
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

/** What decides whether a tool can be used, besides the view. */
interface Conditions {
  readonly catalogue: Catalogue
  readonly finder: ToolFinder
  readonly availability: Availability
  readonly backends: CapabilityBackends
}

/** Explains why the viewer can or cannot use a tool. */
export function explainTool(name: string, viewer: Viewer, conditions: Conditions): Explanation {
  const entry = conditions.catalogue.get(name)
  if (entry) return explainEntry(entry, viewer, conditions)
  if (isMetaTool(name)) return explainMetaTool(name, viewer)
  if (viewer.isGone(name))
    return { name, state: 'unknown', reason: 'no longer registered; calls return not_available' }
  const close = conditions.finder.suggest(name, () => true)
  const hint = close.length > 0 ? `; close: ${close.join(', ')}` : ''
  return { name, state: 'unknown', reason: `not registered${hint}` }
}

/** Checks the gates in their order; the first that refuses is the reason. */
function explainEntry(entry: Entry, viewer: Viewer, { availability, backends }: Conditions): Explanation {
  const { name, tool } = entry
  const { view, policy } = viewer
  const quarantine = view.snapshot.quarantined.get(name)
  if (quarantine !== undefined) return { name, state: 'quarantined', reason: quarantine }
  const denial = policy.denial(entry, view.snapshot)
  if (denial !== undefined) return { name, state: 'denied', reason: `refused by ${denial}` }
  if (!availability.isAvailable(tool))
    return { name, state: 'unavailable', reason: 'its isAvailable() does not return true' }
  const missing = missingCapabilities(tool.capabilities, backends)
  const refused =
    missing.length > 0
      ? `; calls are refused: it needs ${missing.join(', ')}, which this host does not grant`
      : ''
  if (!view.deferred.has(name)) return { name, state: 'visible', reason: viewer.explain(entry) + refused }
  if (viewer.isActive(name)) return { name, state: 'active', reason: whyActive(name, viewer) + refused }
  return { name, state: 'deferred', reason: `shown once activated: ${viewer.explain(entry)}${refused}` }
}

function whyActive(name: string, viewer: Viewer): string {
  const how = viewer.isKept(name) ? 'preloaded by this session' : 'checked out by this session'
  if (viewer.strategy === 'dispatch') return `${how}; called through call_tool`
  return viewer.strategy === 'native' ? `${how}; the provider shows it` : how
}

function explainMetaTool(name: string, { policy, metaTools }: Viewer): Explanation {
  const denial = policy.denialOfMetaTool(name)
  if (denial !== undefined) return { name, state: 'denied', reason: `refused by ${denial}` }
  if (metaTools.some((metaTool) => metaTool.name === name))
    return { name, state: 'visible', reason: 'a meta-tool of this session' }
  return { name, state: 'unavailable', reason: 'a meta-tool that is not shown here' }
}
