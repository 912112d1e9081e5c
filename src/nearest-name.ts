/**
 * Returns the candidate that a name was most likely meant to be; undefined if none is close. Ignores case and separators.
 *
 * @example
 * ```ts
 * import { nearestName } from 'toolcrib'
 *
 * console.log(nearestName('filePaht', ['file_path', 'content'])) // file_path
 * ```
 */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  const wanted = fold(name)
  let nearest: string | undefined
  let least = Math.max(1, Math.floor(wanted.length / 3)) + 1
  for (const candidate of candidates.slice(0, MAX_CANDIDATES)) {
    const distance = editDistance(wanted, fold(candidate), least)
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

/** The number of insertions, deletions and replacements between two texts, at most `enough`. */
function editDistance(a: string, b: string, enough: number): number {
  if (Math.abs(a.length - b.length) >= enough) return enough
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1)
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    previous = current
  }
  return previous[b.length] ?? enough
}
