import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { JsonSchema, Tool, ToolContext } from '../tool.ts'
import { defineTool } from './define-tool.ts'

/** A tool in the format of Anthropic's Messages API; `run` as in the helpers of Anthropic's SDK. */
export interface AnthropicToolDefinition {
  readonly name: string
  readonly description?: string | undefined
  /** Absent for tools that Anthropic defines itself, which are refused. */
  readonly input_schema?: object | undefined
  readonly run?: ((input: never, context?: never) => unknown) | undefined
}

/**
 * Creates a tool from one of Anthropic's Messages API. `execute` runs it; by default the definition's own `run`. Content
 * blocks that it returns are text and images of the result. Throws `config-invalid` for anything else, and for a tool
 * that Anthropic runs on its servers.
 *
 * @example
 * ```ts
 * import { fromAnthropic } from 'toolcrib'
 *
 * const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
 * const rain = ({ city }: { city: string }) => `Rain in ${city}`
 * const forecast = fromAnthropic({ name: 'forecast', input_schema: city }, rain)
 * ```
 */
export function fromAnthropic<Input = Record<string, unknown>>(
  definition: AnthropicToolDefinition,
  execute?: (input: Input, ctx: ToolContext) => unknown,
): Tool {
  if (!isRecord(definition) || typeof definition.name !== 'string' || !isRecord(definition.input_schema))
    throw new ToolcribError('config-invalid', 'fromAnthropic() expects { name, input_schema, … }')
  const { name, description = '', input_schema, run } = definition
  const runs = execute ?? (run as ((input: Input) => unknown) | undefined)
  if (!runs)
    throw new ToolcribError(
      'config-invalid',
      `"${name}" has no run function; pass one to fromAnthropic(definition, execute)`,
    )
  return defineTool<JsonSchema>({
    name,
    description,
    inputSchema: input_schema as JsonSchema,
    execute: async (input, ctx) => blocksToResult(await runs(input as Input, ctx)),
  })
}

/** Content blocks as a result; anything else as it is. */
function blocksToResult(returned: unknown): unknown {
  if (!Array.isArray(returned) || !returned.every((block) => isRecord(block) && 'type' in block))
    return returned
  const texts = returned.flatMap(({ type, text }) =>
    type === 'text' && typeof text === 'string' ? [text] : [],
  )
  const images = returned.flatMap(({ type, source }) =>
    type === 'image' && isRecord(source) && source.type === 'base64'
      ? [{ type: 'image', data: source.data, mimeType: source.media_type }]
      : [],
  )
  if (texts.length + images.length < returned.length) return returned
  return { ok: true, value: texts.join('\n'), ...(images.length > 0 ? { content: images } : {}) }
}
