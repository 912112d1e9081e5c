import type { EvalQuery, EvalTool } from '../../packages/toolcrib/src/eval/load-case.ts'

/** Tools, and queries with known relevant tools. */
export interface LabelledCase {
  readonly name: string
  readonly tools: readonly EvalTool[]
  readonly queries: readonly EvalQuery[]
  /** Whether a query was held out of the embedder's training. Default: all were. */
  readonly isKeptAside?: (query: string) => boolean
  /** A table for `staticEmbedder` trained without this set, if there is one. */
  readonly leftOutTable?: string
}
