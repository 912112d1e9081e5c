import { type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { ToolResult } from '../tool.ts'

/**
 * Runs one call within a span, named and described by OpenTelemetry's conventions for generative AI. Arguments and
 * results are left out: they may hold what a trace must not. Without a tracer provider this costs next to nothing.
 */
export function traceCall(
  call: { readonly name: string; readonly toolCallId: string; readonly sessionId: string },
  run: (span: Span) => Promise<ToolResult>,
): Promise<ToolResult> {
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': call.name,
    'gen_ai.tool.call.id': call.toolCallId,
    'gen_ai.tool.type': 'function',
    'gen_ai.conversation.id': call.sessionId,
  }
  const options = { kind: SpanKind.INTERNAL, attributes }
  return trace.getTracer('toolcrib').startActiveSpan(`execute_tool ${call.name}`, options, async (span) => {
    try {
      const result = await run(span)
      if (!result.ok) {
        span.setAttribute('error.type', result.code)
        span.setStatus({ code: SpanStatusCode.ERROR, message: result.code })
      }
      return result
    } finally {
      span.end()
    }
  })
}
