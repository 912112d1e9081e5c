import type { ProgressNote } from 'toolcrib'
import { type ClientLine, canAnswer, type RequestWire } from './client-line.ts'
import { type Json, METHOD_NOT_FOUND, RpcError } from './json-rpc.ts'
import { isLoud } from './log-levels.ts'

/** What the line needs to know of a client. */
interface LineOwner {
  readonly id: string
  readonly principal: string
  readonly askTimeoutMs: number
  readonly capabilities: Json
  readonly logLevel: string | undefined
}

/** Reaches a client of the older era: it is asked over its own connection, while the request waits. */
export class LegacyLine implements ClientLine {
  readonly era = 'legacy'
  readonly owner: string
  readonly principal: string
  readonly signal: AbortSignal
  readonly #client: LineOwner
  readonly #wire: RequestWire

  constructor(client: LineOwner, wire: RequestWire) {
    this.owner = client.id
    this.principal = client.principal
    this.signal = wire.signal
    this.#client = client
    this.#wire = wire
  }

  get capabilities(): Json {
    return this.#client.capabilities
  }

  get wantsProgress(): boolean {
    return this.#wire.meta.progressToken !== undefined
  }

  get logLevel(): string {
    return this.#client.logLevel ?? 'debug'
  }

  progress(note: ProgressNote): void {
    const { progressToken } = this.#wire.meta
    if (progressToken !== undefined) this.#wire.notify('notifications/progress', { ...note, progressToken })
  }

  log(params: Json): void {
    if (isLoud(params.level, this.#client.logLevel)) this.#wire.notify('notifications/message', params)
  }

  ask(method: string, params: Json | undefined, signal: AbortSignal): Promise<Json> {
    if (!canAnswer(this.capabilities, method))
      return Promise.reject(new RpcError(METHOD_NOT_FOUND, 'the client does not support this'))
    return this.#wire.ask(method, params, { timeoutMs: this.#client.askTimeoutMs, signal })
  }

  flushed(): Promise<void> {
    return this.#wire.flushed()
  }
}
