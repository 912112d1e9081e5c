import type { EvalQuery, EvalTool } from '../../src/cli/eval/load-case.ts'

/** Tools, and queries whose tools are known. */
export interface LabelledCase {
  readonly name: string
  readonly tools: readonly EvalTool[]
  readonly queries: readonly EvalQuery[]
  /** Whether a query was kept from the embedder while it learned; all were when absent. */
  readonly isKeptAside?: (query: string) => boolean
  /** A table for `staticEmbedder` that learned without this set, if one was made. */
  readonly leftOutTable?: string
}
