import { TOKEN_NOT_ACCEPTED } from '../access/principal.ts'
import type { GatewayLog } from '../gateway-log.ts'
import { type Exchange, refuseRpc } from '../http/exchange.ts'
import type { Replies } from '../http/reply.ts'
import { INVALID_PARAMS, INVALID_REQUEST, isJson, isRequestId, type Json, REFUSED } from '../json-rpc.ts'
import { LEGACY_VERSIONS } from '../protocol.ts'
import type { Replicas } from '../replicas/replicas.ts'
import type { ClientIdentity } from './legacy-client.ts'
import { type LegacySession, refuseUnknown } from './legacy-session.ts'
import type { LegacySessions } from './legacy-sessions.ts'

const MAX_BATCH = 100
/** The parameters of `initialize` are kept with the session. */
const MAX_INITIALIZE_CHARACTERS = 64 * 1024
const OVERSIZE = `the parameters of initialize have more than ${MAX_INITIALIZE_CHARACTERS} characters`

/** Serves older clients over HTTP: each opens a session, and names it in later requests. */
export class LegacyTransport {
  readonly #sessions: LegacySessions
  readonly #replies: Replies
  readonly #replicas: Replicas | undefined
  readonly #log: GatewayLog

  constructor(
    sessions: LegacySessions,
    options: { readonly replies: Replies; readonly replicas: Replicas | undefined; readonly log: GatewayLog },
  ) {
    this.#sessions = sessions
    this.#replies = options.replies
    this.#replicas = options.replicas
    this.#log = options.log
  }

  async post(exchange: Exchange, client: ClientIdentity, body: unknown): Promise<void> {
    const fault = headerFault(exchange)
    if (fault) return refuseRpc(exchange, fault.status, { code: REFUSED, message: fault.message })
    const messages = messagesOf(body)
    if (!messages) return refuseRpc(exchange, 400, { code: INVALID_REQUEST, message: 'Invalid Request' })
    const [first] = messages
    if (first && isInitialize(first)) return this.#initialize(exchange, client, messages)
    const session = await this.#sessionOf(exchange, client)
    await session?.post(exchange, messages)
  }

  /** Answers a GET: opens the stream of a session. */
  async get(exchange: Exchange, client: ClientIdentity): Promise<void> {
    if (!exchange.header('accept')?.includes('text/event-stream'))
      return refuseRpc(exchange, 406, { code: REFUSED, message: 'accept text/event-stream' })
    const session = await this.#sessionOf(exchange, client)
    session?.listen(exchange)
  }

  /** Answers a DELETE: ends a session. */
  async delete(exchange: Exchange, client: ClientIdentity): Promise<void> {
    const session = await this.#sessionOf(exchange, client)
    if (!session) return
    await this.#sessions.end(session)
    this.#replicas?.ended(session.id)
    exchange.respond(200, {})
  }

  async #initialize(exchange: Exchange, client: ClientIdentity, messages: readonly Json[]): Promise<void> {
    const [{ id, params } = {}, ...others] = messages
    if (others.length > 0 || exchange.header('mcp-session-id') !== undefined)
      return refuseRpc(exchange, 400, {
        id,
        code: INVALID_REQUEST,
        message: 'send initialize alone, not in a batch',
      })
    if (!isJson(params) || !isJson(params.capabilities) || typeof params.protocolVersion !== 'string')
      return refuseRpc(exchange, 400, { id, code: INVALID_PARAMS, message: 'initialize lacks parameters' })
    if (isOversize(params)) return refuseRpc(exchange, 413, { id, code: INVALID_REQUEST, message: OVERSIZE })
    // The response is built while the session is being saved; the first one takes about as long.
    const opened = await this.#sessions.begin(client, params, (session) => session.greeting(params))
    if (!opened) return refuseRpc(exchange, 401, { id, code: REFUSED, message: TOKEN_NOT_ACCEPTED })
    const reply = this.#replies.to(exchange, { headers: { 'mcp-session-id': opened.id } })
    reply.finish({ jsonrpc: '2.0', id, result: opened.greeting })
  }

  /** The session that a request names; if there is none, refuses the request and returns undefined. */
  async #sessionOf(exchange: Exchange, client: ClientIdentity): Promise<LegacySession | undefined> {
    const id = exchange.header('mcp-session-id')
    if (id === undefined) {
      refuseRpc(exchange, 400, { code: REFUSED, message: 'Mcp-Session-Id header is required' })
      return undefined
    }
    const session = await this.#sessions.find(id, client).catch((error) => {
      this.#log.warn(error instanceof Error ? error.message : 'the store failed')
      return 'unknown' as const
    })
    // Another replica may have it open, or the store may answer in a moment.
    if (session === 'unknown') {
      const message = 'the session cannot be looked up now; try again'
      refuseRpc(exchange, 503, { code: REFUSED, message }, { 'retry-after': '1' })
      return undefined
    }
    if (!session) {
      refuseUnknown(exchange)
      return undefined
    }
    const version = exchange.header('mcp-protocol-version')
    if (version === undefined || LEGACY_VERSIONS.includes(version)) return session
    const message = `Unsupported protocol version: ${version.slice(0, 40)}; use one of ${LEGACY_VERSIONS.join(', ')}`
    refuseRpc(exchange, 400, { code: REFUSED, message })
    return undefined
  }
}

function headerFault(exchange: Exchange): { readonly status: number; readonly message: string } | undefined {
  const accept = exchange.header('accept') ?? ''
  if (!accept.includes('application/json') || !accept.includes('text/event-stream'))
    return { status: 406, message: 'accept both application/json and text/event-stream' }
  // A web page may send other content types to any address without a preflight request.
  if (!isJsonType(exchange.header('content-type') ?? ''))
    return { status: 415, message: 'the content type must be application/json' }
  return undefined
}

function isJsonType(type: string): boolean {
  return type === 'application/json' || type.split(';')[0]?.trim().toLowerCase() === 'application/json'
}

/** The messages of a body: one, or a batch as in revision 2025-03-26. Undefined for anything else. */
function messagesOf(body: unknown): readonly Json[] | undefined {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body]
  if (messages.length === 0 || messages.length > MAX_BATCH) return undefined
  return messages.every(isMessage) ? messages : undefined
}

function isMessage(message: unknown): message is Json {
  if (!isJson(message) || message.jsonrpc !== '2.0') return false
  const { id, method, params, result, error } = message
  if (typeof method === 'string')
    return (id === undefined || isRequestId(id)) && (params === undefined || isJson(params))
  return isRequestId(id) && (isJson(result) || isJson(error))
}

function isOversize(params: Json): boolean {
  try {
    return JSON.stringify(params).length > MAX_INITIALIZE_CHARACTERS
  } catch {
    // Nested too deep to be serialized.
    return true
  }
}

function isInitialize({ method, id }: Json): boolean {
  return method === 'initialize' && id !== undefined
}
