/** An item of a comparison of two lists. */
export interface DiffItem {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

/** Comparing more items than this with each other takes too long; they are then all removed and added. */
const MAX_COMPARISONS = 4_000_000

/** Compares two lists of texts, keeping the longest common subsequence. */
export function diffItems(before: readonly string[], after: readonly string[]): DiffItem[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  const most = Math.min(before.length, after.length) - start
  while (end < most && before.at(-1 - end) === after.at(-1 - end)) end++
  return [
    ...before.slice(0, start).map((text): DiffItem => ({ kind: 'same', text })),
    ...compare(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map((text): DiffItem => ({ kind: 'same', text })),
  ]
}

function compare(old: readonly string[], next: readonly string[]): DiffItem[] {
  const removed = (text: string): DiffItem => ({ kind: 'removed', text })
  const added = (text: string): DiffItem => ({ kind: 'added', text })
  if (old.length * next.length > MAX_COMPARISONS) return [...old.map(removed), ...next.map(added)]
  const width = next.length + 1
  const lengths = new Uint32Array((old.length + 1) * width)
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = next.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        old[i] === next[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  const items: DiffItem[] = []
  let [i, j] = [0, 0]
  while (i < old.length || j < next.length) {
    const [mine, theirs] = [old[i], next[j]]
    if (mine !== undefined && mine === theirs) {
      items.push({ kind: 'same', text: mine })
      i++
      j++
    } else if (mine !== undefined && (theirs === undefined || at(i + 1, j) >= at(i, j + 1))) {
      items.push(removed(mine))
      i++
    } else if (theirs !== undefined) {
      items.push(added(theirs))
      j++
    }
  }
  return items
}
