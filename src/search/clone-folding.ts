import { type Listing, sourceKey } from '../tool.ts'
import { wordsOf } from './lexical/text-words.ts'
import { NearDuplicates } from './near-duplicates.ts'
import type { Query } from './query/query.ts'

/**
 * Decides which of two clones is shown: the one whose source is trusted more, then the one whose source was there
 * first. Nobody gains a second place by offering another source's tool again.
 */
export class CloneFolding {
  readonly #duplicates = new NearDuplicates()
  /** By source: when it was first seen, as a number that grows. */
  readonly #seniority = new Map<string, number>()
  #sourcesSeen = 0

  /** Takes note of what a source held and holds now. One that went and comes back starts anew. */
  see(before: readonly Listing[], after: readonly Listing[]): void {
    const sources = new Set(after.map(({ source }) => sourceKey(source)))
    for (const { source } of before)
      if (!sources.has(sourceKey(source))) this.#seniority.delete(sourceKey(source))
    for (const source of sources) {
      if (!this.#seniority.has(source)) this.#seniority.set(source, this.#sourcesSeen++)
    }
  }

  /** Whether `other` is shown in place of `listing`. Not when the query names the source of `listing`. */
  isFolded(listing: Listing, other: Listing, query: Query): boolean {
    if (listing === other || !this.#duplicates.areAlike(listing, other)) return false
    const isSenior =
      other.trust === listing.trust
        ? this.#seniorityOf(other) < this.#seniorityOf(listing)
        : other.trust > listing.trust
    return isSenior && !isNamed(listing, other, query)
  }

  #seniorityOf(listing: Listing): number {
    return this.#seniority.get(sourceKey(listing.source)) ?? Number.POSITIVE_INFINITY
  }
}

/** Whether the query holds a word that the sources of the two do not share. */
function isNamed(listing: Listing, other: Listing, query: Query): boolean {
  const shared = new Set(wordsOf(sourceKey(other.source)))
  const distinctive = wordsOf(sourceKey(listing.source)).filter((word) => !shared.has(word))
  if (distinctive.length === 0) return false
  const asked = new Set(query.words.flatMap(wordsOf))
  return distinctive.some((word) => asked.has(word))
}
