import { setTimeout as sleep } from 'node:timers/promises'
import {
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client'
import { handOn, MessageGuard } from '../message-guard.ts'

/** Another transport, with a guard between it and the protocol code. */
export class GuardedTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly guard = new MessageGuard()
  readonly #inner: Transport
  #closing: Promise<void> | undefined

  constructor(inner: Transport, onWarning: (warning: string) => void) {
    this.#inner = inner
    inner.onmessage = (received) => {
      const { message, warning } = this.guard.received(received)
      if (warning !== undefined) onWarning(warning)
      if (message !== undefined) handOn(message, (handed) => this.onmessage?.(handed))
    }
    inner.onerror = (error) => this.onerror?.(error)
    inner.onclose = () => {
      const { onclose } = this
      // Once only: what listens may close the transport again.
      delete this.onclose
      onclose?.()
    }
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

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    this.guard.sent(message)
    const forget = () => this.guard.forget('id' in message ? message.id : undefined)
    options?.requestSignal?.addEventListener('abort', forget, { once: true })
    return this.#inner.send(message, options).catch((error: unknown) => {
      // What was not sent is answered by nobody.
      forget()
      throw error
    })
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
