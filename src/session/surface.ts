import { hashText } from '../json.ts'
import type { Entry } from '../registry/entry.ts'
import type { DeferredList, View } from '../registry/view.ts'
import type { ToolDefinition } from '../tool.ts'

/**
 * How a surface grows as tools are checked out. append: definitions are added at the end. dispatch: nothing
 * changes, and calls go through `call_tool`. native: the provider defers; every definition is sent once.
 */
export type Strategy = 'append' | 'dispatch' | 'native'

/** The frozen set of tools that one turn shows. Equal catalogue and activations give equal bytes. */
export interface Surface {
  /** Pinned and undeferred tools by name, meta-tools, then activated ones in the order they were activated. */
  readonly tools: readonly ToolDefinition[]
  /** How many permitted tools are not shown: under append, those that are not activated. */
  readonly deferredCount: number
  readonly strategy: Strategy
  /** Changes exactly when the bytes of `tools` (or, under native, of `deferredTools`) change. */
  readonly fingerprint: string
  /** Servers without `trust` that have a tool here, shown or deferred: what these say is not to be obeyed. */
  readonly untrustedServers?: readonly string[]
  /** Under native only: every permitted deferred tool by name, available or not, for the provider to hold back. */
  readonly deferredTools?: readonly ToolDefinition[]
}

export interface SurfaceParts {
  readonly shown: readonly Entry[]
  readonly metaTools: readonly Entry[]
  readonly activated: readonly Entry[]
  readonly view: View
  readonly strategy: Strategy
}

/** Puts a turn's tools in their order and freezes them. */
export function buildSurface(parts: SurfaceParts): Surface {
  const { strategy, view } = parts
  const entries = [...parts.shown, ...parts.metaTools, ...(strategy === 'append' ? parts.activated : [])]
  const deferred: DeferredList | undefined = strategy === 'native' ? view.deferredList : undefined
  const fingerprints = [...entries.map(({ fingerprint }) => fingerprint), deferred?.fingerprint ?? '']
  return Object.freeze({
    tools: Object.freeze(entries.map(({ definition }) => definition)),
    deferredCount: hiddenCount(parts),
    strategy,
    fingerprint: hashText(fingerprints.join(' ')),
    ...(view.untrustedServers.length > 0 ? { untrustedServers: view.untrustedServers } : {}),
    ...(deferred ? { deferredTools: deferred.definitions } : {}),
  })
}

/** How many permitted tools a turn does not show. */
export function hiddenCount({ strategy, view, activated }: SurfaceParts): number {
  return view.deferred.size - (strategy === 'append' ? activated.length : 0)
}

/** About how many tokens a turn with these tools costs. */
export function surfaceTokens(parts: SurfaceParts): number {
  const activated = parts.strategy === 'append' ? parts.activated : []
  return [...parts.shown, ...parts.metaTools, ...activated].reduce((sum, { tokens }) => sum + tokens, 0)
}
