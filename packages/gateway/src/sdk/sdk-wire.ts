import type { ServerContext } from '@modelcontextprotocol/server'
import type { AskLimits, RequestWire } from '../asks/client-line.ts'
import type { Json } from '../json-rpc.ts'
import { ANYTHING } from './raw-server.ts'

/** Reaches the client of a request that came through the SDK's server. */
export class SdkWire implements RequestWire {
  readonly #ctx: ServerContext
  readonly #sending = new Set<Promise<unknown>>()

  constructor(ctx: ServerContext) {
    this.#ctx = ctx
  }

  get signal(): AbortSignal {
    return this.#ctx.mcpReq.signal
  }

  get meta(): Json {
    return { ...this.#ctx.mcpReq._meta }
  }

  get envelope(): Json {
    return this.#ctx.mcpReq.envelope ?? {}
  }

  get inputResponses(): Json {
    return this.#ctx.mcpReq.inputResponses ?? {}
  }

  get requestState(): unknown {
    return this.#ctx.mcpReq.requestState()
  }

  notify(method: string, params: Json): void {
    // A notification that cannot be sent is dropped.
    const sent = this.#ctx.mcpReq
      .notify({ method, params: { ...params } })
      .catch(() => {})
      .finally(() => this.#sending.delete(sent))
    this.#sending.add(sent)
  }

  ask(method: string, params: Json | undefined, { timeoutMs, signal }: AskLimits): Promise<Json> {
    const request = { method, ...(params === undefined ? {} : { params: { ...params } }) }
    return this.#ctx.mcpReq.send(request, ANYTHING, { timeout: timeoutMs, signal })
  }

  async flushed(): Promise<void> {
    while (this.#sending.size > 0) await Promise.all(this.#sending)
  }
}
