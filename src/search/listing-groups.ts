import type { Listing } from '../tool.ts'

/** Listings by source. */
export type ListingGroups = ReadonlyMap<string, readonly Listing[]>

type Change = readonly [key: string, before: readonly Listing[], after: readonly Listing[]]

/** The sources whose listings differ; an array that is the same object is unchanged. */
export function* changedGroups(before: ListingGroups, after: ListingGroups): Generator<Change> {
  for (const [key, listings] of before) if (!after.has(key)) yield [key, listings, []]
  for (const [key, listings] of after) {
    const known = before.get(key)
    if (known !== listings) yield [key, known ?? [], listings]
  }
}
