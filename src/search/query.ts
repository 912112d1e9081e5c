/** A parsed query. */
export interface Query {
  /** The query as it was written. */
  readonly text: string
  readonly kind: 'select' | 'keyword' | 'regex'
  /** Names asked for by `select:A,B`. */
  readonly names: readonly string[]
  /** Free words that are ranked, as written. */
  readonly words: readonly string[]
  /** `+word`: must occur in name, description or hint; filters only. */
  readonly required: readonly string[]
  /** `-word`: must not occur. */
  readonly excluded: readonly string[]
  /** `server:github` */
  readonly servers: readonly string[]
  /** `"a phrase"`: must occur as written; its words are ranked too. */
  readonly phrases: readonly string[]
  /** `/pattern/` */
  readonly pattern?: string
}
