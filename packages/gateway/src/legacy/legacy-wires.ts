import type { AskLimits, RequestWire, StandingRequestWire } from '../asks/client-line.ts'
import { eventOf } from '../http/event-streams.ts'
import type { EventStream } from '../http/exchange.ts'
import type { Reply } from '../http/reply.ts'
import { INTERNAL_ERROR, isJson, type Json, RpcError } from '../json-rpc.ts'
import type { ClientAsks } from './client-asks.ts'

/** Reaches the client over the reply to one of its requests. */
export class PostWire implements RequestWire {
  readonly signal: AbortSignal
  readonly meta: Json
  readonly #reply: Reply
  readonly #asks: ClientAsks

  constructor(
    reply: Reply,
    asks: ClientAsks,
    { signal, params }: { readonly signal: AbortSignal; readonly params: Json },
  ) {
    this.signal = signal
    this.meta = isJson(params._meta) ? params._meta : {}
    this.#reply = reply
    this.#asks = asks
  }

  notify(method: string, params: Json): void {
    this.#reply.send({ jsonrpc: '2.0', method, params })
  }

  ask(method: string, params: Json | undefined, limits: AskLimits): Promise<Json> {
    if (!this.#reply.isOpen) return Promise.reject(gone())
    return this.#asks.ask((message) => this.#reply.send(message), method, params, limits)
  }

  async flushed(): Promise<void> {}
}

/** Reaches the client between its requests, over its open stream, if there is one. */
export class StandingWire implements StandingRequestWire {
  readonly signal = new AbortController().signal
  readonly meta = {}
  readonly #asks: ClientAsks
  readonly #events: () => EventStream | undefined

  constructor(asks: ClientAsks, events: () => EventStream | undefined) {
    this.#asks = asks
    this.#events = events
  }

  get isOpen(): boolean {
    return this.#events()?.isOpen === true
  }

  notify(method: string, params: Json): void {
    this.#events()?.send(eventOf({ jsonrpc: '2.0', method, params }))
  }

  ask(method: string, params: Json | undefined, limits: AskLimits): Promise<Json> {
    const events = this.#events()
    if (!events?.isOpen) return Promise.reject(gone())
    return this.#asks.ask((message) => events.send(eventOf(message)), method, params, limits)
  }

  async flushed(): Promise<void> {}
}

function gone(): RpcError {
  return new RpcError(INTERNAL_ERROR, 'the client cannot be reached')
}
