import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { JsonSchema, Tool } from '../tool.ts'

/** A function tool in the form OpenAI's chat API takes. */
export interface OpenAIToolDefinition {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description?: string
    readonly parameters?: JsonSchema | null
  }
}

/** Makes a tool of an OpenAI function definition and the function that answers it. */
export function fromOpenAI(definition: OpenAIToolDefinition, execute: Tool['execute']): Tool {
  if (!isRecord(definition) || definition.type !== 'function' || !isRecord(definition.function)) {
    throw new ToolcribError(
      'config-invalid',
      'fromOpenAI() takes { type: "function", function: { name, … } }',
    )
  }
  const { name, description = '', parameters } = definition.function
  return { name, description, inputSchema: parameters ?? { type: 'object', properties: {} }, execute }
}
