/** One line of a diff: kept, removed or added. `…` marks lines that are left out. */
export interface DiffLine {
  readonly kind: ' ' | '-' | '+' | '…'
  readonly text: string
}

/** Kept lines that are shown around a change. */
const CONTEXT = 2
/** Comparing more lines than this with each other takes too long; they are then all removed and added. */
const MAX_COMPARISONS = 4_000_000

/** What changed between two texts, line by line, with a few lines around each change. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [old, next] = [linesOf(before), linesOf(after)]
  let start = 0
  while (start < old.length && start < next.length && old[start] === next[start]) start++
  let end = 0
  const most = Math.min(old.length, next.length) - start
  while (end < most && old.at(-1 - end) === next.at(-1 - end)) end++
  const all: DiffLine[] = [
    ...old.slice(0, start).map(kept),
    ...compare(old.slice(start, old.length - end), next.slice(start, next.length - end)),
    ...old.slice(old.length - end).map(kept),
  ]
  return withoutDistant(all)
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function kept(text: string): DiffLine {
  return { kind: ' ', text }
}

/** The longest common subsequence decides what is kept. */
function compare(old: readonly string[], next: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: '-', text })
  const added = (text: string): DiffLine => ({ kind: '+', text })
  if (old.length * next.length > MAX_COMPARISONS) return [...old.map(removed), ...next.map(added)]
  const width = next.length + 1
  const lengths = new Uint32Array((old.length + 1) * width)
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = next.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        old[i] === next[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < old.length || j < next.length) {
    const [mine, theirs] = [old[i], next[j]]
    if (mine !== undefined && mine === theirs) {
      lines.push(kept(mine))
      i++
      j++
    } else if (mine !== undefined && (theirs === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(removed(mine))
      i++
    } else if (theirs !== undefined) {
      lines.push(added(theirs))
      j++
    }
  }
  return lines
}

function withoutDistant(lines: readonly DiffLine[]): DiffLine[] {
  const near = new Set<number>()
  for (const [at, { kind }] of lines.entries())
    if (kind !== ' ') for (let other = at - CONTEXT; other <= at + CONTEXT; other++) near.add(other)
  return lines.flatMap((line, at): DiffLine[] => {
    if (near.has(at)) return [line]
    return near.has(at + 1) || (at === lines.length - 1 && near.size > 0) ? [{ kind: '…', text: '' }] : []
  })
}
