import type { ServerContext } from '@modelcontextprotocol/server'
import type { ProgressNote } from 'toolcrib'
import { type ClientLine, canAnswer, type Json } from './client-line.ts'
import type { RawServer } from './mcp-server.ts'
import { NoticeQueue } from './notice-queue.ts'
import { RpcError } from './rpc-error.ts'

const METHOD_NOT_FOUND = -32_601

/** What the line needs to know of a client. */
interface LineOwner {
  readonly id: string
  readonly principal: string
  readonly askTimeoutMs: number
  readonly logLevel: string | undefined
}

/** The way back to a client of the older era: it is asked over its own connection, while the request waits. */
export class LegacyLine implements ClientLine {
  readonly era = 'legacy'
  readonly owner: string
  readonly principal: string
  readonly signal: AbortSignal
  readonly #client: LineOwner
  readonly #server: RawServer
  readonly #ctx: ServerContext | undefined
  readonly #notices = new NoticeQueue()

  /** Without a request, it is the line for what a server asks between two requests. */
  constructor(client: LineOwner, server: RawServer, ctx?: ServerContext) {
    this.owner = client.id
    this.principal = client.principal
    this.signal = ctx?.mcpReq.signal ?? new AbortController().signal
    this.#client = client
    this.#server = server
    this.#ctx = ctx
  }

  get capabilities(): Json {
    return this.#server.getClientCapabilities() ?? {}
  }

  get wantsProgress(): boolean {
    return this.#ctx?.mcpReq._meta?.progressToken !== undefined
  }

  get logLevel(): string {
    return this.#client.logLevel ?? 'debug'
  }

  progress(note: ProgressNote): void {
    const progressToken = this.#ctx?.mcpReq._meta?.progressToken
    if (!this.#ctx || progressToken === undefined) return
    const params = { ...note, progressToken }
    this.#notices.add(this.#ctx.mcpReq.notify({ method: 'notifications/progress', params }))
  }

  log(params: Json): void {
    if (!isLoud(params.level, this.#client.logLevel)) return
    const notification = { method: 'notifications/message', params: { ...params } }
    this.#notices.add(this.#ctx ? this.#ctx.mcpReq.notify(notification) : this.#server.tell(notification))
  }

  ask(method: string, params: Json | undefined, signal: AbortSignal): Promise<Json> {
    if (!canAnswer(this.capabilities, method))
      return Promise.reject(new RpcError(METHOD_NOT_FOUND, 'the client does not support this'))
    const { askTimeoutMs: timeoutMs } = this.#client
    return this.#server.ask(method, params, { ctx: this.#ctx, timeoutMs, signal })
  }

  flushed(): Promise<void> {
    return this.#notices.flushed()
  }
}

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

/** Whether a message of this level is at least as severe as the client wants; all are when it did not say. */
export function isLoud(level: unknown, wanted: string | undefined): boolean {
  return wanted === undefined || LEVELS.indexOf(String(level)) >= LEVELS.indexOf(wanted)
}
