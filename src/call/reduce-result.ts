import { describeError } from '../errors.ts'
import type { ReducerLookup } from '../reduce/reducer.ts'
import { copyResult } from '../secrets/mask.ts'
import type { ReduceContext, Tool, ToolResult } from '../tool.ts'
import { readResult } from './answers.ts'

/**
 * The result as the tool's reducer leaves it: the host's for that name, else the tool's own. One that throws, returns
 * nothing, or returns something other than a result leaves the original, even if it changed its argument. `meta` is kept
 * unless the reducer returns another: models do not read it, so it need not be shorter.
 */
export function reduceResult(
  tool: Tool,
  result: ToolResult,
  context: ReduceContext,
  reducers: ReducerLookup | undefined,
  onFailure: (error: string) => void,
): ToolResult {
  try {
    const reducer = reducers?.get(tool.name) ?? tool
    if (reducer.reduce === undefined) return result
    const reduced: unknown = reducer.reduce(copyResult(result), context)
    if (reduced === undefined || reduced === null) return result
    const read = readResult(reduced)
    if (typeof read !== 'string') {
      if (result.meta !== undefined) read.meta ??= result.meta
      return read
    }
    onFailure(`not a tool result: ${read}`)
  } catch (thrown) {
    onFailure(describeError(thrown))
  }
  return result
}
