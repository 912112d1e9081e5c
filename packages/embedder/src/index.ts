/** Embedders for `semantic()` and `hybrid()`. `staticEmbedder()` runs in browsers too, with the bytes of its file. */
export type { Embedder } from '@toolcrib/core'
export { defaultSearcher } from './default-searcher.ts'
export { type MiniLmOptions, minilm, type OnnxRuntime } from './minilm.ts'
export { type StaticEmbedderOptions, staticEmbedder } from './static-embedder.ts'
