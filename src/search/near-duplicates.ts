import { splitName } from '../names.ts'
import type { Listing } from '../tool.ts'
import { sourceKey } from '../tool.ts'
import { parameterTexts } from './parameter-texts.ts'
import { eachWord } from './text-words.ts'

/** Share of words two listings must have in common to be taken for one tool. */
const SAME_FROM = 0.8

/** "List users" of two servers is two tools: so few words prove nothing. */
const MIN_WORDS = 4

/** Words read of a listing: enough to tell tools apart, whatever the length of a description. */
const MAX_WORDS = 200

/**
 * Tells tools that several sources offer alike (forks of a server, clones that want to be found) from tools that are
 * merely similar. What it read of a listing it remembers for as long as the listing lives.
 */
export class NearDuplicates {
  readonly #fingerprints = new WeakMap<Listing, Int32Array>()

  /** Whether two listings of different sources are, in all but details, one tool. */
  areAlike(a: Listing, b: Listing): boolean {
    if (a.source === b.source || sourceKey(a.source) === sourceKey(b.source)) return false
    return areClose(this.#fingerprint(a), this.#fingerprint(b))
  }

  #fingerprint(listing: Listing): Int32Array {
    const known = this.#fingerprints.get(listing)
    if (known !== undefined) return known
    const words = new Set<number>()
    const read = (word: string): boolean => words.add(hash(word)).size < MAX_WORDS
    for (const part of splitName(listing.ownName)) read(part)
    for (const name of parameterTexts(listing.inputSchema).names) read(name)
    eachWord(listing.description, read)
    const fingerprint = Int32Array.from(words).sort()
    this.#fingerprints.set(listing, fingerprint)
    return fingerprint
  }
}

/** Whether the words in both are enough of the words in either; gives up as soon as too many differ. */
function areClose(a: Int32Array, b: Int32Array): boolean {
  if (Math.max(a.length, b.length) < MIN_WORDS) return false
  let mayDiffer = Math.floor(((a.length + b.length) * (1 - SAME_FROM)) / (1 + SAME_FROM))
  let i = 0
  let j = 0
  while (i < a.length && j < b.length) {
    const left = a[i] as number
    const right = b[j] as number
    if (left !== right && mayDiffer-- <= 0) return false
    if (left <= right) i++
    if (right <= left) j++
  }
  return a.length - i + (b.length - j) <= mayDiffer
}

function hash(word: string): number {
  let value = 0x811c9dc5
  for (let at = 0; at < word.length; at++) value = Math.imul(value ^ word.charCodeAt(at), 0x01000193)
  return value | 0
}
