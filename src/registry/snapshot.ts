import type { Listing } from '../tool.ts'
import type { Entry } from './entry.ts'
import { MapSnapshot } from './snapshot-map.ts'

/** Listings by source. */
export type ListingGroups = ReadonlyMap<string, readonly Listing[]>

/**
 * All tools at one moment. Immutable; a change of the catalogue creates a new one, which shares with it what did not
 * change.
 */
export class Snapshot {
  /** Grows with every change; equal versions are the same snapshot. */
  readonly version: number
  /** Listings by source; a source that did not change keeps the same array across snapshots. */
  readonly groups: ListingGroups
  /** Why a tool is held back, by name. */
  readonly quarantined: ReadonlyMap<string, string>
  /** By name, in the order in which the names were registered first. */
  readonly entries: MapSnapshot<Entry>
  readonly #order: EntryOrder
  readonly #change: number
  #sorted: readonly Entry[] | undefined

  constructor(
    version: number,
    entries: MapSnapshot<Entry>,
    groups: ListingGroups,
    quarantined: ReadonlyMap<string, string>,
    order: EntryOrder,
  ) {
    this.version = version
    this.entries = entries
    this.groups = groups
    this.quarantined = quarantined
    this.#order = order
    this.#change = order.change
  }

  get size(): number {
    return this.entries.size
  }

  get(name: string): Entry | undefined {
    return this.entries.get(name)
  }

  /** All entries, by name. */
  get sorted(): readonly Entry[] {
    this.#sorted ??= this.#order.sort(this.entries, this.#change)
    return this.#sorted
  }
}

type GroupChange = readonly [source: string, before: readonly Listing[], after: readonly Listing[]]

/**
 * The sources whose listings differ, those that have left first; an array that is the same object is unchanged. Of two
 * snapshots of one catalogue, only what changed is read.
 */
export function* changedGroups(before: ListingGroups, after: ListingGroups): Generator<GroupChange> {
  const changes =
    before instanceof MapSnapshot && after instanceof MapSnapshot ? after.changesSince(before) : undefined
  if (changes === undefined) {
    yield* comparedGroups(before, after)
    return
  }
  for (const change of changes) if (change.after === undefined) yield [change.key, change.before ?? [], []]
  for (const change of changes)
    if (change.after !== undefined) yield [change.key, change.before ?? [], change.after]
}

function* comparedGroups(before: ListingGroups, after: ListingGroups): Generator<GroupChange> {
  for (const [key, listings] of before) if (!after.has(key)) yield [key, listings, []]
  for (const [key, listings] of after) {
    const known = before.get(key)
    if (known !== listings) yield [key, known ?? [], listings]
  }
}

/** Groups that nobody changes later: a snapshot's own, or a copy. */
export function unchangingGroups(groups: ListingGroups): ListingGroups {
  return groups instanceof MapSnapshot ? groups : new Map(groups)
}

/** What sorting reads of a map. */
export interface ReadMap<Value> {
  get(key: string): Value | undefined
  values(): Iterable<Value>
}

/** If more names have changed, sorting all is as quick. */
const MAX_NOTED = 10_000

/** Sorts entries by name, continuing from the last time: sorting a million takes a second, merging a few into them does not. */
export class EntryOrder {
  /** Counts the changes of the catalogue. */
  change = 0
  /** The entries as they were sorted last, and the names that have changed since. */
  #sorted: readonly Entry[] | undefined
  #noted = new Set<string>()

  /** Notes that the entry of a name has changed. */
  note(name: string): void {
    this.change++
    if (this.#sorted === undefined) return
    this.#noted.add(name)
    if (this.#noted.size <= MAX_NOTED) return
    this.#sorted = undefined
    this.#noted = new Set()
  }

  /** `change` is that of the entries; those of an older catalogue are sorted by themselves. */
  sort(entries: ReadMap<Entry>, change: number): readonly Entry[] {
    if (change !== this.change) return Object.freeze([...entries.values()].sort(byName))
    const sorted =
      this.#sorted === undefined
        ? [...entries.values()].sort(byName)
        : merged(this.#sorted, this.#noted, entries)
    this.#sorted = Object.freeze(sorted)
    this.#noted = new Set()
    return this.#sorted
  }
}

/** Sorted entries with other ones for some names. */
function merged(sorted: readonly Entry[], changed: ReadonlySet<string>, entries: ReadMap<Entry>): Entry[] {
  const newest = [...changed].flatMap((name) => entries.get(name) ?? []).sort(byName)
  const all: Entry[] = []
  let next = 0
  for (const entry of sorted) {
    for (let other = newest[next]; other !== undefined && other.name < entry.name; other = newest[++next])
      all.push(other)
    if (!changed.has(entry.name)) all.push(entry)
  }
  all.push(...newest.slice(next))
  return all
}

function byName(a: Entry, b: Entry): number {
  return a.name < b.name ? -1 : 1
}
