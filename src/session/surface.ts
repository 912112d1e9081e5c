import { hashText } from '../json.ts'
import type { Entry } from '../registry/entry.ts'
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
  /** How many permitted tools wait behind the search, not activated. */
  readonly deferredCount: number
  readonly strategy: Strategy
  /** Changes exactly when the bytes of `tools` (or, under native, of `deferredTools`) change. */
  readonly fingerprint: string
  /** Under native only: every permitted deferred tool by name, for the provider to hold back. */
  readonly deferredTools?: readonly ToolDefinition[]
}

export interface SurfaceParts {
  readonly shown: readonly Entry[]
  readonly metaTools: readonly Entry[]
  readonly activated: readonly Entry[]
  readonly deferred: ReadonlyMap<string, Entry>
  readonly deferredCount: number
  readonly strategy: Strategy
}

/** Puts a turn's tools in their order and freezes them. */
export function buildSurface(parts: SurfaceParts): Surface {
  const { strategy, deferredCount } = parts
  const entries = [...parts.shown, ...parts.metaTools, ...(strategy === 'append' ? parts.activated : [])]
  const deferred = strategy === 'native' ? [...parts.deferred.values()] : []
  return Object.freeze({
    tools: Object.freeze(entries.map(({ definition }) => definition)),
    deferredCount,
    strategy,
    fingerprint: hashText([...entries, ...deferred].map(({ fingerprint }) => fingerprint).join(' ')),
    ...(strategy === 'native'
      ? { deferredTools: Object.freeze(deferred.map(({ definition }) => definition)) }
      : {}),
  })
}

/** About how many tokens a turn with these tools costs. */
export function surfaceTokens(parts: SurfaceParts): number {
  const activated = parts.strategy === 'append' ? parts.activated : []
  return [...parts.shown, ...parts.metaTools, ...activated].reduce((sum, { tokens }) => sum + tokens, 0)
}
