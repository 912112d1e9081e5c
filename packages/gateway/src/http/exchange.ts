import { hasMoreKeys } from '@toolcrib/core/internal'
import type { Schedule } from '@toolcrib/mcp'
import type { Limits } from '../gateway-options.ts'
import { PARSE_ERROR, REFUSED } from '../json-rpc.ts'

export type HttpHeaders = Readonly<Record<string, string>>

/** One HTTP request and its response, the same for `fetch` handlers and for `node:http`. */
export interface Exchange {
  readonly method: string
  /** The path of the URL, without its query. */
  readonly path: string
  /** Aborted when the client goes away before the response is complete. */
  readonly signal: AbortSignal
  query(name: string): string | undefined
  header(name: string): string | undefined
  readBody(limits: BodyLimits): Promise<Body>
  respond(status: number, headers: HttpHeaders, body?: string): void
  /** Responds with server-sent events. */
  openStream(headers: HttpHeaders): EventStream
  /** The request without its body, for handlers that take fetch objects. */
  toRequest(): Request
  respondWith(response: Response): void
  /** Closes the connection without a response. */
  cut(): void
}

/** A response that is sent in parts. */
export interface EventStream {
  /** False once it has ended or the client has disconnected. */
  readonly isOpen: boolean
  /** Sends text. If too much is unread already, the client is disconnected instead. */
  send(text: string): void
  end(): void
  onClose(listener: () => void): void
}

export interface BodyLimits extends Pick<Limits, 'maxBodyBytes' | 'maxBodyKeys' | 'bodyTimeoutMs'> {
  readonly schedule: Schedule
}

/** The outcome of reading a body. */
export type Body =
  | { readonly kind: 'json'; readonly value: unknown; readonly characters: number }
  | UnreadBody

interface UnreadBody {
  readonly kind: 'too-large' | 'too-many-keys' | 'too-slow' | 'invalid'
}

/** How many bytes a client may leave unread on a stream before it is disconnected. */
export const MAX_UNREAD_BYTES = 8 * 1024 * 1024

/** Parses a body, unless it has too many keys or items: each of them costs far more than a character of text. */
export function parseBody(text: string, { maxBodyKeys }: Pick<Limits, 'maxBodyKeys'>): Body {
  if (maxBodyKeys > 0 && hasMoreKeys(text, maxBodyKeys)) return { kind: 'too-many-keys' }
  try {
    return { kind: 'json', value: JSON.parse(text), characters: text.length }
  } catch {
    return { kind: 'invalid' }
  }
}

const BODY_FAULTS = {
  'too-large': {
    status: 413,
    code: REFUSED,
    message: "the request is too large; send less, or raise the gateway's limit max_body_bytes",
  },
  'too-many-keys': {
    status: 413,
    code: REFUSED,
    message:
      "the request has too many keys, objects, lists or list items; split it into several, or raise the gateway's limit max_body_keys",
  },
  'too-slow': {
    status: 408,
    code: REFUSED,
    message: "the request took longer to arrive than the gateway's limit body_timeout_ms",
  },
  invalid: { status: 400, code: PARSE_ERROR, message: 'Parse error' },
}

/** Responds to a body that could not be read. */
export function refuseBody(exchange: Exchange, { kind }: UnreadBody): void {
  const { status, ...error } = BODY_FAULTS[kind]
  refuseRpc(exchange, status, error)
}

/** Refuses a request outside of JSON-RPC. */
export function refuse(exchange: Exchange, status: number, error: string, headers: HttpHeaders = {}): void {
  exchange.respond(status, { 'content-type': 'application/json', ...headers }, JSON.stringify({ error }))
}

/** Refuses a request with a JSON-RPC error before it is dispatched. */
export function refuseRpc(
  exchange: Exchange,
  status: number,
  { id = null, ...error }: RpcRefusal,
  headers: HttpHeaders = {},
): void {
  const body = JSON.stringify({ jsonrpc: '2.0', id, error })
  exchange.respond(status, { 'content-type': 'application/json', ...headers }, body)
}

export interface RpcRefusal {
  readonly code: number
  readonly message: string
  readonly data?: unknown
  readonly id?: unknown
}
