import { createInterface } from 'node:readline'
import type { Duplex } from 'node:stream'
import { ToolcribError } from '@toolcrib/core'
import { isRecord, parseJson } from '@toolcrib/core/internal'
import { type ConnectedServers, ServerError, type ServerInfo } from '@toolcrib/mcp'
import type { LogBook } from './log-book.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * Connects a command to one server of the gateway: JSON-RPC lines from the stream go to the server, over the gateway's
 * own connection, and its results come back unchanged. Calls are logged like those of clients. When the stream ends,
 * requests in flight are cancelled.
 */
export class ServerStream {
  readonly #servers: ConnectedServers
  readonly #server: string
  readonly #stream: Duplex
  readonly #logs: Pick<LogBook, 'note'>
  readonly #pending = new Map<unknown, AbortController>()

  constructor(
    servers: ConnectedServers,
    { server, stream, logs }: { server: string; stream: Duplex; logs: Pick<LogBook, 'note'> },
  ) {
    this.#servers = servers
    this.#server = server
    this.#stream = stream
    this.#logs = logs
  }

  /** Passes messages on until the stream ends. */
  async run(): Promise<void> {
    try {
      for await (const line of createInterface({ input: this.#stream })) this.#take(line)
    } catch {
      // A killed command leaves a broken stream.
    } finally {
      for (const request of this.#pending.values()) request.abort(new Error('the command ended'))
    }
  }

  #take(line: string): void {
    const message = parseJson(line)
    if (!isRecord(message)) return void this.#stream.destroy()
    const { id, method, params } = message
    if (typeof method !== 'string') return
    const given = isRecord(params) ? params : undefined
    if (id === undefined) this.#note(method, given)
    else void this.#answer(id, method, given)
  }

  #note(method: string, params: Fields | undefined): void {
    if (method === 'notifications/cancelled')
      this.#pending.get(params?.requestId)?.abort(new Error('the command cancelled it'))
  }

  async #answer(id: unknown, method: string, params: Fields | undefined): Promise<void> {
    const request = new AbortController()
    this.#pending.set(id, request)
    const finish = method === 'tools/call' ? this.#callBegun(params) : () => {}
    try {
      const result = await this.#result(method, params, request.signal)
      finish(outcomeOf(result))
      this.#send({ id, result })
    } catch (error) {
      finish(request.signal.aborted ? 'cancelled' : 'execution_failed')
      this.#send({ id, error: toRpcError(error) })
    } finally {
      this.#pending.delete(id)
    }
  }

  /** Returns a function that logs the outcome of the call. */
  #callBegun(params: Fields | undefined): (outcome: CallOutcome) => void {
    const begun = performance.now()
    return (outcome) => {
      if (outcome === undefined) return
      this.#logs.note({
        type: 'call-finished',
        at: Date.now(),
        toolCallId: '',
        name: `mcp__${this.#server}__${params?.name}`,
        ok: outcome === 'ok',
        ...(outcome === 'ok' ? {} : { code: outcome }),
        durationMs: performance.now() - begun,
        chars: 0,
      })
    }
  }

  async #result(method: string, params: Fields | undefined, signal: AbortSignal): Promise<unknown> {
    if (method === 'initialize') return toGreeting(await describeServer(this.#servers, this.#server))
    // The gateway is already subscribed; a command does not run long enough to receive changes.
    if (method === 'subscriptions/listen') throw new ServerError(METHOD_NOT_FOUND)
    const progressToken = isRecord(params?._meta) ? params._meta.progressToken : undefined
    const onProgress = (progress: object) =>
      this.#send({ method: 'notifications/progress', params: { ...progress, progressToken } })
    return this.#servers.request(
      this.#server,
      { method, params: withoutProgressToken(params) },
      // The command has its own time limit.
      { signal, timeoutMs: 0, ...(progressToken === undefined ? {} : { onProgress }) },
    )
  }

  #send(message: object): void {
    if (this.#stream.writable) this.#stream.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
}

/** How a call ended; undefined if the server needs input first, and the command asks again. */
type CallOutcome = 'ok' | 'execution_failed' | 'cancelled' | undefined

function outcomeOf(result: unknown): CallOutcome {
  if (!isRecord(result)) return 'ok'
  if (result.resultType === 'input_required') return undefined
  return result.isError === true ? 'execution_failed' : 'ok'
}

/**
 * What a server reported about itself the last time it ran; starts a server that never has. Rejects with the reason if
 * it cannot be started.
 */
export async function describeServer(servers: ConnectedServers, server: string): Promise<ServerInfo> {
  const known = servers.info(server)
  if (known) return known
  await servers.client(server)
  const info = servers.info(server)
  if (info) return info
  throw new ToolcribError('source-unavailable', `server "${server}" is not running`)
}

const METHOD_NOT_FOUND = { code: -32_601, message: 'Method not found' }
const INTERNAL_ERROR = -32_603

function toRpcError(error: unknown): object {
  if (error instanceof ServerError) {
    const { code, message, data } = error
    return { code, message, ...(data === undefined ? {} : { data }) }
  }
  return { code: INTERNAL_ERROR, message: error instanceof Error ? error.message : String(error) }
}

function toGreeting({ protocolVersion, capabilities, instructions, serverInfo }: ServerInfo): Fields {
  return {
    protocolVersion,
    capabilities,
    ...(instructions === undefined ? {} : { instructions }),
    serverInfo: { name: 'server', version: '0', ...serverInfo },
  }
}

/** The gateway requests progress with its own token. */
function withoutProgressToken(params: Fields | undefined): Fields | undefined {
  if (!isRecord(params?._meta)) return params
  const { progressToken: _, ..._meta } = params._meta
  return { ...params, _meta }
}
