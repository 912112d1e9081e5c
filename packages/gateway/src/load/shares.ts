/**
 * Whoever holds so many more places than the newcomer that it should give one up; undefined if nobody does. So that one
 * client cannot take what all share.
 */
export function surplusHolder(holders: Iterable<string>, newcomer: string): string | undefined {
  const counts = new Map<string, number>()
  for (const holder of holders) counts.set(holder, (counts.get(holder) ?? 0) + 1)
  let most: string | undefined
  // With one more, they would take from each other in turns.
  let mostCount = (counts.get(newcomer) ?? 0) + 1
  for (const [holder, count] of counts) {
    if (count <= mostCount) continue
    most = holder
    mostCount = count
  }
  return most
}

/** The entries among which one makes room for the newcomer: of the largest holder, of itself, or else all. */
export function makingRoom<Entry>(
  entries: readonly Entry[],
  holderOf: (entry: Entry) => string,
  newcomer: string,
): readonly Entry[] {
  const holder = surplusHolder(entries.map(holderOf), newcomer) ?? newcomer
  const ofHolder = entries.filter((entry) => holderOf(entry) === holder)
  return ofHolder.length > 0 ? ofHolder : entries
}

/** Whether one client has all that it may have of something that cannot be taken back: three quarters. */
export function hasFullShare(held: number, max: number): boolean {
  return held >= Math.ceil(max * 0.75)
}
