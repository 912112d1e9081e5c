import { SdkError, SdkErrorCode } from '@modelcontextprotocol/client'
import { DEFAULT_INHERITED_ENV_VARS, StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { concealerOf } from '../../secrets/conceal-values.ts'
import type { Schedule } from '../../time.ts'
import type { Environment } from '../config/load-config.ts'
import type { ServerConfig } from '../config/server-config.ts'
import { Connection, type ConnectionOptions } from './connection.ts'
import type { Deadline } from './deadline.ts'
import type { OAuthSettings } from './http/oauth-session.ts'
import type { GuardedTransport } from './requests.ts'
import type { ClientOptions } from './server-messages.ts'
import { greet, SpeaksBothError } from './stdio/greet.ts'
import { StdioTransport } from './stdio/stdio-transport.ts'

/** A request to connect to a server. */
export interface OpenRequest {
  readonly server: string
  readonly config: ServerConfig
  /** How to present ourselves, and the handlers of server requests. */
  readonly client: ClientOptions
  /** The session that the connection is for; absent for the shared connection. */
  readonly sessionKey?: string | undefined
  /** The protocol era negotiated last time. */
  readonly era: 'modern' | 'legacy' | undefined
  /** For the whole attempt, with all its greetings. */
  readonly deadline: Deadline
  /** Called for recoverable protocol violations. */
  readonly onWarning: (warning: string) => void
  /** Called with each line that the server writes to stderr. */
  readonly onOutput?: (line: string) => void
  /** Aborts the attempt. */
  readonly signal: AbortSignal
}

/**
 * Connects to one server; rejects with a readable reason. `openDirectly` is what happens without this function: it starts
 * the server, or connects over HTTP.
 */
export type OpenConnection = (
  request: OpenRequest,
  openDirectly: (request: OpenRequest) => Promise<Connection>,
) => Promise<Connection>

/** Shared options of all connections. */
export interface OpenOptions {
  readonly env: Environment
  readonly maxMessageBytes: number
  readonly fetch: typeof fetch
  readonly oauth?: OAuthSettings | undefined
  readonly now: () => number
  readonly schedule: Schedule
  readonly platform: string
}

/** Connects over stdio or HTTP, depending on the server's config. */
export async function openConnection(request: OpenRequest, options: OpenOptions): Promise<Connection> {
  const { type, command } = request.config
  if (type === 'stdio' || (type === undefined && command !== undefined)) return openStdio(request, options)
  // Loaded lazily: most servers run locally and do not need it.
  const { openHttp } = await import('./http/open-http.ts')
  return openHttp(request, options)
}

/**
 * Some old servers exit on the new greeting, and a server may have been upgraded since it was last greeted in the old
 * way. In both cases it is started again and greeted the other way.
 */
async function openStdio(request: OpenRequest, options: OpenOptions): Promise<Connection> {
  const [first, second] =
    request.era === 'legacy' ? (['legacy', 'auto'] as const) : (['auto', 'legacy'] as const)
  try {
    return await startAndConnect(request, options, first)
  } catch (error) {
    if (error instanceof SpeaksBothError)
      return await startAndConnect({ ...request, era: 'modern' }, options, 'auto')
    const isAboutEra = error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed
    if ((!isAboutEra && first === 'auto') || request.signal.aborted || request.deadline.isOver) throw error
    return await startAndConnect(request, options, second)
  }
}

async function startAndConnect(
  request: OpenRequest,
  options: OpenOptions,
  era: 'auto' | 'legacy',
): Promise<Connection> {
  const { command = '', args = [], env: ownEnv, cwd } = request.config
  const started = {
    command,
    args: [...args],
    env: { ...inheritedFrom(options.env), ...ownEnv },
    ...(cwd ? { cwd } : {}),
  }
  const { onWarning, onOutput = () => {} } = request
  const known = era === 'legacy' ? ({ kind: 'legacy' } as const) : 'auto'
  // Windows has neither /bin/sh nor process groups; the SDK's transport can find a command there.
  if (options.platform === 'win32') {
    const { HttpTransport } = await import('./http/http-transport.ts')
    const inner = new StdioClientTransport({ ...started, stderr: 'ignore' })
    return connect(new HttpTransport(inner, onWarning), request, options, known)
  }
  const { maxMessageBytes, now } = options
  const conceal = concealerOf(request.config)
  const transport = new StdioTransport({ ...started, maxMessageBytes, onWarning, onOutput, conceal, now })
  return connect(transport, request, options, known, () =>
    known === 'auto' ? greet(transport, request, options) : Promise.resolve(known),
  )
}

/** The few variables that every server inherits; exported shell functions are left out. */
function inheritedFrom(env: Environment): Record<string, string> {
  const inherited: Record<string, string> = {}
  for (const name of DEFAULT_INHERITED_ENV_VARS) {
    const value = env[name]
    if (value !== undefined && !value.startsWith('()')) inherited[name] = value
  }
  return inherited
}

/** Connects over a transport within the request's deadline; `prepare` may first find out how to greet the server. */
export async function connect(
  transport: GuardedTransport,
  request: OpenRequest,
  { now, schedule }: Pick<OpenOptions, 'now' | 'schedule'>,
  greeting: ConnectionOptions['greeting'],
  prepare: () => Promise<ConnectionOptions['greeting']> = async () => greeting,
): Promise<Connection> {
  const { server, sessionKey, client, deadline, signal, onWarning } = request
  const timeoutMs = deadline.remainingMs
  const giveUp = () => void transport.close().catch(() => {})
  let isTooLate = false
  // The SDK times each of its steps separately, so the whole attempt has its own timer.
  const stopTimer = schedule(timeoutMs, () => {
    isTooLate = true
    giveUp()
  })
  try {
    signal.throwIfAborted()
    signal.addEventListener('abort', giveUp, { once: true })
    const common = { server, sessionKey, client, timeoutMs, now, schedule, onWarning }
    return await Connection.open(transport, { ...common, greeting: await prepare() })
  } catch (error) {
    const closedBecause = transport.closedBecause
    stopTimer()
    await transport.close().catch(() => {})
    if (isTooLate)
      throw new SdkError(SdkErrorCode.RequestTimeout, `no response to the greeting within ${timeoutMs} ms`)
    if (error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed) throw error
    if (closedBecause !== undefined && closedBecause !== 'it was stopped')
      throw new Error(closedBecause, { cause: error })
    throw error
  } finally {
    stopTimer()
    signal.removeEventListener('abort', giveUp)
  }
}
