/** Values are kept in chunks of this many, and a chunk is copied when one of its values changes after a snapshot. */
const CHUNK_BITS = 8
const CHUNK = 1 << CHUNK_BITS

/** Places of deleted keys stay empty; all are numbered again once there are more empty ones than this, and than values. */
const MAX_EMPTY = 1_024

type Chunk<Value> = (Value | undefined)[]

/**
 * Where each key's value is. Snapshots share it: a key that came after one of them has a place where that snapshot has no
 * value. A key that is deleted and returns gets its place back.
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
 * A map whose readers keep what they saw. A snapshot of a million values costs as much as what changed since the one
 * before, and tells quickly in what it differs from that one. Values are in the order in which their keys came.
 */
export class SnapshotMap<Value extends object> {
  #places = new Places()
  #chunks: Chunk<Value>[] = []
  /** By chunk: the number of snapshots there were when it was made; a snapshot that was taken later shares it. */
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

  /** The values as they are now, whatever changes later: the same object while nothing changes. */
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
   * In what it differs from another snapshot, in the order of the keys, without reading what both share. Undefined if
   * they cannot share anything: the whole maps have to be compared.
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

/** One key whose value has changed; undefined is none. */
export interface MapChange<Value> {
  readonly key: string
  readonly before: Value | undefined
  readonly after: Value | undefined
}

function valueAt<Value>(chunks: readonly Chunk<Value>[], place: number | undefined): Value | undefined {
  return place === undefined ? undefined : chunks[place >>> CHUNK_BITS]?.[place & (CHUNK - 1)]
}
