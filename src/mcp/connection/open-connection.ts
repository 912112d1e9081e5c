import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type DiscoverResult,
  LATEST_PROTOCOL_VERSION,
  PROTOCOL_VERSION_META_KEY,
  SdkError,
  SdkErrorCode,
} from '@modelcontextprotocol/client'
import { DEFAULT_INHERITED_ENV_VARS, StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { concealerOf } from '../../secrets/mask.ts'
import type { Deadline, Schedule } from '../../time.ts'
import type { Environment, ServerConfig } from '../config/server-config.ts'
import { Connection, type ConnectionOptions } from './connection.ts'
import type { OAuthSettings } from './http/oauth-session.ts'
import { type GuardedTransport, Requests, ServerError } from './requests.ts'
import type { ClientOptions } from './server-messages.ts'
import { StdioTransport } from './stdio/stdio-transport.ts'

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
  const [first, second] = request.era === 'legacy' ? ([LEGACY, 'auto'] as const) : (['auto', LEGACY] as const)
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
  greeting: 'auto' | typeof LEGACY,
): Promise<Connection> {
  const { command = '', args = [], env: ownEnv, cwd } = request.config
  const started = {
    command,
    args: [...args],
    env: { ...inheritedFrom(options.env), ...ownEnv },
    ...(cwd ? { cwd } : {}),
  }
  const { onWarning, onOutput = () => {} } = request
  // Windows has neither /bin/sh nor process groups; the SDK's transport can find a command there.
  if (options.platform === 'win32') {
    const { HttpTransport } = await import('./http/http-transport.ts')
    const inner = new StdioClientTransport({ ...started, stderr: 'ignore' })
    return connect(new HttpTransport(inner, onWarning), request, options, { greeting })
  }
  const { maxMessageBytes, now } = options
  const conceal = concealerOf(request.config)
  const transport = new StdioTransport({ ...started, maxMessageBytes, onWarning, onOutput, conceal, now })
  return connect(transport, request, options, {
    greeting: greeting === 'auto' ? () => greet(transport, request, options) : greeting,
  })
}

/** The few variables that every server inherits; exported shell functions are left out. */
function inheritedFrom(env: Environment): Record<string, string> {
  const inherited: Record<string, string> = {}
  for (const name of [...DEFAULT_INHERITED_ENV_VARS, ...NETWORK_PLACES, ...NETWORK_ADDRESSES]) {
    const value = env[name]
    if (value === undefined || value.startsWith('()')) continue
    // An address may contain a user name, a password or a token, which are not meant for every server.
    if (NETWORK_ADDRESSES.includes(name) && /[@?]/.test(value)) continue
    inherited[name] = value
  }
  return inherited
}

// What a server needs in a corporate network to download itself and to reach other hosts. Addresses of Python indexes
// are left out: some have a token in their path.
const inBothCases = (names: readonly string[]) => names.flatMap((name) => [name, name.toLowerCase()])
const NETWORK_ADDRESSES = inBothCases(['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NPM_CONFIG_REGISTRY'])
const NETWORK_PLACES = [
  ...inBothCases(['NO_PROXY', 'NPM_CONFIG_CAFILE']),
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
]

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

/** The first protocol revision without a handshake. */
const MODERN = '2026-07-28'
/** How long a server may be silent before it is also greeted in the old way. */
export const PATIENCE_MS = 1_000

/**
 * Starts a server and detects its protocol era, trying the modern greeting first. A server that rejects it is an old
 * one. A server that stays silent may be old, or just slow to start: it is then greeted in the old way too, and its
 * response decides. Rejects with `EraNegotiationFailed` when the server exits because of the greeting, with a
 * `SpeaksBothError`, and with the reason when it cannot be greeted at all.
 */
export function greet(
  transport: GreetedTransport,
  request: GreetingRequest,
  time: GreetingTime,
): Promise<Greeting> {
  return new Greeter(transport, request, time).run()
}

type GreetedTransport = GuardedTransport & Pick<StdioTransport, 'answerGreeting'>
type GreetingRequest = Pick<OpenRequest, 'client' | 'deadline' | 'era'>
type GreetingTime = Pick<OpenOptions, 'now' | 'schedule'>

class Greeter {
  readonly #transport: GreetedTransport
  readonly #request: GreetingRequest
  readonly #time: GreetingTime
  readonly #requests: Requests
  readonly #limits: { readonly timeoutMs: number }
  readonly #startedAt: number
  #stopTimer = () => {}

  constructor(transport: GreetedTransport, request: GreetingRequest, time: GreetingTime) {
    this.#transport = transport
    this.#request = request
    this.#time = time
    this.#requests = new Requests(transport, time)
    this.#limits = { timeoutMs: request.deadline.remainingMs }
    this.#startedAt = time.now()
  }

  async run(): Promise<Greeting> {
    const transport = this.#transport
    const requests = this.#requests
    transport.intercept = (message) => requests.take(message)
    transport.onclose = () => requests.failAll(new SdkError(SdkErrorCode.EraNegotiationFailed, ENDED))
    try {
      await transport.start()
      const discovered = this.#discover()
      // A server that was modern before gets as long as it needs to start.
      const patienceMs = this.#request.era === 'modern' ? Number.POSITIVE_INFINITY : PATIENCE_MS
      const answer = await Promise.race([discovered, this.#silence(patienceMs)])
      return answer === 'silence' ? await this.#greetInOldWayToo(discovered) : answer
    } finally {
      this.#stopTimer()
      delete transport.intercept
      delete transport.onclose
      requests.failAll(new Error('the question is settled'))
    }
  }

  /** For a server that has not responded to the modern greeting yet: its first response decides. */
  async #greetInOldWayToo(discovered: Promise<Greeting>): Promise<Greeting> {
    // A server that rejects the old greeting has yet to respond to the modern one.
    const initialized = this.#initialize().catch((error: unknown) =>
      error instanceof ServerError ? discovered : Promise.reject(error),
    )
    const first = await Promise.race([discovered, initialized])
    if (first.kind === 'legacy') return initialized
    const second = await Promise.race([initialized, this.#silence(PATIENCE_MS)])
    if (second === 'silence' || second.kind === 'modern') return first
    // It supports both eras, was slow to start, and now treats us as an old client.
    const isTimeToRestart = this.#time.now() - this.#startedAt < this.#request.deadline.remainingMs / 2
    if (isTimeToRestart) throw new SpeaksBothError()
    return second
  }

  /** Greets in the modern way. */
  async #discover(): Promise<Greeting> {
    const { name, version, capabilities = {} } = this.#request.client
    const _meta = {
      [PROTOCOL_VERSION_META_KEY]: MODERN,
      [CLIENT_INFO_META_KEY]: { name, version },
      [CLIENT_CAPABILITIES_META_KEY]: capabilities,
    }
    try {
      return readDiscovery(await this.#requests.send('server/discover', { _meta }, this.#limits))
    } catch (error) {
      if (error instanceof ServerError) return LEGACY
      throw error
    }
  }

  /** Greets in the old way. */
  async #initialize(): Promise<Greeting> {
    const { name, version, capabilities = {} } = this.#request.client
    const clientInfo = { name, version }
    const params = { protocolVersion: LATEST_PROTOCOL_VERSION, capabilities, clientInfo }
    this.#transport.answerGreeting(await this.#requests.send('initialize', params, this.#limits))
    return LEGACY
  }

  /** Resolves after this time, or after half of the time that is left. */
  #silence(patienceMs: number): Promise<'silence'> {
    const ms = Math.min(patienceMs, this.#request.deadline.remainingMs / 2)
    return new Promise((resolve) => {
      this.#stopTimer = this.#time.schedule(ms, () => resolve('silence'))
    })
  }
}

/**
 * The server supports both eras but was greeted in the old way; after a restart it can be greeted in the modern one.
 */
export class SpeaksBothError extends Error {
  override readonly name = 'SpeaksBothError'
}

export const LEGACY: Greeting = { kind: 'legacy' }
const ENDED = 'the server exited when asked for its protocol revision'

function readDiscovery(result: Readonly<Record<string, unknown>>): Greeting {
  const { supportedVersions } = result
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN)) return LEGACY
  // The SDK validates it again.
  return { kind: 'modern', discover: result as unknown as DiscoverResult }
}
