import { sourceKey } from '../names.ts'
import type { Listing } from '../tool.ts'
import type { Entry, EntryOrder } from './entry.ts'

/** Listings by source. */
export type ListingGroups = ReadonlyMap<string, readonly Listing[]>

/** All tools at one moment. Immutable; a change of the catalogue creates a new one, which shares unchanged parts. */
export class Snapshot {
  /** Grows with every change; equal versions are the same snapshot. */
  readonly version: number
  /** Listings by source; a source that did not change keeps the same array across snapshots. */
  readonly groups: ListingGroups
  /** Why a tool is quarantined, by name. */
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
 * The sources whose listings differ, removed ones first; an array that is the same object is unchanged. For two
 * snapshots of one catalogue, only the changes are read.
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

/** The sources whose listings differ, and those whose tools are held back or released. */
export function* changesBetween(last: Snapshot | undefined, snapshot: Snapshot): Generator<GroupChange> {
  const seen = new Set<string>()
  for (const change of changedGroups(last?.groups ?? new Map(), snapshot.groups)) {
    seen.add(change[0])
    yield change
  }
  if (last === undefined || last.quarantined === snapshot.quarantined) return
  const names = new Set([...last.quarantined.keys(), ...snapshot.quarantined.keys()])
  for (const name of names) {
    const entry = snapshot.get(name)
    const isSame = last.quarantined.has(name) === snapshot.quarantined.has(name)
    if (isSame || entry === undefined) continue
    const key = sourceKey(entry.source)
    if (seen.has(key)) continue
    seen.add(key)
    const listings = snapshot.groups.get(key) ?? []
    yield [key, listings, listings]
  }
}

/** Groups that never change: a snapshot's own, or a copy. */
export function unchangingGroups(groups: ListingGroups): ListingGroups {
  return groups instanceof MapSnapshot ? groups : new Map(groups)
}

/** Values are stored in chunks of this size. A chunk is copied when one of its values changes after a snapshot. */
const CHUNK_BITS = 8
const CHUNK = 1 << CHUNK_BITS

/** Places of deleted keys stay empty. All are renumbered once more are empty than this, and than have values. */
const MAX_EMPTY = 1_024

type Chunk<Value> = (Value | undefined)[]

/**
 * The place of each key's value. Snapshots share it: for a key that was added after a snapshot, that snapshot has no
 * value. A key that is deleted and added again gets its old place.
 */
class Places {
  readonly byKey = new Map<string, number>()
  readonly keys: string[] = []

  take(key: string): number {
    const known = this.byKey.get(key)
    if (known !== undefined) return known
    this.byKey.set(key, this.keys.length)
    return this.keys.push(key) - 1
  }
}

/**
 * A map with cheap snapshots: a snapshot of a million values costs as much as what changed since the last one, and
 * finds its differences from that one quickly. Values are in the order in which their keys were added.
 */
export class SnapshotMap<Value extends object> {
  #places = new Places()
  #chunks: Chunk<Value>[] = []
  /** By chunk: how many snapshots there were when it was created; later snapshots share it. */
  #madeAt: number[] = []
  #snapshots = 0
  #size = 0
  #latest: MapSnapshot<Value> | undefined

  get size(): number {
    return this.#size
  }

  get(key: string): Value | undefined {
    return valueAt(this.#chunks, this.#places.byKey.get(key))
  }

  set(key: string, value: Value): void {
    const place = this.#places.take(key)
    if (valueAt(this.#chunks, place) === undefined) this.#size++
    this.#put(place, value)
  }

  delete(key: string): void {
    const place = this.#places.byKey.get(key)
    if (place === undefined || valueAt(this.#chunks, place) === undefined) return
    this.#size--
    this.#put(place, undefined)
    if (this.#places.keys.length - this.#size > Math.max(MAX_EMPTY, this.#size)) this.#renumber()
  }

  *values(): Generator<Value, undefined> {
    for (const chunk of this.#chunks) for (const value of chunk) if (value !== undefined) yield value
  }

  /** The current values. The same object until something changes. */
  snapshot(): MapSnapshot<Value> {
    if (this.#latest === undefined) {
      this.#latest = new MapSnapshot(this.#places, this.#chunks.slice(), this.#size)
      this.#snapshots++
    }
    return this.#latest
  }

  #put(place: number, value: Value | undefined): void {
    this.#latest = undefined
    const at = place >>> CHUNK_BITS
    const chunk = this.#chunks[at]
    const isShared = chunk !== undefined && (this.#madeAt[at] ?? 0) < this.#snapshots
    const own = chunk === undefined ? [] : isShared ? chunk.slice() : chunk
    if (own !== chunk) {
      this.#chunks[at] = own
      this.#madeAt[at] = this.#snapshots
    }
    own[place & (CHUNK - 1)] = value
  }

  #renumber(): void {
    const { keys } = this.#places
    const chunks = this.#chunks
    this.#places = new Places()
    this.#chunks = []
    this.#madeAt = []
    for (const [place, key] of keys.entries()) {
      const value = valueAt(chunks, place)
      if (value !== undefined) this.#put(this.#places.take(key), value)
    }
  }
}

/** A `SnapshotMap` at one moment. */
export class MapSnapshot<Value extends object> implements ReadonlyMap<string, Value> {
  readonly size: number
  readonly #places: Places
  readonly #chunks: readonly Chunk<Value>[]

  constructor(places: Places, chunks: readonly Chunk<Value>[], size: number) {
    this.#places = places
    this.#chunks = chunks
    this.size = size
  }

  get(key: string): Value | undefined {
    return valueAt(this.#chunks, this.#places.byKey.get(key))
  }

  has(key: string): boolean {
    return this.get(key) !== undefined
  }

  *entries(): Generator<[string, Value], undefined> {
    for (const [at, chunk] of this.#chunks.entries())
      for (const [place, value] of chunk.entries())
        if (value !== undefined) yield [this.#keyAt(at, place), value]
  }

  *keys(): Generator<string, undefined> {
    for (const [key] of this.entries()) yield key
  }

  *values(): Generator<Value, undefined> {
    for (const chunk of this.#chunks) for (const value of chunk) if (value !== undefined) yield value
  }

  [Symbol.iterator](): Generator<[string, Value], undefined> {
    return this.entries()
  }

  forEach(visit: (value: Value, key: string, map: ReadonlyMap<string, Value>) => void): void {
    for (const [key, value] of this.entries()) visit(value, key, this)
  }

  /**
   * Lists the differences from another snapshot, in the order of the keys, without reading what both share. Returns
   * undefined if they cannot share anything: the whole maps have to be compared.
   */
  changesSince(before: MapSnapshot<Value>): MapChange<Value>[] | undefined {
    if (before.#places !== this.#places) return undefined
    const changes: MapChange<Value>[] = []
    const count = Math.max(before.#chunks.length, this.#chunks.length)
    for (let at = 0; at < count; at++) {
      const old = before.#chunks[at]
      const now = this.#chunks[at]
      if (old === now) continue
      for (let place = 0; place < CHUNK; place++)
        if (old?.[place] !== now?.[place])
          changes.push({ key: this.#keyAt(at, place), before: old?.[place], after: now?.[place] })
    }
    return changes
  }

  #keyAt(chunk: number, place: number): string {
    return this.#places.keys[(chunk << CHUNK_BITS) + place] ?? ''
  }
}

/** One key whose value has changed; undefined where there is no value. */
export interface MapChange<Value> {
  readonly key: string
  readonly before: Value | undefined
  readonly after: Value | undefined
}

function valueAt<Value>(chunks: readonly Chunk<Value>[], place: number | undefined): Value | undefined {
  return place === undefined ? undefined : chunks[place >>> CHUNK_BITS]?.[place & (CHUNK - 1)]
}
