import type { Listing, ToolSource } from '../tool.ts'
import { HASH_SEED, hashed } from './vectors/text-hash.ts'

/** Share of words two listings must have in common to be taken for one tool. */
const SAME_FROM = 0.8

/** "List users" of two servers is two tools: so few words prove nothing. */
const MIN_WORDS = 4

/** Characters read of a description: enough to tell tools apart, however long it is. */
const MAX_CHARACTERS = 1000

/** Descriptions whose lengths differ by more than this cannot share enough words; saves reading most of them. */
const MAX_LENGTH_RATIO = 2

/**
 * Tells tools that several sources offer alike (forks of a server, clones that want to be found) from tools that are
 * merely similar: by the words of name, description and parameter names. What it read it remembers for as long as
 * the listing lives.
 */
export class NearDuplicates {
  readonly #fingerprints = new WeakMap<Listing, Int32Array>()

  /** Whether two listings of different sources are one tool in all but details. */
  areAlike(a: Listing, b: Listing): boolean {
    if (isSameSource(a.source, b.source)) return false
    const shorter = Math.min(a.description.length, b.description.length, MAX_CHARACTERS)
    const longer = Math.min(Math.max(a.description.length, b.description.length), MAX_CHARACTERS)
    if (longer > shorter * MAX_LENGTH_RATIO) return false
    return areClose(this.#fingerprint(a), this.#fingerprint(b))
  }

  #fingerprint(listing: Listing): Int32Array {
    const known = this.#fingerprints.get(listing)
    if (known !== undefined) return known
    const words = new Set<number>()
    readWords(listing.ownName, words)
    readWords(listing.description, words)
    for (const name of parameterNames(listing)) readWords(name, words)
    const fingerprint = Int32Array.from(words).sort()
    this.#fingerprints.set(listing, fingerprint)
    return fingerprint
  }
}

function isSameSource(a: ToolSource, b: ToolSource): boolean {
  if (a === b) return true
  if (a.kind === 'mcp') return b.kind === 'mcp' && a.server === b.server
  if (a.kind === 'plugin') return b.kind === 'plugin' && a.plugin === b.plugin
  return a.kind === b.kind
}

function parameterNames({ inputSchema }: Listing): string[] {
  const properties = typeof inputSchema === 'object' ? inputSchema.properties : undefined
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
}

/** Adds a hash for each run of letters and digits, whatever their case. */
function readWords(text: string, into: Set<number>): void {
  let hash = HASH_SEED
  const end = Math.min(text.length, MAX_CHARACTERS)
  for (let at = 0; at < end; at++) {
    const code = text.charCodeAt(at)
    const isDigit = code >= 48 && code <= 57
    const isLetter = code > 127 || ((code | 32) >= 97 && (code | 32) <= 122)
    if (isDigit) hash = hashed(hash, code)
    else if (isLetter) hash = hashed(hash, code > 127 ? code : code | 32)
    else if (hash !== HASH_SEED) {
      into.add(hash)
      hash = HASH_SEED
    }
  }
  if (hash !== HASH_SEED) into.add(hash)
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
    if (left !== right && --mayDiffer < 0) return false
    if (left <= right) i++
    if (right <= left) j++
  }
  return a.length - i + (b.length - j) <= mayDiffer
}
