/** The items in another order, the same for the same seed. */
export function seededShuffle<Item>(items: readonly Item[], seed: number): Item[] {
  const shuffled = [...items]
  let state = seed
  for (let at = shuffled.length - 1; at > 0; at--) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    const other = (state >> 8) % (at + 1)
    ;[shuffled[at], shuffled[other]] = [shuffled[other] as Item, shuffled[at] as Item]
  }
  return shuffled
}
