import { isRecord } from '../json.ts'
import { withoutHidden } from '../names.ts'
import { checkOutput, type SchemaCache } from '../schema/check-arguments.ts'
import type { ToolContext, ToolResult } from '../tool.ts'
import type { Connection, ProgressNote } from './connection.ts'
import type { EmitMcp } from './mcp-event.ts'
import type { ServerTool } from './server-tool.ts'
import { toToolResult } from './to-tool-result.ts'

/** One call of a server's tool. */
export interface ServerCall {
  readonly server: string
  readonly tool: ServerTool
  readonly input: unknown
  readonly ctx: Pick<ToolContext, 'toolCallId' | 'signal' | 'onProgress'>
  /** How long the server may take without a word; with words of its progress, ten times that. */
  readonly timeoutMs: number
  readonly isTrusted: boolean
  /** Output schemas made ready, each once. */
  readonly outputSchemas: SchemaCache
}

/** Calls a tool over a connection. Rejects when there is no answer; see describe-call-error.ts. */
export async function callServerTool(
  connection: Connection,
  call: ServerCall,
  emit: EmitMcp,
): Promise<ToolResult> {
  const { tool, ctx, timeoutMs, isTrusted } = call
  const place = { tool: tool.name, toolCallId: ctx.toolCallId }
  const params = { name: tool.name, arguments: isRecord(call.input) ? call.input : {} }
  const onProgress = ({ progress, total, message }: ProgressNote) => {
    const note = {
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message: withoutHidden(message) }),
    }
    emit({ type: 'call-progress', ...place, ...note })
    ctx.onProgress?.(note)
  }
  const options = { timeoutMs, maxTotalMs: timeoutMs * PROGRESS_FACTOR, signal: ctx.signal, onProgress }
  const answer =
    connection.era === 'modern' && isRecord(tool.inputSchema) && isMirrored(tool.inputSchema)
      ? await connection.callMirrored(params, tool.inputSchema, options)
      : await connection.callTool(params, options)
  const result = toToolResult(answer, (structured) => {
    const faults = outputFaults(tool, structured, call.outputSchemas)
    if (faults !== undefined) emit({ type: 'output-mismatch', ...place, faults })
    return faults
  })
  if (tool.outputSchema !== undefined && result.ok && result.structured === undefined)
    emit({ type: 'output-mismatch', ...place, faults: NOTHING_STRUCTURED })
  if (result.meta) emit({ type: 'result-meta', ...place, meta: result.meta, isTrusted })
  return result
}

/** A server that keeps saying how far it has come is given so many times as long. */
export const PROGRESS_FACTOR = 10
const NOTHING_STRUCTURED = 'there is no structured content, though its output schema promises some'

/** Some servers want arguments repeated in headers; their schemas say so. */
function isMirrored(inputSchema: Record<string, unknown>): boolean {
  return JSON.stringify(inputSchema).includes('"x-mcp-header"')
}

/** What structured content lacks; undefined when it is as promised, or nothing that can be checked was promised. */
function outputFaults(
  { outputSchema }: ServerTool,
  structured: unknown,
  schemas: SchemaCache,
): string | undefined {
  if (outputSchema === undefined) return undefined
  const checked = checkOutput(
    schemas.compile(outputSchema, () => {}),
    structured,
  )
  return checked.kind === 'invalid' ? checked.error : undefined
}
