import type { ReduceContext, ToolResult } from '../tool.ts'

/**
 * Makes one tool's result shorter and keeps its sense. Returning nothing, or throwing, leaves the result as it
 * was. A reduced result says what was left out and how to get it.
 */
export interface Reducer {
  readonly toolName: string
  reduce(result: ToolResult, context: ReduceContext): ToolResult | undefined
}

/** Finds the reducer of a tool by its exact name. */
export interface ReducerLookup {
  get(toolName: string): Reducer | undefined
}
