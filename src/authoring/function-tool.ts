import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { Tool, ToolContext } from '../tool.ts'
import { defineTool, type InputOf, type SchemaInput, type ToolDraft } from './define-tool.ts'

/** How a plain function becomes a tool: a description, and any further field of a tool. */
export type FunctionOptions<Schema> = Omit<ToolDraft<Schema>, 'inputSchema' | 'execute' | 'name'> & {
  /** The function's own name by default. */
  readonly name?: string
  /** No parameters by default. */
  readonly inputSchema?: Schema
}

const NO_PARAMETERS = { type: 'object', properties: {}, additionalProperties: false }

/** A tool made of a plain function. What it returns is wrapped as by `defineTool`. */
export function functionTool<const Schema extends SchemaInput>(
  fn: (input: InputOf<Schema>, ctx: ToolContext) => unknown,
  options: FunctionOptions<Schema>,
): Tool<InputOf<Schema>> {
  if (typeof fn !== 'function' || !isRecord(options))
    throw new ToolcribError(
      'config-invalid',
      'registerFunction() takes a function and its options, such as { description }',
    )
  const { name = fn.name, inputSchema = NO_PARAMETERS, ...rest } = options
  if (name === '')
    throw new ToolcribError('config-invalid', 'the function has no name; give one: { name, description }')
  return defineTool({ ...rest, name, inputSchema, execute: fn } as unknown as ToolDraft<Schema>)
}
