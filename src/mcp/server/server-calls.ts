import { describeError } from '../../errors.ts'
import { isRecord } from '../../json.ts'
import { withoutHidden } from '../../names.ts'
import { checkOutput, SchemaCache } from '../../schema/check-arguments.ts'
import type { ProgressNote, ToolContext, ToolResult } from '../../tool.ts'
import type { Connection } from '../connection/connection.ts'
import { isTooLate, TooLateError } from '../connection/deadline.ts'
import { describeHttpError, isHttpFailure } from '../connection/http/describe-http-error.ts'
import { ServerError } from '../connection/requests.ts'
import { answerInputs } from './answer-inputs.ts'
import type { ServerCatalogue } from './server-catalogue.ts'
import type { ServerContext } from './server-context.ts'
import type { ServerLink } from './server-link.ts'
import type { ServerState } from './server-state.ts'
import type { ServerTool } from './server-tool.ts'
import { type OutputCheck, toToolResult } from './to-tool-result.ts'

export const TIMEOUT_MS = 60_000
/** A server that keeps reporting progress gets this many times as long. */
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
  readonly #outputSchemas = new SchemaCache()

  constructor(state: ServerState, catalogue: ServerCatalogue, link: ServerLink, context: ServerContext) {
    this.#state = state
    this.#catalogue = catalogue
    this.#link = link
    this.#context = context
    this.#timeoutMs = state.config.timeoutMs ?? TIMEOUT_MS
  }

  /** Runs one call, starting the server if need be. Never rejects. */
  async call(tool: ServerTool, input: unknown, ctx: ToolContext): Promise<ToolResult> {
    // Tools found under another config stay registered until this one's are known.
    if (!this.#catalogue.takes(tool.name))
      return unavailable(
        `calling "${tool.name}" of server "${this.#state.name}" is not permitted: its config leaves it out`,
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
      return unavailable(`${reason}. Use another tool, or try later`)
    }
    try {
      const refusal = await this.#catalogue.refusalOf(call.tool.name, connection)
      if (refusal !== undefined) return unavailable(refusal)
      return await this.#send(connection, call)
    } catch (error) {
      // A server that no longer knows the session cannot have looked at the call.
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
    const result = toToolResult(answer, (structured) => this.#checkOutput(tool, structured, place))
    if (tool.outputSchema !== undefined && result.ok && result.structured === undefined)
      this.#state.emit({ type: 'output-mismatch', ...place, faults: NOTHING_STRUCTURED })
    const isTrusted = this.#state.config.trust ?? false
    if (result.meta) this.#state.emit({ type: 'result-meta', ...place, meta: result.meta, isTrusted })
    return result
  }

  /** Compares structured content with the schema that the server declared, as far as that can be done in bounded time. */
  #checkOutput(
    { outputSchema }: ServerTool,
    structured: unknown,
    place: { readonly tool: string; readonly toolCallId: string },
  ): OutputCheck {
    if (outputSchema === undefined) return { kind: 'fine' }
    const schema = this.#outputSchemas.compile(outputSchema, () => {})
    const checked = checkOutput(schema, structured)
    if (checked.kind === 'invalid') {
      this.#state.emit({ type: 'output-mismatch', ...place, faults: checked.error })
      return { kind: 'faulty', faults: checked.error }
    }
    if (checked.kind === 'unchecked')
      this.#state.emit({ type: 'output-unchecked', ...place, reason: checked.reason })
    return { kind: 'fine' }
  }

  #failed(error: unknown, call: ServerCall, connection: Connection): ToolResult {
    const closedBecause = connection.isClosed ? connection.closedBecause : undefined
    const isSilent = closedBecause === undefined && !(error instanceof ServerError)
    if (isSilent) this.#link.doubt(connection)
    const { code, reason } = this.#describeFailure(error, call, closedBecause)
    return { ok: false, code, error: this.#state.presentable(reason) }
  }

  /** What the model reads when a call got no answer. */
  #describeFailure(
    error: unknown,
    { tool, ctx }: ServerCall,
    closedBecause: string | undefined,
  ): { readonly code: string; readonly reason: string } {
    const { name: server } = this.#state
    if (ctx.signal.aborted) return { code: 'cancelled', reason: `the call of "${tool.name}" was cancelled` }
    if (isTooLate(error)) {
      const waitedMs = (error instanceof TooLateError ? error.afterMs : undefined) ?? this.#timeoutMs
      const reason = `"${tool.name}" of server "${server}" did not answer within ${waitedMs} ms; ask it for less, or try later`
      return { code: 'timeout', reason }
    }
    if (closedBecause !== undefined) {
      const reason = `server "${server}" went away during the call: ${closedBecause}. Whether "${tool.name}" took effect is not known; check before calling it again`
      return { code: 'execution_failed', reason }
    }
    if (error instanceof ServerError) {
      const code = error.code === INVALID_PARAMS ? 'input_invalid' : 'execution_failed'
      return { code, reason: `server "${server}" did not answer "${tool.name}": ${describeError(error)}` }
    }
    const cause = isHttpFailure(error) ? describeHttpError(error) : describeError(error)
    return {
      code: 'execution_failed',
      reason: `the call of "${tool.name}" on server "${server}" failed: ${cause}`,
    }
  }
}

const INVALID_PARAMS = -32_602
const NOTHING_STRUCTURED = 'there is no structured content, though its output schema promises some'

function unavailable(error: string): ToolResult {
  return { ok: false, code: 'not_available', error }
}
