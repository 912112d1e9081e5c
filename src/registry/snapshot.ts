import type { Listing } from '../tool.ts'
import type { Entry } from './entry.ts'

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
  readonly #entries: ReadMap<Entry>
  readonly #order: EntryOrder
  readonly #change: number
  #sorted: readonly Entry[] | undefined

  constructor(
    version: number,
    entries: ReadMap<Entry>,
    groups: ListingGroups,
    quarantined: ReadonlyMap<string, string>,
    order: EntryOrder,
  ) {
    this.version = version
    this.#entries = entries
    this.groups = groups
    this.quarantined = quarantined
    this.#order = order
    this.#change = order.change
  }

  get size(): number {
    return this.#entries.size
  }

  get(name: string): Entry | undefined {
    return this.#entries.get(name)
  }

  /** All entries, by name. */
  get sorted(): readonly Entry[] {
    this.#sorted ??= this.#order.sort(this.#entries, this.#change)
    return this.#sorted
  }
}

type GroupChange = readonly [source: string, before: readonly Listing[], after: readonly Listing[]]

/** The sources whose listings differ; an array that is the same object is unchanged. */
export function* changedGroups(before: ListingGroups, after: ListingGroups): Generator<GroupChange> {
  for (const [key, listings] of before) if (!after.has(key)) yield [key, listings, []]
  for (const [key, listings] of after) {
    const known = before.get(key)
    if (known !== listings) yield [key, known ?? [], listings]
  }
}

/** What a reader sees of a `LayeredMap`. */
export interface ReadMap<Value> {
  readonly size: number
  get(key: string): Value | undefined
  values(): Iterable<Value>
}

/** Changes that are kept beside the base, as a share of it, before they become part of it; and at least so many. */
const MAX_SHARE = 1 / 64
const MIN_CHANGES = 256

/**
 * A map whose readers keep what they saw. A snapshot of a million entries costs as much as the changes since the first
 * one: readers share the base, and each has a copy of the few changes on top of it. Without readers, changes go to the base.
 */
export class LayeredMap<Value> implements ReadMap<Value> {
  #base = new Map<string, Value>()
  /** Changes since a reader shares the base; undefined is a deleted entry. */
  #changes = new Map<string, Value | undefined>()
  #isShared = false
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: string): Value | undefined {
    return read(this.#base, this.#changes, key)
  }

  set(key: string, value: Value): void {
    if (this.get(key) === undefined) this.#size++
    if (this.#isShared) this.#change(key, value)
    else this.#base.set(key, value)
  }

  delete(key: string): void {
    if (this.get(key) === undefined) return
    this.#size--
    if (this.#isShared) this.#change(key, undefined)
    else this.#base.delete(key)
  }

  values(): Iterable<Value> {
    return layered(this.#base, this.#changes)
  }

  /** The entries as they are now, whatever changes later. */
  snapshot(): ReadMap<Value> {
    this.#isShared = true
    return new Layers(this.#base, new Map(this.#changes), this.#size)
  }

  #change(key: string, value: Value | undefined): void {
    this.#changes.set(key, value)
    if (this.#changes.size <= Math.max(MIN_CHANGES, MAX_SHARE * this.#base.size)) return
    const base = new Map(this.#base)
    for (const [changed, newest] of this.#changes) {
      if (newest === undefined) base.delete(changed)
      else base.set(changed, newest)
    }
    this.#base = base
    this.#changes = new Map()
    this.#isShared = false
  }
}

class Layers<Value> implements ReadMap<Value> {
  readonly size: number
  readonly #base: ReadonlyMap<string, Value>
  readonly #changes: ReadonlyMap<string, Value | undefined>

  constructor(
    base: ReadonlyMap<string, Value>,
    changes: ReadonlyMap<string, Value | undefined>,
    size: number,
  ) {
    this.#base = base
    this.#changes = changes
    this.size = size
  }

  get(key: string): Value | undefined {
    return read(this.#base, this.#changes, key)
  }

  values(): Iterable<Value> {
    return layered(this.#base, this.#changes)
  }
}

function read<Value>(
  base: ReadonlyMap<string, Value>,
  changes: ReadonlyMap<string, Value | undefined>,
  key: string,
): Value | undefined {
  if (changes.size === 0) return base.get(key)
  const changed = changes.get(key)
  return changed !== undefined || changes.has(key) ? changed : base.get(key)
}

function* layered<Value>(
  base: ReadonlyMap<string, Value>,
  changes: ReadonlyMap<string, Value | undefined>,
): Generator<Value> {
  for (const [key, value] of base) if (!changes.has(key)) yield value
  for (const value of changes.values()) if (value !== undefined) yield value
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
