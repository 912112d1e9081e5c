import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { JsonSchema, Tool } from '../tool.ts'
import { defineTool, isStandardSchema, type SchemaInput } from './define-tool.ts'

/** A structured tool of LangChain. */
export interface LangChainToolDefinition {
  readonly name: string
  readonly description: string
  /** A schema of zod, or a JSON Schema. */
  readonly schema: unknown
  invoke(input: never, config?: never): unknown
}

/**
 * Creates a tool from one of LangChain. It runs by `invoke`, as a call of LangChain's own agents would: the artifact of a
 * tool with `responseFormat: 'content_and_artifact'` becomes structured content, and its failures are failures.
 *
 * @example
 * ```ts
 * import { tool } from '@langchain/core/tools'
 * import { fromLangChain } from 'toolcrib'
 * import { z } from 'zod'
 *
 * const schema = z.object({ city: z.string() })
 * const forecast = fromLangChain(tool(({ city }) => `Rain in ${city}`, { name: 'forecast', schema }))
 * ```
 */
export function fromLangChain(tool: LangChainToolDefinition): Tool {
  if (!isRecord(tool) || typeof tool.name !== 'string' || typeof tool.invoke !== 'function')
    throw new ToolcribError('config-invalid', 'fromLangChain() expects { name, description, schema, invoke }')
  const { name, description, schema } = tool
  return defineTool<SchemaInput>({
    name,
    description,
    inputSchema: isStandardSchema(schema) ? schema : (schema as JsonSchema),
    execute: async (args, { toolCallId, signal }) => {
      const call = { type: 'tool_call', id: toolCallId, name, args }
      const answered: unknown = await tool.invoke(call as never, { signal } as never)
      if (!isRecord(answered) || !('tool_call_id' in answered)) return answered
      const { content, artifact, status } = answered
      const value = typeof content === 'string' ? content : JSON.stringify(content)
      if (status === 'error') return new Error(value)
      return { ok: true, value, ...(artifact === undefined ? {} : { structured: artifact }) }
    },
  })
}
