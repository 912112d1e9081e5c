import { splitName } from '../names.ts'
import type { Listing } from '../tool.ts'

/**
 * Finds listings by name, however it is written: `mcp__github__search`, `github.search`, `GitHub search`, or `search`
 * when only one listing is called so.
 */
export class ExactNames {
  // Keyed by the letters and digits of a name alone; whoever collides by chance is told apart when found.
  readonly #byKey = new Map<string, Listing | Set<Listing>>()

  add(listing: Listing): void {
    for (const key of keysOf(listing)) {
      const held = this.#byKey.get(key)
      if (held === undefined) this.#byKey.set(key, listing)
      else if (held instanceof Set) held.add(listing)
      else this.#byKey.set(key, new Set([held, listing]))
    }
  }

  remove(listing: Listing): void {
    for (const key of keysOf(listing)) {
      const held = this.#byKey.get(key)
      if (held === listing) this.#byKey.delete(key)
      if (!(held instanceof Set)) continue
      held.delete(listing)
      if (held.size === 0) this.#byKey.delete(key)
    }
  }

  /** The accepted listings that bear this name; a bare name fits only when exactly one listing bears it. */
  find(written: string, accepts: (listing: Listing) => boolean): Listing[] {
    const held = this.#byKey.get(keyOf(written))
    if (held === undefined) return []
    const fitting = (held instanceof Set ? [...held] : [held]).filter(accepts)
    const verbatim = fitting.filter(({ name }) => name === written)
    if (verbatim.length > 0) return verbatim
    const key = keyOf(written)
    const qualified = fitting.filter(
      (listing) => keyOf(listing.name) === key || qualifiedKey(listing) === key,
    )
    if (qualified.length > 0) return qualified
    return fitting.length === 1 ? fitting : []
  }
}

function keysOf(listing: Listing): Set<string> {
  return new Set([keyOf(listing.name), keyOf(listing.ownName), qualifiedKey(listing)])
}

function keyOf(name: string): string {
  return splitName(name).join('')
}

function qualifiedKey({ source, ownName }: Listing): string {
  if (source.kind === 'builtin') return keyOf(ownName)
  return keyOf(source.kind === 'mcp' ? source.server : source.plugin) + keyOf(ownName)
}
