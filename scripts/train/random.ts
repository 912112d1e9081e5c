/** Repeatable random numbers in [0, 1) from a seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** A shuffled copy. */
export function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const copy = [...items]
  for (let at = copy.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    const item = copy[at] as Item
    copy[at] = copy[other] as Item
    copy[other] = item
  }
  return copy
}

/** A shuffled copy, the same for the same seed. The published figures of `bench -- memory` depend on this order. */
export function seededShuffle<Item>(items: readonly Item[], seed: number): Item[] {
  const copy = [...items]
  let state = seed
  for (let at = copy.length - 1; at > 0; at--) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    const other = (state >> 8) % (at + 1)
    ;[copy[at], copy[other]] = [copy[other] as Item, copy[at] as Item]
  }
  return copy
}
