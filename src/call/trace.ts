import { context, isSpanContextValid, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { ToolResult } from '../tool.ts'

/** The call a span is about, under the name of the tool that runs. */
export interface TracedCall {
  readonly name: string
  readonly toolCallId: string
  readonly sessionId: string
}

/**
 * Runs one call, which never rejects, within a span, named and described by OpenTelemetry's conventions for generative
 * AI. Arguments and results are left out: they may contain what a trace must not. Without a tracer provider it
 * only runs the call, and a tracer that fails changes nothing.
 */
export function traceCall(call: TracedCall, run: () => Promise<ToolResult>): Promise<ToolResult> {
  const span = startSpan(call)
  if (span === undefined) return run()
  let running: Promise<ToolResult> | undefined
  const runOnce = () => {
    running ??= run().then((result) => {
      endSpan(span, result)
      return result
    })
    return running
  }
  try {
    // Active while the tool runs, so that its own spans become children.
    return context.with(trace.setSpan(context.active(), span), runOnce) ?? runOnce()
  } catch {
    return runOnce()
  }
}

/** Starts a span; undefined when nothing records it. */
function startSpan(call: TracedCall): Span | undefined {
  try {
    const span = trace.getTracer('toolcrib').startSpan(`execute_tool ${call.name}`, {
      kind: SpanKind.INTERNAL,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': call.name,
        'gen_ai.tool.call.id': call.toolCallId,
        'gen_ai.tool.type': 'function',
        'gen_ai.conversation.id': call.sessionId,
      },
    })
    return isSpanContextValid(span.spanContext()) ? span : undefined
  } catch {
    return undefined
  }
}

function endSpan(span: Span, result: ToolResult): void {
  try {
    if (!result.ok) {
      span.setAttribute('error.type', result.code)
      span.setStatus({ code: SpanStatusCode.ERROR, message: result.code })
    }
    span.end()
  } catch {}
}
