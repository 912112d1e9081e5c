import { describeError } from '../../errors.ts'
import { isRecord } from '../../json.ts'
import { withoutHidden } from '../../names.ts'
import type { CheckedOutput, SchemaCache } from '../../schema/check-arguments.ts'
import { isTooLate, TooLateError } from '../../time.ts'
import type { ContentBlock, JsonSchema, ProgressNote, ToolContext, ToolResult } from '../../tool.ts'
import type { Connection } from '../connection/connection.ts'
import { describeHttpError, isHttpFailure } from '../connection/http/describe-http-error.ts'
import { ServerError } from '../connection/requests.ts'
import type { ClientOptions } from '../connection/server-messages.ts'
import type { ServerState } from './managed-server.ts'
import type { ServerCatalogue } from './server-catalogue.ts'
import type { ServerContext } from './server-context.ts'
import type { ServerLink } from './server-link.ts'
import type { ServerTool } from './server-tool.ts'

export const TIMEOUT_MS = 60_000
/** A server that keeps reporting progress gets this multiple of the timeout. */
export const PROGRESS_FACTOR = 10

/** One call of a server's tool. */
interface ServerCall {
  readonly tool: ServerTool
  readonly input: unknown
  readonly ctx: Pick<ToolContext, 'toolCallId' | 'signal' | 'onProgress'>
}

/** The calls of one server's tools. */
export class ServerCalls {
  readonly #state: ServerState
  readonly #catalogue: ServerCatalogue
  readonly #link: ServerLink
  readonly #context: ServerContext
  readonly #timeoutMs: number
  /** Loaded with the first result to check. */
  #checker: typeof import('../../schema/check-arguments.ts') | undefined
  #outputSchemas: SchemaCache | undefined

  constructor(state: ServerState, catalogue: ServerCatalogue, link: ServerLink, context: ServerContext) {
    this.#state = state
    this.#catalogue = catalogue
    this.#link = link
    this.#context = context
    this.#timeoutMs = state.config.timeoutMs ?? TIMEOUT_MS
  }

  /** Runs one call, starting the server if necessary. Never rejects. */
  async call(tool: ServerTool, input: unknown, ctx: ToolContext): Promise<ToolResult> {
    // Tools found under an earlier config stay registered until the new list is known.
    if (!this.#catalogue.takes(tool.name))
      return unavailable(
        `calling "${tool.name}" of server "${this.#state.name}" is not permitted: its config excludes it`,
      )
    const release = this.#link.hold()
    try {
      return await this.#callOnce({ tool, input, ctx })
    } finally {
      release()
    }
  }

  async #callOnce(call: ServerCall, { isAgain = false } = {}): Promise<ToolResult> {
    let connection: Connection
    try {
      connection = await this.#link.connected()
    } catch (error) {
      const reason = `server "${this.#state.name}" is disconnected: ${describeError(error)}`
      return unavailable(`${reason}. Use another tool, or try again later`)
    }
    try {
      const refusal = await this.#catalogue.refusalOf(call.tool.name, connection)
      if (refusal !== undefined) return unavailable(refusal)
      return await this.#send(connection, call)
    } catch (error) {
      // A server that no longer knows the session cannot have processed the call.
      const isSessionLost = isHttpFailure(error) && error.status === 404
      if (!isSessionLost || isAgain) return this.#failed(error, call, connection)
      await this.#link.drop(connection)
      return this.#callOnce(call, { isAgain: true })
    }
  }

  async #send(connection: Connection, { tool, input, ctx }: ServerCall): Promise<ToolResult> {
    const place = { tool: tool.name, toolCallId: ctx.toolCallId }
    const onProgress = (note: ProgressNote) => {
      const { message } = note
      const cleaned = message === undefined ? note : { ...note, message: withoutHidden(message) }
      this.#state.emit({ type: 'call-progress', ...place, ...cleaned })
      ctx.onProgress?.(cleaned)
    }
    const options = {
      timeoutMs: this.#timeoutMs,
      maxTotalMs: this.#timeoutMs * PROGRESS_FACTOR,
      signal: ctx.signal,
      onProgress,
      inputSchema: tool.inputSchema,
    }
    const params = { name: tool.name, arguments: isRecord(input) ? input : {} }
    const first = await connection.callTool(params, options)
    const answer = await answerInputs(first, {
      server: this.#state.name,
      client: this.#context.client,
      signal: ctx.signal,
      retry: (answers) => connection.callTool({ ...params, ...answers }, options),
    })
    const { outputSchema } = tool
    const check = outputSchema === undefined ? undefined : await this.#checkerOf(outputSchema)
    const result = toToolResult(answer, (structured) =>
      check === undefined ? FINE : this.#describeOutput(check(structured), place),
    )
    if (outputSchema !== undefined && result.ok && result.structured === undefined)
      this.#state.emit({ type: 'output-mismatch', ...place, faults: NOTHING_STRUCTURED })
    const isTrusted = this.#state.config.trust ?? false
    if (result.meta) this.#state.emit({ type: 'result-meta', ...place, meta: result.meta, isTrusted })
    return result
  }

  /** Validates structured content against the declared schema, as far as that is possible in bounded time. */
  async #checkerOf(outputSchema: JsonSchema): Promise<(structured: unknown) => CheckedOutput> {
    // Kept here: importing a loaded module again still takes time.
    this.#checker ??= await import('../../schema/check-arguments.ts')
    const { checkOutput, SchemaCache } = this.#checker
    this.#outputSchemas ??= new SchemaCache()
    const schema = this.#outputSchemas.compile(outputSchema, () => {})
    return (structured) => checkOutput(schema, structured)
  }

  /** Reports what is wrong with structured content, and describes it for the model. */
  #describeOutput(
    checked: CheckedOutput,
    place: { readonly tool: string; readonly toolCallId: string },
  ): OutputCheck {
    if (checked.kind === 'invalid') {
      this.#state.emit({ type: 'output-mismatch', ...place, faults: checked.error })
      return { kind: 'faulty', faults: checked.error }
    }
    if (checked.kind === 'unchecked')
      this.#state.emit({ type: 'output-unchecked', ...place, reason: checked.reason })
    return FINE
  }

  #failed(error: unknown, call: ServerCall, connection: Connection): ToolResult {
    const closedBecause = connection.isClosed ? connection.closedBecause : undefined
    const isSilent = closedBecause === undefined && !(error instanceof ServerError)
    if (isSilent) this.#link.doubt(connection)
    const { code, reason } = this.#describeFailure(error, call, closedBecause)
    return { ok: false, code, error: this.#state.presentable(reason) }
  }

  /** The error that the model reads when a call got no response. */
  #describeFailure(
    error: unknown,
    { tool, ctx }: ServerCall,
    closedBecause: string | undefined,
  ): { readonly code: string; readonly reason: string } {
    const { name: server } = this.#state
    if (ctx.signal.aborted) return { code: 'cancelled', reason: `the call of "${tool.name}" was cancelled` }
    if (isTooLate(error)) {
      const waitedMs = (error instanceof TooLateError ? error.afterMs : undefined) ?? this.#timeoutMs
      const reason = `"${tool.name}" of server "${server}" did not respond within ${waitedMs} ms; request less data, or try again later`
      return { code: 'timeout', reason }
    }
    if (closedBecause !== undefined) {
      const reason = `server "${server}" disconnected during the call: ${closedBecause}. "${tool.name}" may or may not have taken effect; check before calling it again`
      return { code: 'execution_failed', reason }
    }
    if (error instanceof ServerError) {
      const code = error.code === INVALID_PARAMS ? 'input_invalid' : 'execution_failed'
      return { code, reason: `server "${server}" did not respond to "${tool.name}": ${describeError(error)}` }
    }
    const cause = isHttpFailure(error) ? describeHttpError(error) : describeError(error)
    return {
      code: 'execution_failed',
      reason: `the call of "${tool.name}" on server "${server}" failed: ${cause}`,
    }
  }
}

const INVALID_PARAMS = -32_602
const NOTHING_STRUCTURED = 'structured content is missing, but its output schema requires it'

function unavailable(error: string): ToolResult {
  return { ok: false, code: 'not_available', error }
}

type Result = Readonly<Record<string, unknown>>

const MAX_ROUNDS = 10

/**
 * Returns the final result of a call. A modern server that needs input from the host first returns `input_required`:
 * `onRequest` answers each question, and the call is sent again with the answers. Throws what `onRequest` throws, and
 * when there is no `onRequest`.
 */
async function answerInputs(
  first: Result,
  call: {
    readonly server: string
    readonly client: ClientOptions
    readonly signal: AbortSignal
    readonly retry: (answers: Result) => Promise<Result>
  },
): Promise<Result> {
  const { server, client, signal, retry } = call
  let result = first
  for (let round = 0; result.resultType === 'input_required'; round++) {
    const { onRequest } = client
    if (!onRequest) throw new Error('it needs input from the user, and the host has no handler for it')
    if (round === MAX_ROUNDS) throw new Error(`it asked for input ${MAX_ROUNDS} times and still needs more`)
    const questions = Object.entries(isRecord(result.inputRequests) ? result.inputRequests : {})
    const answers = await Promise.all(
      questions.map(async ([key, question]) => {
        const { method, params } = isRecord(question) ? question : {}
        const asked = { server, method: String(method), signal, ...(isRecord(params) ? { params } : {}) }
        return [key, await onRequest(asked)] as const
      }),
    )
    const { requestState } = result
    const state = requestState === undefined ? {} : { requestState }
    result = await retry({ inputResponses: Object.fromEntries(answers), ...state })
  }
  return result
}

/**
 * The outcome of validating structured content against its schema. Content that could not be checked counts as valid.
 */
export type OutputCheck = { readonly kind: 'fine' } | { readonly kind: 'faulty'; readonly faults: string }

/**
 * Converts a server's response to a tool result: `value` is its text, `content` its blocks, `structured` its
 * structured content, `meta` its `_meta`, all unchanged except that hidden characters are removed before they reach
 * the model. A response with `isError` becomes a failure with that text.
 */
export function toToolResult(answer: unknown, checkOutput: (structured: unknown) => OutputCheck): ToolResult {
  if (!isRecord(answer)) return failed('its response is not a tool result')
  const blocks = Array.isArray(answer.content) ? answer.content.filter(isBlock).map(cleanBlock) : []
  const meta = metaOf(answer)
  // The first protocol revision called the whole result `toolResult`.
  const structured = cleanData(answer.structuredContent ?? answer.toolResult)
  const text = textOf(blocks, structured)
  if (answer.isError === true) return { ...toFailure(text, blocks, structured), ...meta }
  const check = structured === undefined ? FINE : checkOutput(structured)
  const note =
    check.kind === 'fine' ? undefined : `[structured content does not match its schema: ${check.faults}]`
  const content = note === undefined ? blocks : [...blocks, { type: 'text', text: note } as const]
  return {
    ok: true,
    value: [text, note].filter((part) => part !== undefined && part !== '').join('\n'),
    ...(content.length > 0 ? { content } : {}),
    ...(structured === undefined ? {} : { structured }),
    ...meta,
  }
}

const FINE: OutputCheck = { kind: 'fine' }

/** The protocol's own mark of the server: the same on every result, and already known. */
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'

function metaOf({ _meta }: Record<string, unknown>): Pick<ToolResult, 'meta'> {
  if (!isRecord(_meta)) return {}
  const { [SERVER_INFO]: _, ...rest } = _meta
  if (Object.keys(rest).length === 0) return {}
  const meta = cleanData(rest)
  return isRecord(meta) ? { meta } : {}
}

function toFailure(text: string, blocks: readonly ContentBlock[], structured: unknown): ToolResult {
  const kept = blocks.every(isPlainText) ? structured : withBlocks(structured, blocks)
  return {
    ...failed(text || 'it failed without a message'),
    ...(kept === undefined ? {} : { structured: kept }),
  }
}

/** True for a block that loses nothing when only its text is kept. */
function isPlainText(block: ContentBlock): boolean {
  return block.type === 'text' && Object.keys(block).every((key) => key === 'type' || key === 'text')
}

/** A failure has no field for blocks, so they are kept beside its structured content. */
function withBlocks(structured: unknown, content: readonly ContentBlock[]): Record<string, unknown> {
  if (structured === undefined) return { content }
  return isRecord(structured) && !('content' in structured)
    ? { ...structured, content }
    : { structuredContent: structured, content }
}

function failed(error: string): ToolResult {
  return { ok: false, code: 'execution_failed', error }
}

function isBlock(block: unknown): block is ContentBlock {
  return isRecord(block) && typeof block.type === 'string'
}

/** Bytes are left unchanged: Base64 cannot hide characters, and there may be megabytes of it. */
const BYTES: ReadonlySet<string> = new Set(['data', 'blob'])

function cleanBlock(block: ContentBlock): ContentBlock {
  const fields = Object.entries(block).map(([key, value]) => {
    if (BYTES.has(key)) return [key, value]
    if (key === 'resource' && isRecord(value) && 'blob' in value) {
      const { blob, ...rest } = value
      return [key, { ...(cleanData(rest) as object), blob }]
    }
    return [key, cleanData(value)]
  })
  return Object.fromEntries(fields)
}

/** Removes hidden characters from strings and keys. */
function cleanData(data: unknown): unknown {
  if (typeof data === 'string') return withoutHidden(data)
  if (Array.isArray(data)) return data.map(cleanData)
  if (!isRecord(data)) return data
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [withoutHidden(key), cleanData(value)]),
  )
}

/**
 * The text for the model: text blocks and text resources; otherwise the structured content; otherwise a summary of
 * the other blocks.
 */
function textOf(blocks: readonly ContentBlock[], structured: unknown): string {
  const texts = blocks.map(blockText).filter((text) => text !== undefined)
  if (texts.length > 0) return texts.join('\n')
  if (structured !== undefined) return JSON.stringify(structured)
  return blocks.map(describeBlock).join('\n')
}

function blockText(block: ContentBlock): string | undefined {
  if (block.type === 'text') return String(block.text ?? '')
  if (block.type === 'resource' && typeof block.resource?.text === 'string') return block.resource.text
  return undefined
}

function describeBlock(block: ContentBlock): string {
  if (block.type === 'resource_link') return `[${block.name}: ${block.uri}]`
  if (block.type === 'resource') return `[resource ${block.resource?.uri}]`
  const { type, mimeType } = block as { type: string; mimeType?: unknown }
  return typeof mimeType === 'string' ? `[${type}, ${mimeType}]` : `[${type}]`
}
