import type { ReduceContext, ToolResult } from '../tool.ts'

/**
 * Shortens one tool's result and keeps its meaning. If it returns undefined or throws, the result is unchanged. A
 * reduced result says what was left out and how to get it.
 */
export interface Reducer {
  readonly toolName: string
  reduce(result: ToolResult, context: ReduceContext): ToolResult | undefined
}

/** Finds the reducer of a tool by its exact name. */
export interface ReducerLookup {
  get(toolName: string): Reducer | undefined
  /** The tools that have a reducer, so that names without a tool can be reported. */
  readonly toolNames?: readonly string[]
}
