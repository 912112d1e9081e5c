import { HASH_SEED, hashed } from '../json.ts'
import { sourceName } from '../names.ts'
import type { Listing, ToolSource } from '../tool.ts'

/** The share of common words from which two texts count as the same. */
const SAME_FROM = 0.8

/**
 * The share of a text's words that another must contain to include it. Additional words in the other do not count.
 */
const CONTAINED_FROM = 0.9

/** Descriptions with this share of common words are the same, whatever the tools' names. */
const SAME_DESCRIPTION_FROM = 0.95

/** "List users" on two servers is two tools: so few words prove nothing. */
const MIN_WORDS = 4
const MIN_CONTAINED_WORDS = 6

/** Maximum characters read of a description: enough to distinguish tools. */
const MAX_CHARACTERS = 1000

/** Where a listing is from, and its words as sorted hashes. */
export interface Fingerprint {
  readonly source: ToolSource
  readonly name: Int32Array
  readonly description: Int32Array
  /** Name, description and parameter names. */
  readonly all: Int32Array
}

/**
 * Whether a listing clones another source's tool in all but details. Distinguishes clones of a tool in several sources
 * (forks of a server, copies that want to be found) from tools that are merely similar, by the words of name, description
 * and parameter names. Additional words do not make it a different tool, nor does a different name for the same
 * description. Tools that differ only in a word or two of a common pattern ("Returns one issue by its identifier") also
 * differ in their names.
 */
export function isClone(clone: Fingerprint, model: Fingerprint): boolean {
  if (isSameSource(clone.source, model.source)) return false
  if (contains(clone.description, model.description, SAME_DESCRIPTION_FROM)) return true
  if (!areClose(clone.all, model.all) && !contains(clone.all, model.all, CONTAINED_FROM)) return false
  return 2 * (model.name.length - missingFrom(clone.name, model.name)) > model.name.length
}

/** Reads the fingerprints of listings, and keeps them for the listings' lifetime. */
export class Fingerprints {
  readonly #known = new WeakMap<Listing, Fingerprint>()

  of(listing: Listing): Fingerprint {
    const known = this.#known.get(listing)
    if (known !== undefined) return known
    const name = hashesOf(listing.ownName)
    const description = hashesOf(listing.description)
    const parameters = parameterNames(listing).map(hashesOf)
    const fingerprint = {
      source: listing.source,
      name: sorted(name),
      description: sorted(description),
      all: sorted(name.concat(description, ...parameters)),
    }
    this.#known.set(listing, fingerprint)
    return fingerprint
  }
}

function isSameSource(a: ToolSource, b: ToolSource): boolean {
  return a === b || (a.kind === b.kind && sourceName(a) === sourceName(b))
}

function parameterNames({ inputSchema }: Listing): string[] {
  const properties = typeof inputSchema === 'object' ? inputSchema.properties : undefined
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
}

/** Hashes each run of letters and digits, ignoring case. */
function hashesOf(text: string): number[] {
  const hashes: number[] = []
  let hash = HASH_SEED
  const end = Math.min(text.length, MAX_CHARACTERS)
  for (let at = 0; at < end; at++) {
    const code = text.charCodeAt(at)
    const isDigit = code >= 48 && code <= 57
    const isLetter = code > 127 || ((code | 32) >= 97 && (code | 32) <= 122)
    if (isDigit) hash = hashed(hash, code)
    else if (isLetter) hash = hashed(hash, code > 127 ? code : code | 32)
    else if (hash !== HASH_SEED) {
      hashes.push(hash)
      hash = HASH_SEED
    }
  }
  if (hash !== HASH_SEED) hashes.push(hash)
  return hashes
}

function sorted(hashes: readonly number[]): Int32Array {
  return Int32Array.from(new Set(hashes)).sort()
}

/** Whether two texts have enough words in common. */
function areClose(a: Int32Array, b: Int32Array): boolean {
  if (Math.max(a.length, b.length) < MIN_WORDS) return false
  const mayDiffer = Math.floor(((a.length + b.length) * (1 - SAME_FROM)) / (1 + SAME_FROM))
  if (Math.abs(a.length - b.length) > mayDiffer) return false
  return b.length - a.length + 2 * missingFrom(b, a, mayDiffer) <= mayDiffer
}

/** Whether `whole` contains the given share of the words in `part`. */
function contains(whole: Int32Array, part: Int32Array, from: number): boolean {
  if (part.length < MIN_CONTAINED_WORDS) return false
  const mayMiss = Math.floor(part.length * (1 - from))
  return missingFrom(whole, part, mayMiss) <= mayMiss
}

/** How many words of `part` are missing from `whole`; stops counting beyond `most`. */
function missingFrom(whole: Int32Array, part: Int32Array, most: number = part.length): number {
  let missing = 0
  let at = 0
  for (const word of part) {
    while (at < whole.length && (whole[at] as number) < word) at++
    if (whole[at] === word) at++
    else if (++missing > most) return missing
  }
  return missing
}
