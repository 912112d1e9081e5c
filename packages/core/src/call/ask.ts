import { canonicalJson, copyJson } from '../json.ts'
import type { ToolAnnotations, ToolResult, ToolSource } from '../tool.ts'

/** A call that a person is asked about. It was validated, and nothing of it has run. */
export interface AskedCall {
  readonly toolCallId: string
  /** The tool's registered name, even if it was called through `call_tool`. */
  readonly tool: string
  readonly title?: string
  readonly source: ToolSource
  readonly annotations?: ToolAnnotations
  /** The tools that a saved script calls: whoever allows the call allows theirs. */
  readonly uses?: readonly string[]
  readonly args: unknown
  /** SHA-256 of the arguments in hexadecimal digits, whatever the order of their keys. */
  readonly digest: string
}

/** The calls of one batch that need a person. */
export interface AskRequest<Host = unknown> {
  readonly calls: readonly AskedCall[]
  readonly sessionId: string
  /** The host's value, as in `ToolContext`. */
  readonly context: Host
  /** Fires when the batch is cancelled. */
  readonly signal: AbortSignal
}

/**
 * A person's answer. once: this call; session: calls of this tool in this session, until an hour after the last one;
 * always: calls of this tool in this registry, while its definition stays the same; deny: the call does not run.
 * `result` answers the call in place of the tool.
 */
export type AskAnswer = 'once' | 'session' | 'always' | 'deny' | { readonly result: ToolResult }

/** An answer that lets a call run. */
export type Grant = Extract<AskAnswer, 'once' | 'session' | 'always'>

type Awaitable<Value> = Value | Promise<Value>

/**
 * Asks a person: one answer for all calls of the request, or a list with one for each. A handler that throws or returns
 * anything else denies them.
 */
// A method's parameter may be narrower, as for tools and hooks: `({ context }: AskRequest<MyContext>) => …`.
export type AskHandler = {
  ask(request: AskRequest): Awaitable<AskAnswer | readonly AskAnswer[]>
}['ask']

/** SHA-256 of arguments in hexadecimal digits, whatever the order of their keys. */
export async function digestOf(args: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(canonicalJson(copyJson(args)))
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
