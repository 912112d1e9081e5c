import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { JsonSchema, Tool, ToolContext } from '../tool.ts'
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

/** Creates a tool from an OpenAI function definition and the function that runs it. Return values are wrapped. */
export function fromOpenAI(
  definition: OpenAIToolDefinition,
  execute: (input: unknown, ctx: ToolContext) => unknown,
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
    execute,
  })
}
