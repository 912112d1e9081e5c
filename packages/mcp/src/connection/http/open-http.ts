import {
  ProtocolError,
  RegistrationRejectedError,
  SSEClientTransport,
  type SSEClientTransportOptions,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
  type Transport,
} from '@modelcontextprotocol/client'
import { isTooLate } from '@toolcrib/core/internal'
import { connect, LEGACY, type OpenOptions, type OpenRequest, PATIENCE_MS } from '../connect.ts'
import type { Connection } from '../connection.ts'
import { MAX_LIST_BYTES } from '../message-guard.ts'
import { authorizationFetch, type Fetch } from './authorization-fetch.ts'
import { Authorizer } from './authorizer.ts'
import { describeHttpRefusal, describeUnreachable, isHttpFailure } from './describe-http-error.ts'
import { HttpTransport } from './http-transport.ts'
import { OAuthSession } from './oauth-session.ts'

/** Connects over streamable HTTP, or falls back to SSE for a server that expects it. */
export function openHttp(request: OpenRequest, options: OpenOptions): Promise<Connection> {
  return new HttpOpening(request, options).run()
}

/** One attempt to connect to a server over HTTP. */
class HttpOpening {
  readonly #request: OpenRequest
  readonly #options: OpenOptions
  readonly #url: URL
  readonly #settings: SSEClientTransportOptions & StreamableHTTPClientTransportOptions
  readonly #authorizer: Authorizer | undefined

  constructor(request: OpenRequest, options: OpenOptions) {
    const { url = '', headers } = request.config
    const limitedFetch = limitResponses(options.fetch, options.maxMessageBytes)
    this.#request = request
    this.#options = options
    this.#url = new URL(url)
    this.#authorizer = authorizerOf(request, options, limitedFetch)
    this.#settings = {
      requestInit: { headers: { ...headers } },
      fetch: limitedFetch,
      ...(this.#authorizer ? { authProvider: this.#authorizer } : {}),
    }
  }

  async run(): Promise<Connection> {
    try {
      return await (this.#request.config.type === 'sse' ? this.#open('sse') : this.#openAny())
    } catch (error) {
      throw this.#named(error)
    }
  }

  async #openAny(): Promise<Connection> {
    try {
      return await this.#open('streamable')
    } catch (error) {
      // How an old server rejects an unexpected POST.
      const isRejected = isHttpFailure(error) && [400, 404, 405, 406].includes(error.status)
      if (!isRejected || this.#request.deadline.isOver) throw error
      return this.#open('sse').catch(() => {
        throw error
      })
    }
  }

  /** Connects in one way, once the user has consented if the server requires that. */
  #open(way: Way): Promise<Connection> {
    const greet = () => this.#greetInTurn(way)
    if (!this.#authorizer) return greet()
    // A user takes longer to consent than a server to connect.
    return this.#authorizer.run(greet, { onAuthorized: () => this.#request.deadline.restart() })
  }

  /**
   * Greets a server in the way that worked last time. A server of unknown era that ignores the modern greeting for a
   * second is greeted in the old way, and if it rejects that, in the modern way once more: it may only have been slow.
   */
  async #greetInTurn(way: Way): Promise<Connection> {
    const { deadline, era, signal } = this.#request
    if (era !== 'legacy')
      try {
        return await this.#greet(way, 'auto', era === 'modern' ? undefined : PATIENCE_MS)
      } catch (error) {
        // If the server responds at all, the SDK has already greeted it in the old way.
        if (!isTooLate(error) || signal.aborted || deadline.isOver) throw error
      }
    try {
      return await this.#greet(way, LEGACY)
    } catch (error) {
      const isAboutEra = isHttpFailure(error) ? error.status === 400 : error instanceof ProtocolError
      if (!isAboutEra || signal.aborted || deadline.isOver) throw error
      return this.#greet(way, 'auto')
    }
  }

  async #greet(way: Way, greeting: 'auto' | typeof LEGACY, probeMs?: number): Promise<Connection> {
    const transport = new HttpTransport(this.#newTransport(way), this.#request.onWarning)
    const connection = await connect(transport, this.#request, this.#options, { greeting, probeMs })
    transport.authorizer = this.#authorizer
    return connection
  }

  #newTransport(way: Way): Transport {
    if (way === 'sse') return new SSEClientTransport(this.#url, this.#settings)
    const settings = { ...this.#settings, reconnectionOptions: RECONNECTION }
    return new StreamableHTTPClientTransport(this.#url, settings)
  }

  /** The error with a reason that a person can act on, if there is one. */
  #named(error: unknown): unknown {
    if (error instanceof RegistrationRejectedError) return new Error(NOBODY_CAN_SIGN_IN, { cause: error })
    const reason = isHttpFailure(error) ? describeHttpRefusal(error) : describeUnreachable(this.#url, error)
    return reason === undefined ? error : new Error(reason, { cause: error })
  }
}

/** How a server is reached over HTTP. */
type Way = 'streamable' | 'sse'

/** Many servers require a token but have no authorization server. */
const NOBODY_CAN_SIGN_IN =
  'it requires authorization, and its authorization server registers no clients; set an Authorization header, or oauth.client_id'

/** An interrupted response is requested again soon, and not for long, because a caller is waiting. */
const RECONNECTION = {
  initialReconnectionDelay: 250,
  reconnectionDelayGrowFactor: 2,
  maxReconnectionDelay: 30_000,
  maxRetries: 3,
}

function authorizerOf(
  { server, config, signal, onWarning }: OpenRequest,
  { oauth, schedule }: OpenOptions,
  fetch: Fetch,
): Authorizer | undefined {
  if (!oauth) return undefined
  const session = new OAuthSession(server, config, { ...oauth, schedule, onWarning })
  const url = new URL(config.url ?? '')
  const reach = authorizationFetch({ server, url, fetch, signal })
  return new Authorizer({ server, url, session, oauth, fetch: reach, schedule, signal })
}

/**
 * Wraps fetch so that no message exceeds the limit: a JSON body is one message, an event stream has one per event. A
 * longer message ends in an error.
 */
function limitResponses(fetch: Fetch, maxMessageBytes: number): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init)
    if (!response.body) return response
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true
    const isList = typeof init?.body === 'string' && LIST_REQUEST.test(init.body)
    const most = isList ? Math.min(maxMessageBytes, MAX_LIST_BYTES) : maxMessageBytes
    const limited = response.body.pipeThrough(limitBytes(most, isStream))
    const { status, statusText, headers } = response
    return new Response(limited, { status, statusText, headers })
  }
}

const LIST_REQUEST = /^\{(?:"jsonrpc":"2\.0",|"id":[^,]{1,80},)*"method":"[a-z/]+\/list"/
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

function limitBytes(maxBytes: number, isEventStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  let isLineEmpty = true
  return new TransformStream({
    transform(chunk, controller) {
      for (const byte of isEventStream ? chunk : []) {
        // An empty line ends an event.
        if (byte === LINE_FEED && isLineEmpty) bytes = 0
        if (byte !== CARRIAGE_RETURN) isLineEmpty = byte === LINE_FEED
        bytes++
      }
      if (!isEventStream) bytes += chunk.length
      if (bytes > maxBytes)
        controller.error(new Error(`its response is longer than ${maxBytes} bytes; request less data`))
      else controller.enqueue(chunk)
    },
  })
}
