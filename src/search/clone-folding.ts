import { type Listing, sourceKey } from '../tool.ts'
import { wordsOf } from './lexical/text-words.ts'
import { NearDuplicates } from './near-duplicates.ts'
import type { Query } from './query/query.ts'
import type { SourceLedger } from './source-ledger.ts'

/**
 * Decides which of two clones is shown: the one from the more trusted source, then the one whose source came first.
 * Copying another source's tool gains no second position.
 */
export class CloneFolding {
  readonly #duplicates = new NearDuplicates()
  readonly #sources: SourceLedger

  constructor(sources: SourceLedger) {
    this.#sources = sources
  }

  /** Whether `other` replaces `listing`. False if the query names the source of `listing`. */
  isFolded(listing: Listing, other: Listing, query: Query): boolean {
    if (listing === other) return false
    const isSenior =
      other.trust === listing.trust
        ? this.#sources.isSenior(other.source, listing.source)
        : other.trust > listing.trust
    return isSenior && this.#duplicates.repeats(listing, other) && !isNamed(listing, other, query)
  }
}

/** Whether the query contains a word of the listing's source that the other's source lacks. */
function isNamed(listing: Listing, other: Listing, query: Query): boolean {
  const shared = new Set(wordsOf(sourceKey(other.source)))
  const distinctive = wordsOf(sourceKey(listing.source)).filter((word) => !shared.has(word))
  if (distinctive.length === 0) return false
  const asked = new Set(query.words.flatMap(wordsOf))
  return distinctive.some((word) => asked.has(word))
}
