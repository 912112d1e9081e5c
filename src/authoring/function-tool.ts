import { isRecord } from '../json.ts'
import type { Tool, ToolContext, ToolResult } from '../tool.ts'
import type { InputOf, SchemaInput, ToolDraft } from './define-tool.ts'
import { defineTool } from './define-tool.ts'

/** How a plain function becomes a tool; any further field of a tool may be given too. */
export type FunctionOptions<Schema> = Omit<ToolDraft<Schema>, 'inputSchema' | 'execute' | 'name'> & {
  /** The function's own name, when absent. */
  readonly name?: string
  readonly input: Schema
}

/** A tool made of a plain function: whatever it returns is wrapped. */
export function functionTool<const Schema extends SchemaInput>(
  fn: (input: InputOf<Schema>, ctx: ToolContext) => unknown,
  { input, name = fn.name, ...rest }: FunctionOptions<Schema>,
): Tool<InputOf<Schema>> {
  return defineTool<Schema>({
    ...rest,
    name,
    inputSchema: input,
    execute: async (given: InputOf<Schema>, ctx: ToolContext) => wrap(await fn(given, ctx)),
  } as ToolDraft<Schema>)
}

/** Text as it is, a `ToolResult` as it is, anything else as JSON and `structured`. */
function wrap(returned: unknown): ToolResult {
  if (typeof returned === 'string') return { ok: true, value: returned }
  if (returned === undefined || returned === null) return { ok: true, value: '' }
  if (isToolResult(returned)) return returned
  return { ok: true, value: JSON.stringify(returned) ?? String(returned), structured: returned }
}

function isToolResult(value: unknown): value is ToolResult {
  if (!isRecord(value)) return false
  if (value.ok === true) return typeof value.value === 'string'
  return value.ok === false && typeof value.error === 'string' && typeof value.code === 'string'
}
