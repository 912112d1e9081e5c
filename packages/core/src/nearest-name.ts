/**
 * Returns the candidate that a name was most likely meant to be; undefined if none is close. Ignores case and separators.
 */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  const wanted = fold(name)
  let nearest: string | undefined
  let least = Math.max(1, Math.floor(wanted.length / 3)) + 1
  for (const candidate of candidates.slice(0, MAX_CANDIDATES)) {
    const distance = editDistance(wanted, fold(candidate), least - 1)
    if (distance >= least) continue
    least = distance
    nearest = candidate
  }
  return nearest
}

const MAX_CANDIDATES = 200
const MAX_CHARS = 64

// Case and separators are the most likely mistakes: `filePath` for `file_path`.
function fold(name: string): string {
  return name
    .toLowerCase()
    .replace(/[_\-\s.]/g, '')
    .slice(0, MAX_CHARS)
}

/**
 * The number of edits between two texts, or `most + 1` as soon as it must be more; computes only the diagonal band. Two
 * letters in the wrong order are one edit.
 */
export function editDistance(a: string, b: string, most: number): number {
  const over = most + 1
  if (Math.abs(a.length - b.length) > most) return over
  let beforePrevious: readonly number[] = []
  let previous: readonly number[] = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = new Array<number>(b.length + 1).fill(over)
    current[0] = row
    let best = row
    for (let column = Math.max(1, row - most); column <= Math.min(b.length, row + most); column++) {
      const replaced = (previous[column - 1] ?? over) + (a[row - 1] === b[column - 1] ? 0 : 1)
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      const swapped = isSwapped ? (beforePrevious[column - 2] ?? over) + 1 : over
      const value = Math.min(
        replaced,
        swapped,
        (previous[column] ?? over) + 1,
        (current[column - 1] ?? over) + 1,
      )
      current[column] = value
      best = Math.min(best, value)
    }
    if (best > most) return over
    beforePrevious = previous
    previous = current
  }
  return Math.min(previous[b.length] ?? over, over)
}
