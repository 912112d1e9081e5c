import { setTimeout as sleep } from 'node:timers/promises'
import {
  type JSONRPCMessage,
  type RequestId,
  SseError,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
import { MessageGuard, type Verdict } from '../message-guard.ts'
import { type GuardedTransport, handOn, type SendOptions } from '../requests.ts'
import type { Authorizer } from './authorizer.ts'

/** Wraps another transport with a guard between it and the protocol code. */
export class HttpTransport implements GuardedTransport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  intercept?: (message: JSONRPCMessage) => boolean
  /** Sends a refused request again once it is authorized; set when the server is connected. */
  authorizer: Authorizer | undefined
  readonly guard = new MessageGuard()
  readonly #inner: Transport
  readonly #onWarning: (warning: string) => void
  /** Aborts the stream on which a request waits for its response. */
  readonly #streams = new Map<unknown, AbortController>()
  #closing: Promise<void> | undefined
  #closedBecause: string | undefined

  constructor(inner: Transport, onWarning: (warning: string) => void) {
    this.#inner = inner
    this.#onWarning = onWarning
    inner.onmessage = (received) => {
      if (!('method' in received)) this.#streams.delete(received.id)
      this.#deliver(this.guard.received(received))
    }
    inner.onerror = (error) => {
      this.onerror?.(error)
      if (error instanceof SseError) this.#lost(error)
    }
    inner.onclose = () => {
      const { onclose } = this
      // Only once: the listener may close the transport again.
      delete this.onclose
      onclose?.()
    }
  }

  /** Why it closed, if the server closed it. */
  get closedBecause(): string | undefined {
    return this.#closedBecause
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId
  }

  /** What a pending request waits for, if it is not the server. */
  get waitsFor(): string | undefined {
    if (!this.authorizer?.isWaiting) return undefined
    return "the server waits for the user's consent; consent in the browser, then call again"
  }

  get hasPerRequestStream(): boolean {
    return this.#inner.hasPerRequestStream === true
  }

  start(): Promise<void> {
    return this.#inner.start()
  }

  send(message: JSONRPCMessage, options?: SendOptions): Promise<void> {
    this.guard.sent(message, options)
    if (!('method' in message)) return this.#inner.send(message, options)
    if ('id' in message) return this.#ask(message.id, message, options)
    if (message.method === 'notifications/cancelled') this.#letGo(message.params?.requestId)
    return this.#inner.send(message, options)
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version)
  }

  setSupportedProtocolVersions(versions: string[]): void {
    this.#inner.setSupportedProtocolVersions?.(versions)
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #ask(id: RequestId, message: JSONRPCMessage, options: SendOptions = {}): Promise<void> {
    const stream = new AbortController()
    this.#streams.set(id, stream)
    const forget = () => {
      this.#streams.delete(id)
      this.guard.forget(id)
    }
    options.requestSignal?.addEventListener('abort', forget, { once: true })
    const onRequestStreamEnd = () => {
      options.onRequestStreamEnd?.()
      this.#streams.delete(id)
      // A response that belongs on this stream will not arrive on another.
      if (!this.guard.isWaiting(id)) return
      const { message, warning } = this.guard.fail(id, 'its response was cut off')
      // A subscription may end at any time; that is not an error.
      this.#deliver(options.isUpkeep ? { message } : { message, warning })
    }
    const requestSignal = options.requestSignal
      ? AbortSignal.any([options.requestSignal, stream.signal])
      : stream.signal
    try {
      const send = () => this.#inner.send(message, { ...options, requestSignal, onRequestStreamEnd })
      // Upkeep requests do not ask the user.
      if (!this.authorizer || options.isUpkeep) await send()
      else await this.authorizer.run(send, { signal: requestSignal })
    } catch (error) {
      // A request that was not sent gets no response.
      forget()
      throw error
    }
  }

  /** An older server may continue a cancelled call; do not wait for its stream. */
  #letGo(id: unknown): void {
    this.#streams.get(id)?.abort()
    this.#streams.delete(id)
  }

  #deliver({ message, warning }: Verdict): void {
    if (warning !== undefined) this.#onWarning(warning)
    if (message !== undefined) handOn(message, this)
  }

  /** Old servers send every response on one stream. A new stream would belong to another session. */
  #lost(error: SseError): void {
    this.#closedBecause ??= `its event stream was cut off: ${error.message}`
    void this.close().catch(() => {})
  }

  /** Ends the server's session, without waiting long for the server to confirm. */
  async #end(): Promise<void> {
    const inner = this.#inner
    if (inner instanceof StreamableHTTPClientTransport && inner.sessionId !== undefined) {
      const timer = new AbortController()
      const expired = sleep(GIVE_BACK_MS, undefined, { signal: timer.signal }).catch(() => {})
      await Promise.race([inner.terminateSession().catch(() => {}), expired])
      timer.abort()
    }
    await inner.close()
  }
}

const GIVE_BACK_MS = 500
