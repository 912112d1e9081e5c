import { describeError } from '../errors.ts'
import type { ReduceContext, ReducerLookup } from '../reduce/reducer.ts'
import type { ToolResult } from '../tool.ts'
import { readResult } from './answers.ts'

/**
 * The result as the tool's reducer leaves it. One that throws, returns nothing or something that is no result leaves
 * the original.
 */
export function reduceResult(
  toolName: string,
  result: ToolResult,
  context: ReduceContext,
  reducers: ReducerLookup | undefined,
  onFailure: (error: string) => void,
): ToolResult {
  try {
    const reduced: unknown = reducers?.get(toolName)?.reduce({ ...result }, context)
    if (reduced === undefined || reduced === null) return result
    const read = readResult(reduced)
    if (typeof read !== 'string') return read
    onFailure(`not a tool result: ${read}`)
  } catch (thrown) {
    onFailure(describeError(thrown))
  }
  return result
}
