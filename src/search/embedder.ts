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
