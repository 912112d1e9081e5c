import { nameSkeletons } from '../names.ts'
import type { Entry } from './entry.ts'

const MAX_EDITS = 3
/** What the skeletons of MCP tools begin with. */
const PREFIX = 'mcp_'
/** No name that can be registered comes close to a longer one. */
const MAX_CHARACTERS = 2_000

/** Returns a few names close to an unknown one: the same own name elsewhere, or up to three letters different. */
export function closeNames(name: string, entries: Iterable<Entry>, limit: number): string[] {
  if (name.length > MAX_CHARACTERS) return []
  const [wanted = ''] = nameSkeletons(name)
  const ownWanted = wanted.slice(wanted.lastIndexOf('.') + 1)
  const close: { name: string; distance: number }[] = []
  for (const { name: candidate, skeletons, listing } of entries) {
    const [full = ''] = skeletons
    const own = full.slice(full.length - listing.ownName.length)
    const distance = Math.min(
      editDistance(wanted, full),
      // The gateway shows names without their prefix.
      full.startsWith(PREFIX) ? editDistance(wanted, full.slice(PREFIX.length)) : MAX_EDITS + 1,
      editDistance(ownWanted, own),
      wanted.endsWith(`_${own}`) ? 1 : MAX_EDITS + 1,
    )
    // Short names are near everything: three edits make any four letters into any other.
    if (distance <= MAX_EDITS && distance < ownWanted.length / 2) close.push({ name: candidate, distance })
  }
  close.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
  return close.slice(0, limit).map((candidate) => candidate.name)
}

/**
 * The number of edits between two words, or `MAX_EDITS + 1` as soon as it must be more; computes only the diagonal band.
 * Two letters in the wrong order are one edit.
 */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > MAX_EDITS || haveOtherLetters(a, b)) return MAX_EDITS + 1
  let beforePrevious: readonly number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = new Array<number>(b.length + 1).fill(MAX_EDITS + 1)
    current[0] = row
    let best = row
    for (let column = Math.max(1, row - MAX_EDITS); column <= Math.min(b.length, row + MAX_EDITS); column++) {
      const substituted = at(previous, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1)
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      const swapped = isSwapped ? at(beforePrevious, column - 2) + 1 : MAX_EDITS + 1
      const value = Math.min(substituted, swapped, at(previous, column) + 1, at(current, column - 1) + 1)
      current[column] = value
      best = Math.min(best, value)
    }
    if (best > MAX_EDITS) return MAX_EDITS + 1
    beforePrevious = previous
    previous = current
  }
  return Math.min(at(previous, b.length), MAX_EDITS + 1)
}

/** An edit changes at most two of the letters that occur. This rules out nearly every name of a large catalogue. */
function haveOtherLetters(a: string, b: string): boolean {
  let differing = lettersOf(a) ^ lettersOf(b)
  let count = 0
  for (; differing !== 0; differing &= differing - 1) count++
  return count > 2 * MAX_EDITS
}

function lettersOf(text: string): number {
  let letters = 0
  for (let index = 0; index < text.length; index++) letters |= 1 << (text.charCodeAt(index) & 31)
  return letters
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? MAX_EDITS + 1
}
