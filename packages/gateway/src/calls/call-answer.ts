import type { ToolResult } from '@toolcrib/core'
import { textOf } from '@toolcrib/core/internal'
import { ServerError } from '@toolcrib/mcp'
import { isJson, type Json, RpcError } from '../json-rpc.ts'

/**
 * A server's response or error as the `raw` of a result. The rest of the result is the summary that the registry's hooks,
 * events and reducers see.
 */
class CallAnswer {
  readonly #response: Json | ServerError | RpcError
  readonly #summary: ToolResult

  constructor(response: Json | ServerError | RpcError, summary: ToolResult) {
    this.#response = response
    this.#summary = summary
  }

  get resultType(): unknown {
    return isJson(this.#response) ? this.#response.resultType : undefined
  }

  /** The unchanged response, unless the host's hooks, reducers or masking changed its summary. Throws the error. */
  of(result: ToolResult): Json {
    if (textOf(result) !== textOf(this.#summary) || result.structured !== this.#summary.structured)
      return toCallResult(result)
    if (this.#response instanceof ServerError || this.#response instanceof RpcError)
      throw RpcError.from(this.#response)
    return this.#response
  }
}

/** The result of a call that its server answered. */
export function resultOf(response: Json): ToolResult {
  const summary = summaryOf(response)
  return { ...summary, raw: new CallAnswer(response, summary) }
}

/** The result of a call that its server answered with an error. */
export function failureOf(error: ServerError | RpcError): ToolResult {
  const summary: ToolResult = { ok: false, code: 'execution_failed', error: error.message }
  return { ...summary, raw: new CallAnswer(error, summary) }
}

/** The result of `tools/call`: what the server answered, if it did and nothing changed that. */
export function answerOf(result: ToolResult): Json {
  return result.raw instanceof CallAnswer ? result.raw.of(result) : toCallResult(result)
}

/** What the server answered with before the call is over: a question, or a task. */
export function unendedAs({ raw }: ToolResult): 'input_required' | 'task' | undefined {
  const { resultType } = raw instanceof CallAnswer ? raw : {}
  return resultType === 'input_required' || resultType === 'task' ? resultType : undefined
}

/** The part of a response that the registry knows. */
function summaryOf(response: Json): ToolResult {
  const blocks = Array.isArray(response.content) ? response.content : []
  const texts = blocks.filter(isJson).flatMap(({ type, text }) => (type === 'text' ? [String(text)] : []))
  const text = texts.join('\n')
  if (response.isError === true) return { ok: false, code: 'execution_failed', error: text }
  const { structuredContent: structured } = response
  return { ok: true, value: text, ...(structured === undefined ? {} : { structured }) }
}

function toCallResult(result: ToolResult): Json {
  const meta = result.meta === undefined ? {} : { _meta: result.meta }
  const structured = isJson(result.structured) ? { structuredContent: result.structured } : {}
  if (!result.ok) return { ...failed(result.error), ...meta }
  return { content: result.content ?? [{ type: 'text', text: result.value }], ...structured, ...meta }
}

export function failed(text: string): Json {
  return { content: [{ type: 'text', text }], isError: true }
}
