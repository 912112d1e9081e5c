import { setTimeout as sleep } from 'node:timers/promises'
import {
  type JSONRPCMessage,
  type RequestId,
  SseError,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
import { handOn, MessageGuard, type Verdict } from '../message-guard.ts'
import type { GuardedTransport, SendOptions } from '../requests.ts'

/** Another transport, with a guard between it and the protocol code. */
export class HttpTransport implements GuardedTransport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  intercept?: (message: JSONRPCMessage) => boolean
  readonly guard = new MessageGuard()
  readonly #inner: Transport
  readonly #onWarning: (warning: string) => void
  /** Lets go of the stream on which a request waits for its answer. */
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
      // Once only: what listens may close the transport again.
      delete this.onclose
      onclose?.()
    }
  }

  /** Why it closed, where it did so by itself. */
  get closedBecause(): string | undefined {
    return this.#closedBecause
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId
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
      // Nobody sends on another stream what belongs on this one.
      if (!this.guard.isWaiting(id)) return
      const { message, warning } = this.guard.fail(id, 'its answer broke off')
      // A subscription may end at any time; that is not a fault.
      this.#deliver(options.isUpkeep ? { message } : { message, warning })
    }
    const requestSignal = options.requestSignal
      ? AbortSignal.any([options.requestSignal, stream.signal])
      : stream.signal
    try {
      await this.#inner.send(message, { ...options, requestSignal, onRequestStreamEnd })
    } catch (error) {
      // What was not sent is answered by nobody.
      forget()
      throw error
    }
  }

  /** An older server may go on with a call that was cancelled; its stream is not waited for. */
  #letGo(id: unknown): void {
    this.#streams.get(id)?.abort()
    this.#streams.delete(id)
  }

  #deliver({ message, warning }: Verdict): void {
    if (warning !== undefined) this.#onWarning(warning)
    if (message !== undefined) handOn(message, this)
  }

  /** Old servers answer everything on one stream. A new one would be of a session that knows nothing of this one. */
  #lost(error: SseError): void {
    this.#closedBecause ??= `its stream of events broke off: ${error.message}`
    void this.close().catch(() => {})
  }

  /** A session that nobody will use again is given back, if the server takes it quickly. */
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
