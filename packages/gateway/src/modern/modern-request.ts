import type { AskLimits } from '../asks/client-line.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Reply } from '../http/reply.ts'
import { INTERNAL_ERROR, isJson, isRequestId, type Json, RpcError } from '../json-rpc.ts'
import { LEVELS } from '../lists/log-levels.ts'
import {
  CACHEABLE,
  CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  LOG_LEVEL_KEY,
  MODERN_VERSION,
  SERVER_INFO_KEY,
  TASK_METHODS,
  VERSION_KEY,
} from '../protocol.ts'
import type { ModernRequest } from './pending-call.ts'

/** A modern request in the usual form: headers and body agree, and every field has its type. */
export interface PlainRequest {
  readonly id: string | number
  readonly method: string
  readonly params: Json
  readonly meta: Json
}

/** Where the parameters have the name that the `Mcp-Name` header repeats. */
const NAMED: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

/**
 * Parses a modern request. Undefined for anything unusual, which is left to the SDK's handler: it has the right error
 * for each deviation.
 */
export function readPlainRequest(
  exchange: Exchange,
  body: unknown,
  methods: ReadonlySet<string>,
): PlainRequest | undefined {
  if (!isJson(body) || body.jsonrpc !== '2.0' || !isJson(body.params)) return undefined
  const { id, method, params } = body
  if (!isRequestId(id) || typeof method !== 'string' || !methods.has(method)) return undefined
  const isAddressed =
    exchange.header('mcp-protocol-version') === MODERN_VERSION &&
    exchange.header('mcp-method') === method &&
    exchange.header('content-type')?.startsWith('application/json') === true
  const meta = params._meta
  if (!isAddressed || !isJson(meta) || !isPlainEnvelope(meta)) return undefined
  const field = NAMED[method]
  if (field === undefined) return { id, method, params, meta }
  const name = params[field]
  if (typeof name !== 'string' || exchange.header('mcp-name') !== name || name.startsWith('=?'))
    return undefined
  return { id, method, params, meta }
}

function isPlainEnvelope(meta: Json): boolean {
  const { progressToken } = meta
  const info = meta[CLIENT_INFO_KEY]
  const capabilities = meta[CAPABILITIES_KEY]
  const level = meta[LOG_LEVEL_KEY]
  return (
    meta[VERSION_KEY] === MODERN_VERSION &&
    isJson(capabilities) &&
    ['sampling', 'elicitation', 'roots'].every(
      (key) => capabilities[key] === undefined || isJson(capabilities[key]),
    ) &&
    (info === undefined ||
      (isJson(info) && typeof info.name === 'string' && typeof info.version === 'string')) &&
    (level === undefined || LEVELS.includes(String(level))) &&
    (progressToken === undefined || typeof progressToken === 'string' || typeof progressToken === 'number')
  )
}

/** A modern request over HTTP, and the connection to its client. */
export class ModernPost implements ModernRequest {
  readonly signal: AbortSignal
  readonly meta: Json
  readonly inputResponses: Json
  readonly requestState: unknown
  /** The parameters that are passed on to the server. */
  readonly params: Json
  readonly #reply: Reply

  constructor({ method, params, meta }: PlainRequest, reply: Reply, signal: AbortSignal) {
    const { inputResponses, requestState, ...rest } = params
    this.signal = signal
    this.meta = meta
    this.inputResponses = readResponses(inputResponses)
    this.requestState = requestState
    // Answers about a task belong to the server.
    this.params = TASK_METHODS.includes(method) ? params : rest
    this.#reply = reply
  }

  get envelope(): Json {
    return this.meta
  }

  notify(method: string, params: Json): void {
    this.#reply.send({ jsonrpc: '2.0', method, params })
  }

  ask(method: string, _params: Json | undefined, _limits: AskLimits): Promise<Json> {
    return Promise.reject(new RpcError(INTERNAL_ERROR, `modern clients are not sent ${method}`))
  }

  async flushed(): Promise<void> {}
}

/** Reads the answers of the client. They must be objects; those that look like requests or responses are ignored. */
function readResponses(given: unknown): Json {
  if (!isJson(given)) return {}
  const answers = Object.entries(given).filter(
    ([, answer]) => isJson(answer) && !('method' in answer) && !('result' in answer),
  )
  return Object.fromEntries(answers)
}

/**
 * A result with the fields that the modern revision requires: its type, who answered, and how long it may be cached.
 */
export function modernResult(method: string, result: Json, serverInfo: object): Json {
  const resultType = result.resultType ?? 'complete'
  const isCacheable = resultType === 'complete' && CACHEABLE.includes(method)
  const meta = isJson(result._meta) ? result._meta : {}
  return {
    ...result,
    ...(isCacheable ? { ttlMs: 0, cacheScope: 'private' } : {}),
    resultType,
    _meta: { ...meta, [SERVER_INFO_KEY]: serverInfo },
  }
}
