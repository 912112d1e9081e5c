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
      const [change] = changedGroups(this.#groups, groups)
      if (change === undefined) break
      const [key, before, after] = change
      const steps = this.index.takesWholeSources ? [after] : stepsTowards(before, after, slices)
      for (const listings of steps) {
        const reached = this.#groups
        if (slices.isOver) await slices.pause()
        if (this.#groups !== reached) break
        this.index.update(key, listings)
        this.#groups = withGroup(reached, key, listings)
      }
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
 * Listings of a source, each list a little more like `after`. A listing is replaced by the one with its name, so that a search
 * in between finds either. Steps grow as long as the slice lasts: each costs time in proportion to the source.
 */
function* stepsTowards(
  before: readonly Listing[],
  after: readonly Listing[],
  slices: Slices,
): Generator<readonly Listing[]> {
  const [held, wanted] = [new Set(before), new Set(after)]
  let gone = before.filter((listing) => !wanted.has(listing))
  const fresh = after.filter((listing) => !held.has(listing))
  let reached = before
  for (let step = STEP; gone.length + fresh.length > step; step *= slices.isOver ? 1 : 2) {
    const added = fresh.splice(0, step)
    const names = new Set(added.map(({ name }) => name))
    const dropped = new Set(
      added.length === 0 ? gone.slice(0, step) : gone.filter(({ name }) => names.has(name)),
    )
    gone = gone.filter((listing) => !dropped.has(listing))
    reached = [...reached.filter((listing) => !dropped.has(listing)), ...added]
    yield reached
  }
  yield after
}
