import type { EventBody } from '../events.ts'
import { hashText } from '../json.ts'
import { type Entry, measureDefinition } from '../registry/entry.ts'
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
  /** Changes exactly when the bytes of `tools` (or, under native, of `deferredTools` and `lateTools`) change. */
  readonly fingerprint: string
  /** Servers without `trust` that have a tool here, shown or deferred: their texts are not instructions. */
  readonly untrustedServers?: readonly string[]
  /** Under native only: every permitted deferred tool by name, available or not, for the provider to hold back. */
  readonly deferredTools?: readonly ToolDefinition[]
  /**
   * Under native only: deferred tools that came after the conversation's first request, in the order they came.
   * `deferredTools` stays as in that request, with tools that have left, so that bytes already sent never change.
   */
  readonly lateTools?: readonly ToolDefinition[]
}

/** What a surface is made of: available tools only. */
export interface SurfaceParts {
  readonly shown: readonly Entry[]
  readonly metaTools: readonly Entry[]
  readonly activated: readonly Entry[]
  readonly view: View
  readonly strategy: Strategy
}

/** Puts a turn's tools in their order and freezes them. Returns the surface of the turn before if nothing changed. */
export function buildSurface(parts: SurfaceParts, before?: Surface): Surface {
  const { strategy, view } = parts
  const entries = entriesOf(parts)
  const deferred: DeferredList | undefined = strategy === 'native' ? view.deferredList : undefined
  const deferredCount = hiddenCount(parts)
  const isAlike =
    before?.strategy === strategy &&
    before.deferredCount === deferredCount &&
    isSameList(before.untrustedServers ?? [], view.untrustedServers)
  if (isAlike && before.deferredTools === deferred?.definitions && showsOnly(before, entries)) return before
  const fingerprints = [...entries.map(({ fingerprint }) => fingerprint), deferred?.fingerprint ?? '']
  const fingerprint = hashText(fingerprints.join(' '))
  // Tools that were registered again may have the same bytes.
  if (isAlike && before.fingerprint === fingerprint) return before
  return Object.freeze({
    tools: Object.freeze(entries.map(({ definition }) => definition)),
    deferredCount,
    strategy,
    fingerprint,
    ...(view.untrustedServers.length > 0 ? { untrustedServers: view.untrustedServers } : {}),
    ...(deferred ? { deferredTools: deferred.definitions } : {}),
  })
}

/** Whether a surface shows the very definitions of these entries. Definitions are frozen, so their bytes are the same too. */
function showsOnly({ tools }: Surface, entries: readonly Entry[]): boolean {
  return tools.length === entries.length && entries.every(({ definition }, at) => definition === tools[at])
}

function isSameList(first: readonly string[], second: readonly string[]): boolean {
  if (first === second) return true
  return first.length === second.length && first.every((text, at) => text === second[at])
}

function entriesOf({ shown, metaTools, strategy, activated }: SurfaceParts): readonly Entry[] {
  return [...shown, ...metaTools, ...(strategy === 'append' ? activated : [])]
}

/** How many permitted tools a turn does not show. */
export function hiddenCount({ strategy, view, activated }: SurfaceParts): number {
  return view.deferred.size - (strategy === 'append' ? activated.length : 0)
}

/** About how many tokens the tools that a surface shows cost, whether they are still registered or not. */
export function surfaceTokens({ tools }: Pick<Surface, 'tools'>): number {
  return tools.reduce((sum, definition) => sum + measureDefinition(definition).tokens, 0)
}

/** The event that says what a surface costs. */
export function surfacedEvent(surface: Surface): EventBody {
  const { deferredCount, fingerprint, tools } = surface
  return { type: 'surfaced', tools: tools.length, tokens: surfaceTokens(surface), deferredCount, fingerprint }
}
