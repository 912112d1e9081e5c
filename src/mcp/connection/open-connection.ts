import {
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { DEFAULT_INHERITED_ENV_VARS, StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describeError } from '../../errors.ts'
import { concealerOf } from '../../secrets/conceal-values.ts'
import type { Schedule } from '../../time.ts'
import type { Environment } from '../config/load-config.ts'
import type { ServerConfig } from '../config/server-config.ts'
import { type ClientOptions, Connection, type GuardedTransport as Guarded } from './connection.ts'
import type { Deadline } from './deadline.ts'
import { describeHttpRefusal } from './http/describe-http-error.ts'
import { describeUnreachable } from './http/describe-unreachable.ts'
import { GuardedTransport } from './http/guarded-transport.ts'
import { limitResponses } from './http/limit-responses.ts'
import { type OAuthOptions, OAuthSession } from './http/oauth-session.ts'
import { StdioTransport } from './stdio/stdio-transport.ts'

/** A connection that is wanted. */
export interface OpenRequest {
  readonly server: string
  readonly config: ServerConfig
  /** The protocol era that was agreed on last time. */
  readonly era: 'modern' | 'legacy' | undefined
  /** For the attempt as a whole, however many ways of greeting it takes. */
  readonly deadline: Deadline
  /** Told what the server does wrong and is got over. */
  readonly onWarning: (warning: string) => void
  /** Gives the attempt up. */
  readonly signal: AbortSignal
}

/** Connects to one server; rejects with the reason, in words. */
export type OpenConnection = (request: OpenRequest) => Promise<Connection>

/** What connections are made with. */
export interface OpenOptions {
  readonly client: ClientOptions
  readonly env: Environment
  readonly maxMessageBytes: number
  readonly fetch: typeof fetch
  readonly oauth?: OAuthOptions | undefined
  readonly schedule: Schedule
  readonly platform: string
}

/** Connects over stdio or HTTP, as a server's config says. */
export function connectionOpener(options: OpenOptions): OpenConnection {
  return (request) => {
    const { type, command } = request.config
    const isStdio = type === 'stdio' || (type === undefined && command !== undefined)
    return isStdio ? openStdio(request, options) : openHttp(request, options)
  }
}

/**
 * Some old servers exit when greeted in the new way, and a server may have changed since it was greeted in the old
 * one; each is then started anew and greeted in the other way.
 */
async function openStdio(request: OpenRequest, options: OpenOptions): Promise<Connection> {
  const [first, second] =
    request.era === 'legacy' ? (['legacy', 'auto'] as const) : (['auto', 'legacy'] as const)
  try {
    return await connect(stdioTransport(request, options), request, options, first)
  } catch (error) {
    const isAboutEra = error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed
    if ((!isAboutEra && first === 'auto') || request.signal.aborted || request.deadline.isOver) throw error
    return await connect(stdioTransport(request, options), request, options, second)
  }
}

function stdioTransport(request: OpenRequest, { env, maxMessageBytes, platform }: OpenOptions): Guarded {
  const { command = '', args = [], env: ownEnv, cwd } = request.config
  const started = {
    command,
    args: [...args],
    env: { ...inheritedFrom(env), ...ownEnv },
    ...(cwd ? { cwd } : {}),
  }
  const { onWarning } = request
  // Windows has neither /bin/sh nor process groups; the SDK's transport knows how to find a command there.
  if (platform === 'win32')
    return new GuardedTransport(new StdioClientTransport({ ...started, stderr: 'ignore' }), onWarning)
  return new StdioTransport({ ...started, maxMessageBytes, onWarning, conceal: concealerOf(request.config) })
}

/** The few variables that every server gets; functions exported by a shell are none of its business. */
function inheritedFrom(env: Environment): Record<string, string> {
  const inherited: Record<string, string> = {}
  for (const name of DEFAULT_INHERITED_ENV_VARS) {
    const value = env[name]
    if (value !== undefined && !value.startsWith('()')) inherited[name] = value
  }
  return inherited
}

async function connect(
  transport: Guarded,
  request: OpenRequest,
  options: OpenOptions,
  era: 'auto' | 'legacy',
): Promise<Connection> {
  const { client, schedule } = options
  const { server, deadline, signal } = request
  const timeoutMs = deadline.remainingMs
  const giveUp = () => void transport.close().catch(() => {})
  let isTooLate = false
  // The SDK counts each of its steps by itself.
  const stopTimer = schedule(timeoutMs, () => {
    isTooLate = true
    giveUp()
  })
  try {
    signal.throwIfAborted()
    signal.addEventListener('abort', giveUp, { once: true })
    return await Connection.open(server, transport, { client, schedule, timeoutMs, era })
  } catch (error) {
    const closedBecause = transport.closedBecause
    stopTimer()
    await transport.close().catch(() => {})
    if (isTooLate) throw new SdkError(SdkErrorCode.RequestTimeout, `no greeting within ${timeoutMs} ms`)
    if (error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed) throw error
    if (closedBecause !== undefined && closedBecause !== 'it was stopped')
      throw new Error(closedBecause, { cause: error })
    throw error
  } finally {
    stopTimer()
    signal.removeEventListener('abort', giveUp)
  }
}

async function openHttp(request: OpenRequest, options: OpenOptions): Promise<Connection> {
  const { server, config, onWarning } = request
  const session = options.oauth && new OAuthSession(server, config, options.oauth)
  const url = new URL(config.url ?? '')
  const settings = {
    requestInit: { headers: { ...config.headers } },
    fetch: limitResponses(options.fetch, options.maxMessageBytes),
    ...(session ? { authProvider: session } : {}),
  }
  const streamable = () =>
    new StreamableHTTPClientTransport(url, { ...settings, reconnectionOptions: RECONNECTION })
  const sse = () => new SSEClientTransport(url, settings)
  const open = async (create: typeof streamable | typeof sse): Promise<Connection> => {
    const inner = create()
    try {
      return await connect(new GuardedTransport(inner, onWarning), request, options, 'auto')
    } catch (error) {
      if (!isUnauthorized(error)) throw error
      await authorize(server, session, options.oauth, inner)
      request.deadline.restart()
      return connect(new GuardedTransport(create(), onWarning), request, options, 'auto')
    }
  }
  const named = (error: unknown) => {
    const reason =
      error instanceof SdkHttpError ? describeHttpRefusal(error) : describeUnreachable(url, error)
    return reason === undefined ? error : new Error(reason, { cause: error })
  }
  if (config.type === 'sse')
    return open(sse).catch((error: unknown) => {
      throw named(error)
    })
  try {
    return await open(streamable)
  } catch (error) {
    // What an old server says to a POST it does not expect.
    if (!(error instanceof SdkHttpError) || ![400, 404, 405, 406].includes(error.status)) throw named(error)
    if (request.deadline.isOver) throw named(error)
    return await open(sse).catch(() => {
      throw named(error)
    })
  }
}

/** How an answer that broke off is asked for again: soon, and not for long, because somebody waits for it. */
const RECONNECTION = {
  initialReconnectionDelay: 250,
  reconnectionDelayGrowFactor: 2,
  maxReconnectionDelay: 30_000,
  maxRetries: 3,
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof UnauthorizedError || (error instanceof Error && error.name === 'UnauthorizedError')
}

async function authorize(
  server: string,
  session: OAuthSession | undefined,
  oauth: OAuthOptions | undefined,
  transport: StreamableHTTPClientTransport | SSEClientTransport,
): Promise<void> {
  if (!session) throw new Error('it asks for authorization; set an Authorization header, or pass oauth')
  const url = session.authorizationUrl
  if (!url || !oauth?.authorize) throw new Error('it asks for authorization, and nobody is there to give it')
  let callback: URLSearchParams
  try {
    callback = await oauth.authorize({ server, url })
  } catch (cause) {
    throw new Error(`it was not authorized: ${describeError(cause)}`, { cause })
  }
  if (!session.isOwn(callback)) throw new Error('the authorization that came back is not the one asked for')
  await transport.finishAuth(callback)
}
