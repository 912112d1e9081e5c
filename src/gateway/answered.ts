import type { ToolResult } from 'toolcrib'
import type { ServerError } from 'toolcrib/mcp'
import { isJson, type Json, RpcError } from './json-rpc.ts'

/** A server's response, and the summary of it that the registry's hooks, events and reducers see. */
export class Answered {
  readonly summary: ToolResult
  readonly #kept: { readonly raw: Json } | { readonly error: ServerError | RpcError }

  constructor(
    kept: { readonly raw: Json } | { readonly error: ServerError | RpcError },
    summary: ToolResult,
  ) {
    this.#kept = kept
    this.summary = summary
  }

  /** The unchanged response, unless the host's hooks, reducers or masking changed its summary. */
  answer(result: ToolResult): Json {
    if (textOf(result) !== textOf(this.summary) || result.structured !== this.summary.structured)
      return toCallResult(result)
    if ('error' in this.#kept) throw RpcError.from(this.#kept.error)
    return this.#kept.raw
  }
}

/** The part of a result that the registry knows. */
export function summaryOf(raw: Json): ToolResult {
  const blocks = Array.isArray(raw.content) ? raw.content : []
  const texts = blocks.filter(isJson).flatMap(({ type, text }) => (type === 'text' ? [String(text)] : []))
  const text = texts.join('\n')
  return raw.isError === true
    ? { ok: false, code: 'execution_failed', error: text }
    : {
        ok: true,
        value: text,
        ...(raw.structuredContent === undefined ? {} : { structured: raw.structuredContent }),
      }
}

/** Converts a registry result to the result of `tools/call`. */
export function toCallResult(result: ToolResult): Json {
  const meta = result.meta === undefined ? {} : { _meta: result.meta }
  const structured = isJson(result.structured) ? { structuredContent: result.structured } : {}
  if (!result.ok) return { ...failed(result.error), ...meta }
  return { content: result.content ?? [{ type: 'text', text: result.value }], ...structured, ...meta }
}

export function failed(text: string): Json {
  return { content: [{ type: 'text', text }], isError: true }
}

export function textOf(result: ToolResult): string {
  return result.ok ? result.value : result.error
}
