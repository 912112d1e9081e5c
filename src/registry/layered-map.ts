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
