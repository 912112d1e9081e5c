import { ToolcribError } from '@toolcrib/core'
import { type ConnectedServers, type RawRequest, type RawRequestOptions, ServerError } from '@toolcrib/mcp'
import { type ClientLine, canAnswer, missingCapability } from '../asks/client-line.ts'
import { namedQuestion, namedVisits, VISIT_NEEDED, withNamedQuestions } from '../asks/questions.ts'
import type { Traffic } from '../asks/traffic.ts'
import { isJson, type Json } from '../json-rpc.ts'
import {
  CACHEABLE,
  CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  LOG_LEVEL_KEY,
  SERVER_INFO_KEY,
  TASKS_EXTENSION,
  VERSION_KEY,
} from '../protocol.ts'
import { invalidState } from '../replicas/continued-calls.ts'

/** Fields that concern one hop, and are never passed on to the next. */
const OF_ONE_HOP = ['progressToken', VERSION_KEY, CLIENT_INFO_KEY]

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
   * questions go to the client. Questions of a modern server are put to an older client at once; a modern client gets
   * them as the result, unless its call cannot be made again (`isInScript`). Rejects as `ConnectedServers.request()` does.
   */
  async send(server: string, request: RawRequest, line: ClientLine, isInScript = false): Promise<Json> {
    const flight = await this.#traffic.begin(server, line)
    let isAnswered = false
    try {
      const isModern = line.era === 'modern' && !isInScript
      const capabilities = capabilitiesOf(line, isModern)
      const stamped = this.#stamp(server, isModern ? openState(server, request) : request, {
        logLevel: line.logLevel,
        capabilities,
      })
      const { signal } = line
      const { sessionKey } = flight
      let result = await this.#request(server, stamped, {
        ...{ signal, sessionKey },
        ...(line.wantsProgress ? { onProgress: (note) => line.progress(note) } : {}),
        ...(isModern ? {} : { onQuestion: (question) => askOlder(server, question, line) }),
      })
      isAnswered = true
      if (result.resultType === 'input_required') result = askModern(server, request, result, line)
      await line.flushed()
      return this.#isModern(server) ? withoutHop(request.method, result, isModern) : result
    } catch (error) {
      isAnswered ||= error instanceof ServerError
      throw error
    } finally {
      flight.end({ isAnswered })
    }
  }

  /** Sends a request; the questions in its result, or in its error, name the server. */
  async #request(server: string, request: RawRequest, options: RawRequestOptions): Promise<Json> {
    try {
      return withNamedQuestions(server, await this.#servers.request(server, request, options))
    } catch (error) {
      if (!(error instanceof ServerError) || error.code !== VISIT_NEEDED) throw error
      const { code, message, data } = error
      throw new ServerError({ code, message, data: namedVisits(server, data) })
    }
  }

  #isModern(server: string): boolean {
    return this.#servers.info(server)?.era === 'modern'
  }

  /** For a modern server, adds the client's capabilities and log level instead of the gateway's. */
  #stamp(
    server: string,
    request: RawRequest,
    line: Pick<ClientLine, 'logLevel' | 'capabilities'>,
  ): RawRequest {
    const { method, params } = request
    if (params !== undefined && params._meta === undefined && !this.#isModern(server)) return request
    const meta = Object.entries(isJson(params?._meta) ? params._meta : {}).filter(
      ([key]) => !OF_ONE_HOP.includes(key),
    )
    const ofClient = this.#isModern(server)
      ? {
          [CAPABILITIES_KEY]: line.capabilities,
          ...(line.logLevel === undefined ? {} : { [LOG_LEVEL_KEY]: line.logLevel }),
        }
      : {}
    const kept = Object.fromEntries(meta.filter(([key]) => key !== CAPABILITIES_KEY && key !== LOG_LEVEL_KEY))
    const { _meta, ...rest } = params ?? {}
    const all = { ...kept, ...ofClient }
    return { method, params: Object.keys(all).length > 0 ? { ...rest, _meta: all } : rest }
  }
}

/** A client of an older revision cannot use tasks, nor can a script. */
function capabilitiesOf({ capabilities }: ClientLine, isModern: boolean): Json {
  if (isModern || !isJson(capabilities.extensions)) return capabilities
  const { [TASKS_EXTENSION]: tasks, ...extensions } = capabilities.extensions
  return { ...capabilities, extensions }
}

/**
 * Removes what a modern server says about one hop: how long and for whom to cache, and who answered. The gateway sets
 * its own.
 */
function withoutHop(method: string, result: Json, isModern: boolean): Json {
  const { ttlMs, cacheScope, ...uncached } = result
  // The lifetime of a task has the same name.
  const rest = CACHEABLE.includes(method) ? uncached : result
  const { [SERVER_INFO_KEY]: serverInfo, ...meta } = isJson(rest._meta) ? rest._meta : {}
  const { _meta, resultType, ...kept } = rest
  return {
    ...kept,
    ...(resultType === undefined || !isModern ? {} : { resultType }),
    ...(_meta === undefined || Object.keys(meta).length === 0 ? {} : { _meta: meta }),
  }
}

/** A result with questions, as a modern client gets it. Throws if the client cannot answer one of them. */
function askModern(server: string, request: RawRequest, result: Json, { capabilities }: ClientLine): Json {
  for (const question of Object.values(isJson(result.inputRequests) ? result.inputRequests : {})) {
    const { method, params } = isJson(question) ? question : {}
    const asked = isJson(params) ? params : {}
    if (!canAnswer(capabilities, String(method), asked)) throw missingCapability(String(method), asked)
  }
  return { ...result, requestState: stateFor(server, request, result) }
}

/**
 * The state that a modern client keeps for a server, with the tool, prompt or resource it belongs to. By the time the
 * client sends it back, a name may mean something of another server, which must get neither the state nor the answers.
 */
function stateFor(server: string, { method, params }: RawRequest, { requestState }: Json): string {
  return JSON.stringify({ of: [server, method, params?.name ?? params?.uri], requestState })
}

/** The same request with the server's own state. Throws if the state belongs to something else. */
function openState(server: string, request: RawRequest): RawRequest {
  const { requestState: kept, ...params } = request.params ?? {}
  // The answers about a task belong to the server as they are.
  if (typeof kept !== 'string' || request.method.startsWith('tasks/')) return request
  const { requestState } = JSON.parse(kept)
  if (kept !== stateFor(server, request, { requestState })) throw invalidState()
  return { ...request, params: requestState === undefined ? params : { ...params, requestState } }
}

/** Puts a question of a modern server to an older client, which is asked while its request waits. */
async function askOlder(server: string, { method, params }: RawRequest, line: ClientLine): Promise<Json> {
  if (canAnswer(line.capabilities, method, params))
    return line.ask(method, namedQuestion(server, method, params ?? {}), line.signal)
  const reason = `the tool asks for ${method}, which this client does not support`
  throw new ToolcribError('source-unavailable', reason)
}
