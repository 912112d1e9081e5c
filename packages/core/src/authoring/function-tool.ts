import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { Returned, Tool, ToolContext } from '../tool.ts'
import { defineTool, type InputOf, type SchemaInput, type ToolDraft } from './define-tool.ts'

export type FunctionOptions<Schema> = Omit<ToolDraft<Schema>, 'inputSchema' | 'execute' | 'name'> & {
  /** Defaults to the function's own name. */
  readonly name?: string
  /** Defaults to no parameters. */
  readonly inputSchema?: Schema
  /**
   * true: shown from the start, in every mode; false: deferrable like any other tool. Default: as true while there are fewer
   * than `toolThreshold` tools, then as false.
   */
  readonly preload?: boolean
}

const NO_PARAMETERS = { type: 'object', properties: {}, additionalProperties: false }

/** Creates a tool from a plain function. Return values are wrapped as in `defineTool`. */
export function functionTool<const Schema extends SchemaInput>(
  fn: (input: InputOf<Schema>, ctx: ToolContext) => Returned | Promise<Returned>,
  options: FunctionOptions<Schema>,
): Tool<InputOf<Schema>> {
  if (typeof fn !== 'function' || !isRecord(options))
    throw new ToolcribError(
      'config-invalid',
      'registerFunction() expects a function and its options, such as { description }',
    )
  if ('execute' in options)
    throw new ToolcribError(
      'config-invalid',
      'registerFunction() has no option "execute"; pass the function first',
    )
  const { name = fn.name, inputSchema = NO_PARAMETERS, preload, ...rest } = options
  if (preload !== undefined && typeof preload !== 'boolean')
    throw new ToolcribError('config-invalid', 'registerFunction() expects preload to be true or false')
  if (name === '')
    throw new ToolcribError(
      'config-invalid',
      'the function has no name; pass one in the options: { name, description }',
    )
  return defineTool({ ...rest, name, inputSchema, execute: fn } as unknown as ToolDraft<Schema>)
}
