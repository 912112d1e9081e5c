import { SdkError, SdkErrorCode } from '@modelcontextprotocol/client'
import { DEFAULT_INHERITED_ENV_VARS, StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { concealerOf } from '../../secrets/conceal-values.ts'
import type { Schedule } from '../../time.ts'
import type { Environment } from '../config/load-config.ts'
import type { ServerConfig } from '../config/server-config.ts'
import { Connection, type ConnectionOptions } from './connection.ts'
import type { Deadline } from './deadline.ts'
import { HttpTransport } from './http/http-transport.ts'
import type { OAuthOptions } from './http/oauth-session.ts'
import type { GuardedTransport } from './requests.ts'
import type { ClientOptions } from './server-messages.ts'
import { greet, SpeaksBothError } from './stdio/greet.ts'
import { StdioTransport } from './stdio/stdio-transport.ts'

/** A connection that is wanted. */
export interface OpenRequest {
  readonly server: string
  readonly config: ServerConfig
  /** Who connects, and who answers what the server asks. */
  readonly client: ClientOptions
  /** The session that the connection is for; absent for the one that everybody shares. */
  readonly sessionKey?: string | undefined
  /** The protocol era that was agreed on last time. */
  readonly era: 'modern' | 'legacy' | undefined
  /** For the attempt as a whole, however many ways of greeting it takes. */
  readonly deadline: Deadline
  /** Called for recoverable violations of the protocol. */
  readonly onWarning: (warning: string) => void
  /** Ends the attempt. */
  readonly signal: AbortSignal
}

/** Connects to one server; rejects with the reason, in words. */
export type OpenConnection = (request: OpenRequest) => Promise<Connection>

/** What connections are made with. */
export interface OpenOptions {
  readonly env: Environment
  readonly maxMessageBytes: number
  readonly fetch: typeof fetch
  readonly oauth?: OAuthOptions | undefined
  readonly now: () => number
  readonly schedule: Schedule
  readonly platform: string
}

/** Connects over stdio or HTTP, as a server's config says. */
export async function openConnection(request: OpenRequest, options: OpenOptions): Promise<Connection> {
  const { type, command } = request.config
  if (type === 'stdio' || (type === undefined && command !== undefined)) return openStdio(request, options)
  // Most servers run on this machine, and need none of it.
  const { openHttp } = await import('./http/open-http.ts')
  return openHttp(request, options)
}

/**
 * Some old servers exit when greeted in the new way, and a server may have changed since it was greeted in the old
 * one. Each is then started again and greeted in the other way.
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

function startAndConnect(
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
  const { onWarning } = request
  const known = era === 'legacy' ? ({ kind: 'legacy' } as const) : 'auto'
  // Windows has neither /bin/sh nor process groups; the SDK's transport knows how to find a command there.
  if (options.platform === 'win32') {
    const inner = new StdioClientTransport({ ...started, stderr: 'ignore' })
    return connect(new HttpTransport(inner, onWarning), request, options, known)
  }
  const { maxMessageBytes } = options
  const conceal = concealerOf(request.config)
  const transport = new StdioTransport({ ...started, maxMessageBytes, onWarning, conceal })
  return connect(transport, request, options, known, () =>
    known === 'auto' ? greet(transport, request, options) : Promise.resolve(known),
  )
}

/** The few variables that every server gets; functions exported by a shell are left out. */
function inheritedFrom(env: Environment): Record<string, string> {
  const inherited: Record<string, string> = {}
  for (const name of DEFAULT_INHERITED_ENV_VARS) {
    const value = env[name]
    if (value !== undefined && !value.startsWith('()')) inherited[name] = value
  }
  return inherited
}

/** Connects over a transport before the deadline of the request; `prepare` may find out first how to greet the server. */
export async function connect(
  transport: GuardedTransport,
  request: OpenRequest,
  { now, schedule }: OpenOptions,
  greeting: ConnectionOptions['greeting'],
  prepare: () => Promise<ConnectionOptions['greeting']> = async () => greeting,
): Promise<Connection> {
  const { server, sessionKey, client, deadline, signal, onWarning } = request
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
    const common = { server, sessionKey, client, timeoutMs, now, schedule, onWarning }
    return await Connection.open(transport, { ...common, greeting: await prepare() })
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
