import { nameSkeletons } from '../names.ts'
import { editDistance } from '../nearest-name.ts'
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
      distanceOf(wanted, full),
      // The gateway shows names without their prefix.
      full.startsWith(PREFIX) ? distanceOf(wanted, full.slice(PREFIX.length)) : MAX_EDITS + 1,
      distanceOf(ownWanted, own),
      wanted.endsWith(`_${own}`) ? 1 : MAX_EDITS + 1,
    )
    // Short names are near everything: three edits make any four letters into any other.
    if (distance <= MAX_EDITS && distance < ownWanted.length / 2) close.push({ name: candidate, distance })
  }
  close.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
  return close.slice(0, limit).map((candidate) => candidate.name)
}

function distanceOf(a: string, b: string): number {
  return haveOtherLetters(a, b) ? MAX_EDITS + 1 : editDistance(a, b, MAX_EDITS)
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
