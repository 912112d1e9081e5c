import type { JSONRPCMessage, Transport, TransportSendOptions } from '@modelcontextprotocol/client'
import type { ProgressNote, Schedule } from '@toolcrib/core'
import { isRecord, TooLateError } from '@toolcrib/core/internal'
import type { Authorizer } from './http/authorizer.ts'
import type { MessageGuard } from './message-guard.ts'

/** A transport whose messages are checked by a guard and can be intercepted before the SDK sees them. */
export interface GuardedTransport extends Transport {
  readonly guard: MessageGuard
  /** Why it closed, if known. */
  readonly closedBecause?: string | undefined
  /** What requests wait for, if it is not the server. */
  readonly waitsFor?: string | undefined
  /** Gets the authorization that a refused request needs. */
  readonly authorizer?: Pick<Authorizer, 'run'> | undefined
  /** Receives every message first; the SDK gets only those for which this returns false. */
  intercept?: (message: JSONRPCMessage) => boolean
  send(message: JSONRPCMessage, options?: SendOptions): Promise<void>
}

export interface SendOptions extends TransportSendOptions {
  /** true: the request is upkeep and does not count as use. */
  readonly isUpkeep?: boolean
}

/**
 * Forwards a message, to `intercept` first. The SDK handles notifications a microtask later and responses at once, so
 * responses are delayed by as much; otherwise progress reported right before a response would be lost.
 */
export function handOn(
  message: JSONRPCMessage,
  { intercept, onmessage }: Pick<GuardedTransport, 'intercept' | 'onmessage'>,
): void {
  if (intercept?.(message)) return
  if ('method' in message) onmessage?.(message)
  else queueMicrotask(() => onmessage?.(message))
}

/** Limits of one request. */
export interface RequestOptions {
  /** How long the server may be silent; 0 = no limit. */
  readonly timeoutMs: number
  /** Total time limit, regardless of progress. Default: none. */
  readonly maxTotalMs?: number
  readonly signal?: AbortSignal | undefined
  /** Asks the server to report progress. Each report restarts `timeoutMs`. Exceptions are ignored. */
  readonly onProgress?: ((progress: ProgressNote) => void) | undefined
  /** true: the request is upkeep and does not count as use. */
  readonly isUpkeep?: boolean
  /** Sent with the request if the transport supports headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** The JSON-RPC error that a server returned. */
export class ServerError extends Error {
  /** Always `ServerError`. */
  override readonly name = 'ServerError'
  /** The JSON-RPC code. */
  readonly code: number
  /** What the server sent in addition to code and message. */
  readonly data: unknown

  constructor({ code, message, data }: { code: number; message: string; data?: unknown }) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** The SDK numbers its own requests from zero on the same connection; the ids must not collide. */
const FIRST_ID = 1_000_000_000

/**
 * The requests of one connection. Each resolves with the server's result exactly as parsed, and rejects with the
 * server's own error as a `ServerError`, with a `TooLateError`, with the signal's reason, or with the reason it could
 * not be sent. Progress is reported in order, all of it before the result.
 */
export class Requests {
  /** Added to the `_meta` of every message; the caller's fields take precedence. */
  envelope: Readonly<Record<string, unknown>> | undefined
  readonly #transport: GuardedTransport
  readonly #now: () => number
  readonly #schedule: Schedule
  readonly #pending = new Map<unknown, Pending>()
  #nextId = FIRST_ID

  constructor(
    transport: GuardedTransport,
    time: { readonly now: () => number; readonly schedule: Schedule },
  ) {
    this.#transport = transport
    this.#now = time.now
    this.#schedule = time.schedule
  }

  send(method: string, params: Params | undefined, options: RequestOptions): Promise<Params> {
    const { signal, onProgress, isUpkeep = false, headers } = options
    if (signal?.aborted) return Promise.reject(signal.reason)
    const id = this.#nextId++
    return new Promise((resolve, reject) => {
      const pending: Pending = { options, resolve, reject, startedAt: this.#now(), lastWordAt: this.#now() }
      this.#pending.set(id, pending)
      if (signal) {
        pending.onAbort = () => this.#cancel(id, signal.reason)
        signal.addEventListener('abort', pending.onAbort, { once: true })
      }
      this.#watch(id, pending)
      const stamped = this.#stamp(params, onProgress && { progressToken: id })
      const message = { jsonrpc: '2.0' as const, id, method, ...(stamped ? { params: stamped } : {}) }
      // A modern HTTP server treats a closed request stream as a cancellation.
      if (this.envelope && this.#transport.hasPerRequestStream) pending.stream = new AbortController()
      const sent = this.#transport.send(message, {
        isUpkeep,
        ...(headers ? { headers } : {}),
        ...(pending.stream ? { requestSignal: pending.stream.signal } : {}),
      })
      sent.catch((error: unknown) => this.#settle(id)?.reject(error))
    })
  }

  async notify(method: string, params: Params | undefined): Promise<void> {
    const stamped = this.#stamp(params)
    await this.#transport.send({ jsonrpc: '2.0', method, ...(stamped ? { params: stamped } : {}) })
  }

  /** Handles a response to one of these requests, or its progress; returns false for any other message. */
  take(message: JSONRPCMessage): boolean {
    if ('method' in message)
      return message.method === 'notifications/progress' && this.#progressed(message.params)
    const pending = this.#settle(message.id)
    if (!pending) return false
    if ('error' in message) pending.reject(new ServerError(message.error))
    else pending.resolve(message.result)
    return true
  }

  /** Rejects all pending requests; late responses are dropped. */
  failAll(error: Error): void {
    for (const id of [...this.#pending.keys()]) {
      this.#transport.guard.forget(id)
      this.#settle(id)?.reject(error)
    }
  }

  #progressed(params: unknown): boolean {
    const { progressToken, progress, total, message } = isRecord(params) ? params : {}
    const pending = this.#pending.get(progressToken)
    if (!pending) return false
    pending.lastWordAt = this.#now()
    if (typeof progress !== 'number') return true
    try {
      pending.options.onProgress?.({
        progress,
        ...(typeof total === 'number' ? { total } : {}),
        ...(typeof message === 'string' ? { message } : {}),
      })
    } catch {
      // A failing progress listener must not break the connection.
    }
    return true
  }

  #stamp(params: Params | undefined, meta?: Params): Params | undefined {
    if (!this.envelope && !meta) return params
    const own = isRecord(params?._meta) ? params._meta : {}
    return { ...params, _meta: { ...this.envelope, ...own, ...meta } }
  }

  // One timer per request: it checks when the last message arrived, instead of being reset by each report.
  #watch(id: number, pending: Pending): void {
    const { timeoutMs, maxTotalMs = 0 } = pending.options
    const ends = [
      ...(timeoutMs > 0 ? [{ at: pending.lastWordAt + timeoutMs, afterMs: timeoutMs }] : []),
      ...(maxTotalMs > 0 ? [{ at: pending.startedAt + maxTotalMs, afterMs: maxTotalMs }] : []),
    ]
    const [first, second] = ends
    const end = second && first && second.at < first.at ? second : first
    if (!end) return
    const restMs = end.at - this.#now()
    if (restMs <= 0) {
      const { waitsFor } = this.#transport
      const late = new TooLateError(`no response within ${end.afterMs} ms`, end.afterMs)
      this.#cancel(id, waitsFor === undefined ? late : new Error(waitsFor, { cause: late }))
    } else pending.stopTimer = this.#schedule(restMs, () => this.#watch(id, pending))
  }

  #cancel(id: number, reason: unknown): void {
    const pending = this.#settle(id)
    if (!pending) return
    this.#transport.guard.forget(id)
    if (pending.stream) pending.stream.abort()
    else this.notify('notifications/cancelled', { requestId: id, reason: String(reason) }).catch(ignore)
    pending.reject(reason)
  }

  #settle(id: unknown): Pending | undefined {
    const pending = this.#pending.get(id)
    if (!pending) return undefined
    this.#pending.delete(id)
    pending.stopTimer?.()
    if (pending.onAbort) pending.options.signal?.removeEventListener('abort', pending.onAbort)
    return pending
  }
}

type Params = Readonly<Record<string, unknown>>

interface Pending {
  readonly options: RequestOptions
  readonly resolve: (result: Params) => void
  readonly reject: (reason: unknown) => void
  readonly startedAt: number
  lastWordAt: number
  stopTimer?: () => void
  onAbort?: () => void
  stream?: AbortController
}

function ignore(): void {}
