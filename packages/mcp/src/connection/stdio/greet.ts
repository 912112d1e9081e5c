import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type DiscoverResult,
  LATEST_PROTOCOL_VERSION,
  PROTOCOL_VERSION_META_KEY,
  SdkError,
  SdkErrorCode,
} from '@modelcontextprotocol/client'
import { type Greeting, LEGACY, type OpenOptions, type OpenRequest, PATIENCE_MS } from '../connect.ts'
import { type GuardedTransport, Requests, ServerError } from '../requests.ts'
import type { StdioTransport } from './stdio-transport.ts'

/** The first protocol revision without a handshake. */
const MODERN = '2026-07-28'
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

const ENDED = 'the server exited when asked for its protocol revision'

function readDiscovery(result: Readonly<Record<string, unknown>>): Greeting {
  const { supportedVersions } = result
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN)) return LEGACY
  // The SDK validates it again.
  return { kind: 'modern', discover: result as unknown as DiscoverResult }
}
