import type { ToolDefinition } from '../tool.ts'
import type { Activations } from './activations.ts'

/**
 * One conversation: what is checked out, what joined late, what the model was told and what it was shown. All parts are values that only
 * pure functions change. Each has its own key in a store: definitions of late tools are not written with every call.
 */
export interface Conversation {
  readonly active: Activations
  /** What came since each prompt prefix; the one that began last is last. */
  readonly told: readonly Told[]
  /** The tools that were shown while auto mode was not lazy, by name; absent if there are none. */
  readonly shown?: readonly string[] | undefined
}

/** What the model was told since a prompt prefix, which names only what there was then. */
export interface Told {
  /** The id of the prefix. */
  readonly of: string
  /** Tools that joined since, in the order they came. */
  readonly lateTools: readonly ToolDefinition[]
  /** The servers that the model knows of. */
  readonly servers: readonly string[]
  /** Whether the model was warned about servers without `trust`. */
  readonly isWarned: boolean
}

export const NEW_CONVERSATION: Conversation = { active: [], told: [] }

/** Replicas may continue different prefixes for a while. */
const MAX_TOLD = 2

/** What was told since a prefix, given what it says itself. */
export function toldSince(told: readonly Told[], start: Told): Told {
  return told.find(({ of }) => of === start.of) ?? start
}

/** Applies the difference between two states of what was told since a prefix. */
export function tell(
  told: readonly Told[],
  { from, to }: { readonly from: Told | undefined; readonly to: Told },
): readonly Told[] {
  const at = told.findIndex(({ of }) => of === to.of)
  const known = told[at]
  if (known === undefined) return [...told, to].slice(-MAX_TOLD)
  return told.with(at, {
    of: to.of,
    lateTools: mergeLists(known.lateTools, from?.lateTools ?? [], to.lateTools, ({ name }) => name),
    servers: mergeLists(known.servers, from?.servers ?? [], to.servers, (server) => server),
    isWarned: known.isWarned || to.isWarned,
  })
}

/** Applies the difference between two states to a third, which others have changed meanwhile. */
export function mergeTold(
  told: readonly Told[],
  { from = [], to }: { readonly from?: readonly Told[]; readonly to: readonly Told[] },
): readonly Told[] {
  return to.reduce((merged, each) => {
    const before = from.find(({ of }) => of === each.of)
    return before === each ? merged : tell(merged, { from: before, to: each })
  }, told)
}

function mergeLists<Item>(
  stored: readonly Item[],
  from: readonly Item[],
  to: readonly Item[],
  keyOf: (item: Item) => string,
): readonly Item[] {
  // The list that sessions share, not a copy.
  if (stored === from) return to
  const keys = (items: readonly Item[]) => new Set(items.map(keyOf))
  const [inStored, before, after] = [keys(stored), keys(from), keys(to)]
  const kept = stored.filter((item) => !before.has(keyOf(item)) || after.has(keyOf(item)))
  return [...kept, ...to.filter((item) => !inStored.has(keyOf(item)) && !before.has(keyOf(item)))]
}
