import { HASH_SEED, hashed } from '../../json.ts'
import { isPlainText, sourceName } from '../../names.ts'
import { changedGroups, type ListingGroups, unchangingGroups } from '../../registry/snapshot.ts'
import type { Listing } from '../../tool.ts'

/**
 * Finds listings by name in any spelling: `mcp__github__search`, `github.search`, `GitHub search`, or `search`, which
 * several sources may share. A name as it is written comes before other spellings: if there are `get-rain` and
 * `get_rain`, each is found.
 */
export class ExactNames {
  // Keyed by hash, which takes a third of the memory; collisions are resolved on lookup.
  readonly #byHash = new Map<number, Listing | Set<Listing>>()
  #groups: ListingGroups = new Map()

  /** Replaces the listings of all sources. A source whose array is the same object as before costs nothing. */
  sync(groups: ListingGroups): void {
    for (const [, before, after] of changedGroups(this.#groups, groups)) {
      const kept = new Set(after)
      const known = new Set(before)
      for (const listing of before) if (!kept.has(listing)) this.#remove(listing)
      for (const listing of after) if (!known.has(listing)) this.#add(listing)
    }
    this.#groups = unchangingGroups(groups)
  }

  #add(listing: Listing): void {
    for (const hash of hashesOf(listing)) {
      const held = this.#byHash.get(hash)
      if (held === undefined) this.#byHash.set(hash, listing)
      else if (held instanceof Set) held.add(listing)
      else if (held !== listing) this.#byHash.set(hash, new Set([held, listing]))
    }
  }

  #remove(listing: Listing): void {
    for (const hash of hashesOf(listing)) {
      const held = this.#byHash.get(hash)
      if (held === listing) this.#byHash.delete(hash)
      if (!(held instanceof Set)) continue
      held.delete(listing)
      if (held.size === 0) this.#byHash.delete(hash)
    }
  }

  /** The accepted listings that a name may mean: several if names repeat, or if sources share a bare name. */
  find(written: string, accepts: (listing: Listing) => boolean): readonly Listing[] {
    const key = written.length > MAX_WRITTEN ? '' : keyOf(written)
    const held = this.#byHash.get(hashOf(key))
    if (held === undefined || key === '') return NOTHING
    const accepted = (held instanceof Set ? [...held] : [held]).filter(accepts)
    const verbatim = accepted.filter(({ name }) => name === written)
    if (verbatim.length > 0) return verbatim
    const inFull = accepted.filter((listing) => keyOf(listing.name) === key || qualifiedKey(listing) === key)
    if (inFull.length > 0) return inFull
    // After full names: a tool that is called `github.search` must not take the place of the server's.
    const bare = accepted.filter(({ ownName }) => keyOf(ownName) === key)
    const asWritten = bare.filter(({ ownName }) => ownName === written)
    return asWritten.length > 0 ? asWritten : bare
  }
}

const NOTHING: readonly Listing[] = []
/** No spelling of a name that can be registered is longer. */
const MAX_WRITTEN = 2_000

function hashesOf(listing: Listing): number[] {
  const { name, ownName, source } = listing
  const origin = sourceName(source)
  if (!isPlainText(name) || !isPlainText(ownName) || !isPlainText(origin))
    return [hashOf(keyOf(name)), hashOf(keyOf(ownName)), hashOf(qualifiedKey(listing))]
  const qualified = origin === '' ? HASH_SEED : hashedKey(HASH_SEED, origin)
  return [hashedKey(HASH_SEED, name), hashedKey(HASH_SEED, ownName), hashedKey(qualified, ownName)].map(
    (hash) => hash >>> 1,
  )
}

/** Adds the key of a plain name to a hash, as `keyOf` would make it, without making it: an index has millions. */
function hashedKey(hash: number, name: string): number {
  let key = hash
  for (let at = startOf(name); at < name.length; at++) {
    const code = name.charCodeAt(at)
    if (IS_SEPARATOR[code] === 1) continue
    key = hashed(key, code >= 65 && code <= 90 ? code + 32 : code)
  }
  return key
}

/** Where a name starts, after `mcp` and at least one separator. */
function startOf(name: string): number {
  const isPrefixed = IS_SEPARATOR[name.charCodeAt(3)] === 1 && name.slice(0, 3).toLowerCase() === 'mcp'
  return isPrefixed ? 3 : 0
}

const IS_SEPARATOR = Uint8Array.from({ length: 128 }, (_, code) =>
  /[\s_.\-/:]/.test(String.fromCharCode(code)) ? 1 : 0,
)

/** The letters and digits of a name, without separators and case. */
function keyOf(name: string): string {
  return name
    .replace(/^mcp[\s_.\-/:]+/i, '')
    .replace(/[\s_.\-/:]+/g, '')
    .toLowerCase()
}

function qualifiedKey({ source, ownName }: Listing): string {
  return keyOf(sourceName(source)) + keyOf(ownName)
}

function hashOf(key: string): number {
  let hash = HASH_SEED
  for (let at = 0; at < key.length; at++) hash = hashed(hash, key.charCodeAt(at))
  // 31 bits stay small integers, which a map stores unboxed.
  return hash >>> 1
}
