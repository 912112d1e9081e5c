import type { Span } from '@opentelemetry/api'
import { isRecord } from '../json.ts'
import type { ToolResult } from '../tool.ts'

/** The call a span is about, under the name of the tool that runs. */
export interface TracedCall {
  readonly name: string
  readonly toolCallId: string
  readonly sessionId: string
}

type TracingApi = typeof import('@opentelemetry/api')

/** `@opentelemetry/api` keeps the provider here, for all copies of its major version. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1')

/**
 * Traces calls where the host registered a tracer provider. The package that defines spans consists of fifty files, so it is
 * loaded only then, when the host has loaded it anyway.
 */
export class CallTracer {
  #api: TracingApi | undefined

  constructor() {
    // Usually registered before any registry is made: then not even the first call waits for the package.
    if (isTracing()) void this.#load()
  }

  /** Runs one call, which never rejects, within a span. Without a tracer provider it only runs the call. */
  trace(call: TracedCall, run: () => Promise<ToolResult>): Promise<ToolResult> {
    if (!isTracing()) return run()
    return this.#api ? runInSpan(this.#api, call, run) : this.#loadAndTrace(call, run)
  }

  async #loadAndTrace(call: TracedCall, run: () => Promise<ToolResult>): Promise<ToolResult> {
    const api = await this.#load()
    return api ? runInSpan(api, call, run) : run()
  }

  async #load(): Promise<TracingApi | undefined> {
    try {
      this.#api ??= await import('@opentelemetry/api')
    } catch {}
    return this.#api
  }
}

function isTracing(): boolean {
  try {
    const registered: unknown = Reflect.get(globalThis, REGISTERED)
    return isRecord(registered) && registered.trace !== undefined
  } catch {
    return false
  }
}

/**
 * Runs a call within a span, named and described by OpenTelemetry's conventions for generative AI. Arguments and
 * results are left out: they may contain what a trace must not. A tracer that fails changes nothing.
 */
function runInSpan(api: TracingApi, call: TracedCall, run: () => Promise<ToolResult>): Promise<ToolResult> {
  const span = startSpan(api, call)
  if (span === undefined) return run()
  let running: Promise<ToolResult> | undefined
  const runOnce = () => {
    running ??= run().then((result) => {
      endSpan(api, span, result)
      return result
    })
    return running
  }
  const { context, trace } = api
  try {
    // Active while the tool runs, so that its own spans become children.
    return context.with(trace.setSpan(context.active(), span), runOnce) ?? runOnce()
  } catch {
    return runOnce()
  }
}

/** A span that is recorded somewhere; undefined when there is none. */
function startSpan({ isSpanContextValid, SpanKind, trace }: TracingApi, call: TracedCall): Span | undefined {
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

function endSpan({ SpanStatusCode }: TracingApi, span: Span, result: ToolResult): void {
  try {
    if (!result.ok) {
      span.setAttribute('error.type', result.code)
      span.setStatus({ code: SpanStatusCode.ERROR, message: result.code })
    }
    span.end()
  } catch {}
}
