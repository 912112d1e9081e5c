import { ToolcribError } from 'toolcrib'
import type { ConnectedServers, RawRequest } from 'toolcrib/mcp'
import { type ClientLine, canAnswer } from './client-line.ts'
import { isJson, type Json } from './json-rpc.ts'
import {
  CACHEABLE,
  CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  LOG_LEVEL_KEY,
  SERVER_INFO_KEY,
  TASKS_EXTENSION,
  VERSION_KEY,
} from './protocol.ts'
import type { Traffic } from './traffic.ts'

/** Fields that concern one hop, and are never passed on to the next. */
const OF_ONE_HOP = ['progressToken', VERSION_KEY, CLIENT_INFO_KEY]

const MAX_ROUNDS = 16

/** Forwards clients' requests to servers and returns the results unchanged. */
export class Upstream {
  readonly #servers: ConnectedServers
  readonly #traffic: Traffic

  constructor(servers: ConnectedServers, traffic: Traffic) {
    this.#servers = servers
    this.#traffic = traffic
  }

  /**
   * Sends a request for a client and returns the result as it was parsed. Meanwhile, progress, log messages and
   * questions go to the client. Questions of a modern server are put to an older client here; a modern client gets them
   * as the result. Rejects as `ConnectedServers.request()` does.
   */
  async send(server: string, request: RawRequest, line: ClientLine): Promise<Json> {
    const flight = await this.#traffic.begin(server, line)
    try {
      const stamped = this.#stamp(server, request, line)
      const options = {
        signal: line.signal,
        sessionKey: flight.sessionKey,
        ...(line.wantsProgress ? { onProgress: line.progress.bind(line) } : {}),
      }
      let result: Json = await this.#servers.request(server, stamped, options)
      for (let round = 0; result.resultType === 'input_required' && line.era === 'legacy'; round++) {
        if (round === MAX_ROUNDS)
          throw new ToolcribError(
            'source-unavailable',
            `server "${server}" asked ${MAX_ROUNDS} times and still needs more`,
          )
        const answers = await answerAll(result, line)
        result = await this.#servers.request(
          server,
          { ...stamped, params: { ...stamped.params, ...answers } },
          options,
        )
      }
      await line.flushed()
      return this.#isModern(server) ? withoutHop(request.method, result, line) : result
    } finally {
      flight.end()
    }
  }

  #isModern(server: string): boolean {
    return this.#servers.info(server)?.era === 'modern'
  }

  /** For a modern server, adds the client's capabilities and log level instead of the gateway's. */
  #stamp(server: string, request: RawRequest, line: ClientLine): RawRequest {
    const { method, params } = request
    if (params !== undefined && params._meta === undefined && !this.#isModern(server)) return request
    const meta = Object.entries(isJson(params?._meta) ? params._meta : {}).filter(
      ([key]) => !OF_ONE_HOP.includes(key),
    )
    const ofClient = this.#isModern(server)
      ? {
          [CAPABILITIES_KEY]: capabilitiesOf(line),
          ...(line.logLevel === undefined ? {} : { [LOG_LEVEL_KEY]: line.logLevel }),
        }
      : {}
    const kept = Object.fromEntries(meta.filter(([key]) => key !== CAPABILITIES_KEY && key !== LOG_LEVEL_KEY))
    const { _meta, ...rest } = params ?? {}
    const all = { ...kept, ...ofClient }
    return { method, params: Object.keys(all).length > 0 ? { ...rest, _meta: all } : rest }
  }
}

/** A client of an older revision cannot use tasks. */
function capabilitiesOf({ era, capabilities }: ClientLine): Json {
  if (era === 'modern' || !isJson(capabilities.extensions)) return capabilities
  const { [TASKS_EXTENSION]: tasks, ...extensions } = capabilities.extensions
  return { ...capabilities, extensions }
}

/**
 * Removes what a modern server says about one hop: how long and for whom to cache, and who answered. The gateway sets
 * its own.
 */
function withoutHop(method: string, result: Json, { era }: ClientLine): Json {
  const { ttlMs, cacheScope, ...uncached } = result
  // The lifetime of a task has the same name.
  const rest = CACHEABLE.includes(method) ? uncached : result
  const { [SERVER_INFO_KEY]: serverInfo, ...meta } = isJson(rest._meta) ? rest._meta : {}
  const { _meta, resultType, ...kept } = rest
  return {
    ...kept,
    ...(resultType === undefined || era === 'legacy' ? {} : { resultType }),
    ...(_meta === undefined || Object.keys(meta).length === 0 ? {} : { _meta: meta }),
  }
}

async function answerAll({ inputRequests, requestState }: Json, line: ClientLine): Promise<Json> {
  const questions = Object.entries(isJson(inputRequests) ? inputRequests : {})
  const answers = questions.map(async ([key, question]) => {
    const { method, params } = isJson(question) ? question : {}
    if (typeof method !== 'string' || !canAnswer(line.capabilities, method))
      throw new ToolcribError(
        'source-unavailable',
        `the tool asks for ${String(method)}, which this client does not support`,
      )
    return [key, await line.ask(method, isJson(params) ? params : undefined, line.signal)] as const
  })
  return {
    inputResponses: Object.fromEntries(await Promise.all(answers)),
    ...(requestState === undefined ? {} : { requestState }),
  }
}
