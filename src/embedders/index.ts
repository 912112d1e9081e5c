/** Embedders for `semantic()` and `hybrid()`. They read files, so they need Node, Bun or Deno. */
export type { Embedder } from '../search/vectors/embedder.ts'
export { type MiniLmOptions, minilm, type OnnxRuntime } from './minilm.ts'
export { type StaticEmbedderOptions, staticEmbedder } from './static-embedder.ts'
