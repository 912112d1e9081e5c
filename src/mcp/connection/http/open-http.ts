import {
  ProtocolError,
  RegistrationRejectedError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { isTooLate } from '../../../time.ts'
import type { Connection } from '../connection.ts'
import { connect, LEGACY, type OpenOptions, type OpenRequest, PATIENCE_MS } from '../open-connection.ts'
import { Authorizer } from './authorizer.ts'
import { describeHttpRefusal, describeUnreachable, isHttpFailure } from './describe-http-error.ts'
import { HttpTransport } from './http-transport.ts'
import { OAuthSession } from './oauth-session.ts'

/** Connects over streamable HTTP, or falls back to SSE for a server that expects it. */
export async function openHttp(request: OpenRequest, options: OpenOptions): Promise<Connection> {
  const { config } = request
  const url = new URL(config.url ?? '')
  const limitedFetch = limitResponses(options.fetch, options.maxMessageBytes)
  const authorizer = authorizerOf(request, options, limitedFetch)
  const settings = {
    requestInit: { headers: { ...config.headers } },
    fetch: limitedFetch,
    ...(authorizer ? { authProvider: authorizer } : {}),
  }
  const streamable = () =>
    new StreamableHTTPClientTransport(url, { ...settings, reconnectionOptions: RECONNECTION })
  const sse = () => new SSEClientTransport(url, settings)
  const open = async (create: () => SdkTransport): Promise<Connection> => {
    const greet = () => greetInTurn(create, request, options, authorizer)
    if (!authorizer) return greet()
    // A user takes longer to consent than a server to connect.
    return authorizer.run(greet, { onAuthorized: () => request.deadline.restart() })
  }
  const named = (error: unknown) => {
    if (error instanceof RegistrationRejectedError) return new Error(NOBODY_CAN_SIGN_IN, { cause: error })
    const reason = isHttpFailure(error) ? describeHttpRefusal(error) : describeUnreachable(url, error)
    return reason === undefined ? error : new Error(reason, { cause: error })
  }
  if (config.type === 'sse')
    return open(sse).catch((error: unknown) => {
      throw named(error)
    })
  try {
    return await open(streamable)
  } catch (error) {
    // How an old server rejects an unexpected POST.
    if (!isHttpFailure(error) || ![400, 404, 405, 406].includes(error.status)) throw named(error)
    if (request.deadline.isOver) throw named(error)
    return await open(sse).catch(() => {
      throw named(error)
    })
  }
}

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

type SdkTransport = StreamableHTTPClientTransport | SSEClientTransport

/**
 * Greets a server in the way that worked last time. A server of unknown era that ignores the modern greeting for a
 * second is greeted in the old way, and if it rejects that, in the modern way once more: it may only have been slow.
 */
async function greetInTurn(
  create: () => SdkTransport,
  request: OpenRequest,
  options: OpenOptions,
  authorizer: Authorizer | undefined,
): Promise<Connection> {
  const { deadline, onWarning, era, signal } = request
  const greetIn = async (greeting: 'auto' | typeof LEGACY, probeMs?: number) => {
    const transport = new HttpTransport(create(), onWarning)
    const connection = await connect(transport, request, options, { greeting, probeMs })
    transport.authorizer = authorizer
    return connection
  }
  if (era !== 'legacy')
    try {
      return await greetIn('auto', era === 'modern' ? undefined : PATIENCE_MS)
    } catch (error) {
      // If the server responds at all, the SDK has already greeted it in the old way.
      if (!isTooLate(error) || signal.aborted || deadline.isOver) throw error
    }
  try {
    return await greetIn(LEGACY)
  } catch (error) {
    const isAboutEra = isHttpFailure(error) ? error.status === 400 : error instanceof ProtocolError
    if (!isAboutEra || signal.aborted || deadline.isOver) throw error
    return greetIn('auto')
  }
}

function authorizerOf(
  { server, config, signal, onWarning }: OpenRequest,
  { oauth, schedule }: OpenOptions,
  fetch: Fetch,
): Authorizer | undefined {
  if (!oauth) return undefined
  const session = new OAuthSession(server, config, { ...oauth, schedule, onWarning })
  return new Authorizer({ server, url: new URL(config.url ?? ''), session, oauth, fetch, schedule, signal })
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/**
 * Wraps fetch so that no message exceeds the limit: a JSON body is one message, an event stream has one per event. A
 * longer message ends in an error.
 */
function limitResponses(fetch: Fetch, maxMessageBytes: number): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init)
    if (!response.body) return response
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true
    const limited = response.body.pipeThrough(limitBytes(maxMessageBytes, isStream))
    const { status, statusText, headers } = response
    return new Response(limited, { status, statusText, headers })
  }
}

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
