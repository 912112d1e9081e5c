import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { JsonSchema, Returned, Tool, ToolContext } from '../tool.ts'
import { defineTool } from './define-tool.ts'

/** A function tool in the format of OpenAI's chat API. */
export interface OpenAIToolDefinition {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description?: string
    readonly parameters?: JsonSchema | null
  }
}

/**
 * Creates a tool from an OpenAI function definition and the function that runs it. The function is called with arguments
 * that fit `parameters`; annotate its first parameter with their type. Return values are wrapped.
 */
export function fromOpenAI<Input = Record<string, unknown>>(
  definition: OpenAIToolDefinition,
  execute: (input: Input, ctx: ToolContext) => Returned | Promise<Returned>,
): Tool {
  if (!isRecord(definition) || definition.type !== 'function' || !isRecord(definition.function)) {
    throw new ToolcribError(
      'config-invalid',
      'fromOpenAI() expects { type: "function", function: { name, … } }',
    )
  }
  const { name, description = '', parameters } = definition.function
  return defineTool<JsonSchema>({
    name,
    description,
    inputSchema: parameters ?? { type: 'object', properties: {} },
    // Arguments are validated before a tool runs, so they have the type that the schema describes.
    execute: (input, ctx) => execute(input as Input, ctx),
  })
}
