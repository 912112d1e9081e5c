import { changedGroups, type ListingGroups } from '../registry/snapshot.ts'
import type { Slices } from '../slices.ts'
import type { Listing } from '../tool.ts'
import { LoadedIndex } from './loaded-index.ts'
import type { SearchIndex } from './searcher.ts'

/** How many listings are added or removed in one step. */
const STEP = 16

/** An index, and the listings that it was updated with. */
export class OpenedIndex {
  #index: SearchIndex
  #groups: ListingGroups = new Map()

  constructor(index: SearchIndex) {
    this.#index = index
  }

  get index(): SearchIndex {
    return this.#index
  }

  /** Updates the sources that have changed. */
  update(groups: ListingGroups): void {
    if (this.#groups === groups) return
    for (const [key, , listings] of changedGroups(this.#groups, groups)) this.index.update(key, listings)
    this.#groups = groups
  }

  /** Does the same in slices. An `update()` in between is continued from. */
  async prepare(groups: ListingGroups, slices: Slices): Promise<void> {
    if (this.#groups === groups) return
    if (this.index instanceof LoadedIndex) this.#index = await this.index.load()
    for (;;) {
      if (slices.isOver) await slices.pause()
      const [change] = changedGroups(this.#groups, groups)
      if (change === undefined) break
      const [key, before, after] = change
      const listings = this.index.takesWholeSources ? after : stepTowards(before, after)
      this.index.update(key, listings)
      this.#groups = withGroup(this.#groups, key, listings)
    }
    this.#groups = groups
  }
}

export function withGroup(groups: ListingGroups, key: string, listings: readonly Listing[]): ListingGroups {
  const changed = new Map(groups)
  if (listings.length === 0) changed.delete(key)
  else changed.set(key, listings)
  return changed
}

/**
 * Listings of a source that differ a little from those before, on the way to those after. A listing is replaced by the one
 * with its name, so that a search in between finds either.
 */
function stepTowards(before: readonly Listing[], after: readonly Listing[]): readonly Listing[] {
  const held = new Set(before)
  const wanted = new Set(after)
  const gone = before.filter((listing) => !wanted.has(listing))
  const fresh = after.filter((listing) => !held.has(listing))
  if (gone.length + fresh.length <= STEP) return after
  const added = fresh.slice(0, STEP)
  const names = new Set(added.map(({ name }) => name))
  const dropped = new Set(
    fresh.length === 0 ? gone.slice(0, STEP) : gone.filter(({ name }) => names.has(name)),
  )
  return [...before.filter((listing) => !dropped.has(listing)), ...added]
}
