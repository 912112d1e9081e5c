import type { Query } from '../query/query.ts'

/**
 * Turns texts into vectors whose cosine says how alike their meanings are. `toolcrib/embedders` has two; a hosted
 * model is one function more.
 */
export interface Embedder {
  /** Names the model and its version. Saved vectors are only taken back under the name they were made with. */
  readonly name: string
  readonly dimensions: number
  /** The cosine from which two texts have something to do with each other; 0.2 unless told. */
  readonly relatedFrom?: number
  /** One vector a text, in order, of length 1 (or all zero, for a text without a known word). */
  embed(texts: readonly string[]): readonly Float32Array[] | Promise<readonly Float32Array[]>
}

/** How much of a query an embedder reads: enough for any request, and no pasted novel. */
const MAX_QUERY_CHARACTERS = 2_000

/** What an embedder reads of a query: its free words, not its filters. */
export function queryText({ words }: Query): string {
  return words.join(' ').slice(0, MAX_QUERY_CHARACTERS)
}
