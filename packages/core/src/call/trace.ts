import type { Reply } from '../reply.ts'
import type { ToolResult } from '../tool.ts'

/** The call a span is about, under the name of the tool that runs. */
interface TracedCall {
  readonly name: string
  readonly toolCallId: string
  readonly sessionId: string
}

/**
 * Runs one call, which never rejects, within a span, named and described by OpenTelemetry's conventions for generative
 * AI. Arguments and results are left out: they may contain what a trace must not.
 */
export function traceCall(call: TracedCall, run: () => Promise<ToolResult>): Promise<ToolResult> {
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': call.name,
    'gen_ai.tool.call.id': call.toolCallId,
    'gen_ai.tool.type': 'function',
    'gen_ai.conversation.id': call.sessionId,
  }
  return traced(`execute_tool ${call.name}`, { attributes }, run, (span, result) => {
    if (!result.ok) fail(span, result.code)
  })
}

/** The request a span is about. */
interface TracedRequest {
  readonly model: string
  readonly dialect: string
  readonly sessionId: string
}

type Sent = { readonly thrown: unknown } | { readonly reply: Reply }

/** The same for a request to a model: its model, why it stopped and its tokens, without any text. */
export function traceModelCall<Answer extends Sent>(
  { model, dialect, sessionId }: TracedRequest,
  run: () => Promise<Answer>,
): Promise<Answer> {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': PROVIDERS[dialect] ?? dialect,
    'gen_ai.request.model': model,
    'gen_ai.conversation.id': sessionId,
  }
  return traced(`chat ${model}`, { attributes, kind: SPAN_CLIENT }, run, (span, sent) => {
    if ('thrown' in sent) return fail(span, sent.thrown instanceof Error ? sent.thrown.name : '_OTHER')
    const { stop, usage } = sent.reply
    const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens } = usage
    span.setAttribute('gen_ai.response.finish_reasons', [stop])
    span.setAttribute('gen_ai.usage.input_tokens', inputTokens + cachedInputTokens + cacheWriteTokens)
    span.setAttribute('gen_ai.usage.cache_read.input_tokens', cachedInputTokens)
    span.setAttribute('gen_ai.usage.cache_creation.input_tokens', cacheWriteTokens)
    span.setAttribute('gen_ai.usage.output_tokens', outputTokens)
  })
}

/** What the conventions call the providers of our dialects. */
const PROVIDERS: Readonly<Record<string, string>> = {
  'openai-chat': 'openai',
  'openai-responses': 'openai',
  gemini: 'gcp.gemini',
  bedrock: 'aws.bedrock',
}

/**
 * Runs something that never rejects within a span. Without a tracer provider it only runs, and a tracer that fails changes
 * nothing.
 */
function traced<Result>(
  name: string,
  options: SpanOptions,
  run: () => Promise<Result>,
  describe: (span: Span, result: Result) => void,
): Promise<Result> {
  const span = startSpan(name, options)
  if (span === undefined) return run()
  let running: Promise<Result> | undefined
  const runOnce = () => {
    running ??= run().then((result) => {
      try {
        describe(span, result)
        span.end()
      } catch {}
      return result
    })
    return running
  }
  try {
    // Active while it runs, so that its own spans become children.
    const { context } = openTelemetry()
    return context?.with(context.active().setValue(SPAN_KEY, span), runOnce) ?? runOnce()
  } catch {
    return runOnce()
  }
}

/** Starts a span; undefined when nothing records it. */
function startSpan(name: string, options: SpanOptions): Span | undefined {
  try {
    const span = openTelemetry().trace?.getTracer('toolcrib').startSpan(name, options)
    return span && !/^0*$/.test(span.spanContext().traceId) ? span : undefined
  } catch {
    return undefined
  }
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SPAN_ERROR, message: type })
}

/**
 * What `@opentelemetry/api` 1.x has registered for the whole process, read from where every copy of it looks: a program
 * that traces brings the package, and all others need none.
 */
function openTelemetry(): OpenTelemetry {
  const registered = (globalThis as Record<symbol, unknown>)[Symbol.for('opentelemetry.js.api.1')]
  return (registered as OpenTelemetry | undefined) ?? {}
}

interface OpenTelemetry {
  readonly trace?: {
    getTracer(name: string): { startSpan(name: string, options: SpanOptions, parent?: Context): Span }
  }
  readonly context?: { active(): Context; with<Value>(context: Context, run: () => Value): Value }
}

interface SpanOptions {
  readonly kind?: number
  readonly attributes: Readonly<Record<string, string>>
}

interface Span {
  spanContext(): { readonly traceId: string; readonly spanId: string }
  setAttribute(key: string, value: string | number | readonly string[]): unknown
  setStatus(status: { readonly code: number; readonly message: string }): unknown
  end(): void
}

interface Context {
  setValue(key: symbol, value: unknown): Context
}

/** The key under which a context holds its active span. */
const SPAN_KEY: symbol = Symbol.for('OpenTelemetry Context Key SPAN')

/** The kind of a span that asks another system. */
const SPAN_CLIENT = 2

/** The status code of a span that failed. */
const SPAN_ERROR = 2
