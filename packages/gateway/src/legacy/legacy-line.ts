import type { ProgressNote } from '@toolcrib/core'
import { type ClientLine, canAnswer, type RequestWire } from '../asks/client-line.ts'
import { INVALID_PARAMS, type Json, METHOD_NOT_FOUND, RpcError } from '../json-rpc.ts'
import { isLoud } from '../lists/log-levels.ts'

/** What the line needs to know of a client. */
interface LineOwner {
  readonly id: string
  readonly principal: string
  readonly clientInfo: unknown
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

  get client(): string {
    return this.owner
  }

  get clientInfo(): unknown {
    return this.#client.clientInfo
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
    const { capabilities } = this
    if (!canAnswer(capabilities, method, params)) {
      // A client that can be asked, but not in this way, has the method.
      const code =
        method === 'elicitation/create' && capabilities.elicitation ? INVALID_PARAMS : METHOD_NOT_FOUND
      return Promise.reject(new RpcError(code, 'the client does not support this'))
    }
    return this.#wire.ask(method, params, { timeoutMs: this.#client.askTimeoutMs, signal })
  }

  flushed(): Promise<void> {
    return this.#wire.flushed()
  }
}
