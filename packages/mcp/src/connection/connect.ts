import { SdkError, SdkErrorCode } from '@modelcontextprotocol/client'
import type { Schedule } from '@toolcrib/core'
import type { Deadline } from '@toolcrib/core/internal'
import { secretConcealerOf } from '@toolcrib/core/internal'
import type { Environment, ServerConfig } from '../config/server-config.ts'
import { Connection, type ConnectionOptions } from './connection.ts'
import type { OAuthSettings } from './http/oauth-session.ts'
import type { GuardedTransport } from './requests.ts'
import type { ClientOptions } from './server-messages.ts'
import type { Installs, TellInstall } from './stdio/installs.ts'

/** A request to connect to a server. */
export interface OpenRequest {
  readonly server: string
  readonly config: ServerConfig
  /** How the client presents itself, and the handlers of server requests. */
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
  /** Present if its launcher may have to download it first. */
  readonly onInstall?: TellInstall | undefined
  /** Aborts the attempt. */
  readonly signal: AbortSignal
}

/**
 * Connects to one server; rejects with a readable reason. `openDirectly` is the default behaviour: it starts the
 * server, or connects over HTTP.
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
  readonly installs: Installs
}

/** How to greet a server, or how to find that out; see `ConnectionOptions`. */
interface GreetingChoice extends Pick<ConnectionOptions, 'probeMs'> {
  readonly greeting: ConnectionOptions['greeting'] | (() => Promise<ConnectionOptions['greeting']>)
}

/** Connects over a transport within the request's deadline. */
export async function connect(
  transport: GuardedTransport,
  request: OpenRequest,
  { now, schedule }: Pick<OpenOptions, 'now' | 'schedule'>,
  { greeting, probeMs }: GreetingChoice,
): Promise<Connection> {
  const { server, sessionKey, client, deadline, signal, onWarning } = request
  transport.guard.isLossless = request.config.lossless ?? false
  transport.guard.conceal = secretConcealerOf(request.config)
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
    const common = { server, sessionKey, client, timeoutMs, probeMs, now, schedule, onWarning }
    const chosen = typeof greeting === 'function' ? await greeting() : greeting
    return await Connection.open(transport, { ...common, greeting: chosen })
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

export type Greeting = Exclude<ConnectionOptions['greeting'], 'auto'>

export const LEGACY: Greeting = { kind: 'legacy' }

/** How long a server may be silent before it is also greeted in the old way. */
export const PATIENCE_MS = 1_000
