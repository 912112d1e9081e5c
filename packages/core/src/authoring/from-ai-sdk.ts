import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { JsonSchema, Tool } from '../tool.ts'
import { defineTool, isStandardSchema, type SchemaInput } from './define-tool.ts'

/** A tool of the AI SDK, as its `tool()` returns it. */
export interface AiSdkToolDefinition {
  readonly description?: unknown
  /** A schema of zod or another library, or what `jsonSchema()` of the SDK returns. */
  readonly inputSchema: unknown
  readonly execute?: unknown
}

/**
 * Creates tools from those of Vercel's AI SDK, by name. Each runs its own `execute`, with the signal and the id of the call.
 * Throws `config-invalid` for a tool without `execute`, since the host answers its calls.
 */
export function fromAiSdk(tools: Readonly<Record<string, AiSdkToolDefinition>>): readonly Tool[] {
  if (!isRecord(tools)) throw new ToolcribError('config-invalid', 'fromAiSdk() expects { name: tool, … }')
  return Object.entries(tools).map(([name, tool]) => {
    const run = isRecord(tool) ? tool.execute : undefined
    if (!isRecord(tool) || typeof run !== 'function')
      throw new ToolcribError('config-invalid', `the AI SDK tool "${name}" has no execute function`)
    return defineTool<SchemaInput>({
      name,
      description: typeof tool.description === 'string' ? tool.description : '',
      inputSchema: schemaOf(name, tool.inputSchema),
      execute: async (input, { toolCallId, signal }) =>
        lastOf(await run.call(tool, input, { toolCallId, abortSignal: signal, messages: [] })),
    })
  })
}

function schemaOf(name: string, given: unknown): SchemaInput {
  if (isStandardSchema(given)) return given
  // The SDK accepts functions that make a schema when it is needed.
  const schema: unknown = typeof given === 'function' ? given() : given
  if (isStandardSchema(schema)) return schema
  if (isRecord(schema) && isRecord(schema.jsonSchema) && !('then' in schema.jsonSchema))
    return schema.jsonSchema as JsonSchema
  throw new ToolcribError(
    'config-invalid',
    `the AI SDK tool "${name}" has an inputSchema that is neither a Standard Schema nor made by jsonSchema()`,
  )
}

/** A generator yields preliminary results; its last one counts. */
async function lastOf(returned: unknown): Promise<unknown> {
  if (typeof returned !== 'object' || returned === null || !(Symbol.asyncIterator in returned))
    return returned
  let last: unknown
  for await (const part of returned as AsyncIterable<unknown>) last = part
  return last
}
