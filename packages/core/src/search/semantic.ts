import { anyObject, checkOptions, type OptionRules, required } from '../check-options.ts'
import type { Listing } from '../tool.ts'
import type { Query } from './query/query.ts'
import { acceptEvery, type Ranked, type Ranking, type RankOptions, type SearchIndex } from './searcher.ts'
import { topMatches } from './top-matches.ts'
import { CheckedEmbedder, type Embedder, queryText } from './vectors/embedder.ts'
import { DEADLINE_RULES, type DeadlineOptions, EmbedderDeadline } from './vectors/embedder-deadline.ts'
import type { ListingVectors } from './vectors/listing-vectors.ts'
import { type VectorSearcher, vectorSearcher } from './vectors/vector-searcher.ts'

/** Minimum listings to score exactly: a sketch may misplace a listing by a few hundred positions, rarely more. */
const MIN_CANDIDATES = 256

export interface SemanticOptions extends DeadlineOptions {
  readonly embedder: Embedder
}

const OPTIONS: OptionRules<SemanticOptions> = { ...DEADLINE_RULES, embedder: required(anyObject) }

/**
 * Ranks by meaning alone: the cosine between the vectors of query and listing. Finds other wordings, but only those
 * names and rare terms that its embedder knows. Rejects while the embedder fails or takes too long.
 */
export function semantic(given: SemanticOptions): VectorSearcher {
  checkOptions('semantic()', given, OPTIONS)
  const { embedder, ...options } = given
  const checked = new CheckedEmbedder(embedder)
  return vectorSearcher('semantic', checked, (vectors) => new SemanticIndex(checked, vectors, options))
}

class SemanticIndex implements SearchIndex {
  readonly #embedder: CheckedEmbedder
  readonly #vectors: ListingVectors
  readonly #deadline: EmbedderDeadline

  constructor(embedder: CheckedEmbedder, vectors: ListingVectors, options: DeadlineOptions) {
    this.#embedder = embedder
    this.#vectors = vectors
    this.#deadline = new EmbedderDeadline(embedder.name, options)
  }

  update(source: string, listings: readonly Listing[]): void {
    this.#vectors.update(source, listings)
  }

  rank(query: Query, options: RankOptions): Ranking | Promise<Ranking> {
    if (this.#deadline.failure !== undefined) return Promise.reject(this.#deadline.failure)
    const embedded = this.#embedder.embedRequests([queryText(query)])
    const ready = this.#vectors.ready()
    if (ready === undefined && !(embedded instanceof Promise)) return this.#rank(query, embedded[0], options)
    return this.#deadline
      .wait(Promise.all([embedded, ready]))
      .then(([[vector]]) => this.#rank(query, vector, options))
  }

  #rank(query: Query, vector: Float32Array | undefined, { limit, accepts }: RankOptions): Ranking {
    if (vector === undefined) return { total: 0, matches: [], unmatchedTerms: query.words }
    const count = Math.max(MIN_CANDIDATES, 2 * limit)
    const [near] = this.#vectors.nearest([{ vector, count }], accepts === acceptEvery ? undefined : accepts)
    const related = (near?.numbers ?? []).flatMap((number, at) => {
      const listing = this.#vectors.numbers.listings[number]
      const similarity = near?.similarities[at] ?? 0
      return listing === undefined || similarity < this.#embedder.relatedFrom ? [] : [{ listing, similarity }]
    })
    const scored = related.map(({ listing, similarity }) => ({ listing, score: rounded(similarity) }))
    const matches = topMatches(scored, limit).map(
      ({ listing, score }): Ranked => ({ listing, score, reasons: [meaningReason(score)] }),
    )
    return {
      total: related.length,
      matches,
      unmatchedTerms: matches.length > 0 ? [] : [...new Set(query.words)],
    }
  }
}

/** Describes a cosine in words. */
export function meaningReason(similarity: number): string {
  const percent = `${Math.round(100 * similarity)} %`
  if (similarity >= 0.6) return `very similar in meaning (${percent})`
  if (similarity >= 0.4) return `similar in meaning (${percent})`
  return `${similarity >= 0.2 ? 'loosely' : 'hardly'} related in meaning (${percent})`
}

function rounded(score: number): number {
  return Math.round(score * 1000) / 1000
}
