import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type DiscoverResult,
  LATEST_PROTOCOL_VERSION,
  PROTOCOL_VERSION_META_KEY,
  SdkError,
  SdkErrorCode,
} from '@modelcontextprotocol/client'
import type { Schedule } from '../../../time.ts'
import type { ConnectionOptions } from '../connection.ts'
import type { OpenRequest } from '../open-connection.ts'
import { type GuardedTransport, Requests, ServerError } from '../requests.ts'
import type { StdioTransport } from './stdio-transport.ts'

type Greeting = Exclude<ConnectionOptions['greeting'], 'auto'>

/** The first protocol revision without a handshake. */
const MODERN = '2026-07-28'
/** How long a server may be silent before it is also greeted in the old way. */
const PATIENCE_MS = 1_000

/**
 * Starts a server and detects its protocol era, trying the modern greeting first. A server that rejects it is an old
 * one. A server that stays silent may be old, or just slow to start: it is then greeted in the old way too, and its
 * response decides. Rejects with `EraNegotiationFailed` when the server exits because of the greeting, with a
 * `SpeaksBothError`, and with the reason when it cannot be greeted at all.
 */
export async function greet(
  transport: GuardedTransport & Pick<StdioTransport, 'answerGreeting'>,
  { client, deadline, era }: Pick<OpenRequest, 'client' | 'deadline' | 'era'>,
  time: { readonly now: () => number; readonly schedule: Schedule },
): Promise<Greeting> {
  const { name, version, capabilities = {} } = client
  const clientInfo = { name, version }
  const requests = new Requests(transport, time)
  const limits = { timeoutMs: deadline.remainingMs }
  const askInNewWay = async (): Promise<Greeting> => {
    const _meta = {
      [PROTOCOL_VERSION_META_KEY]: MODERN,
      [CLIENT_INFO_META_KEY]: clientInfo,
      [CLIENT_CAPABILITIES_META_KEY]: capabilities,
    }
    try {
      return readDiscovery(await requests.send('server/discover', { _meta }, limits))
    } catch (error) {
      if (error instanceof ServerError) return LEGACY
      throw error
    }
  }
  const greetInOldWay = async (): Promise<Greeting> => {
    const params = { protocolVersion: LATEST_PROTOCOL_VERSION, capabilities, clientInfo }
    transport.answerGreeting(await requests.send('initialize', params, limits))
    return LEGACY
  }

  const silence = (patienceMs: number) =>
    new Promise<'silence'>((resolve) => {
      stopTimer = time.schedule(Math.min(patienceMs, deadline.remainingMs / 2), () => resolve('silence'))
    })

  let stopTimer = () => {}
  transport.intercept = (message) => requests.take(message)
  transport.onclose = () => requests.failAll(new SdkError(SdkErrorCode.EraNegotiationFailed, ENDED))
  try {
    const startedAt = time.now()
    await transport.start()
    const asked = askInNewWay()
    // A server that was modern before gets as long as it needs to start.
    const patienceMs = era === 'modern' ? Number.POSITIVE_INFINITY : PATIENCE_MS
    const answer = await Promise.race([asked, silence(patienceMs)])
    if (answer !== 'silence') return answer
    // A server that rejects the old greeting has yet to respond to the modern one.
    const greeted = greetInOldWay().catch((error: unknown) =>
      error instanceof ServerError ? asked : Promise.reject(error),
    )
    const first = await Promise.race([asked, greeted])
    if (first.kind === 'legacy') return await greeted
    const second = await Promise.race([greeted, silence(PATIENCE_MS)])
    if (second === 'silence' || second.kind === 'modern') return first
    // It supports both eras, was slow to start, and now treats us as an old client.
    if (time.now() - startedAt < deadline.remainingMs / 2) throw new SpeaksBothError()
    return second
  } finally {
    stopTimer()
    delete transport.intercept
    delete transport.onclose
    requests.failAll(new Error('the question is settled'))
  }
}

/**
 * The server supports both eras but was greeted in the old way; after a restart it can be greeted in the modern one.
 */
export class SpeaksBothError extends Error {
  override readonly name = 'SpeaksBothError'
}

const LEGACY: Greeting = { kind: 'legacy' }
const ENDED = 'the server exited when asked for its protocol revision'

function readDiscovery(result: Readonly<Record<string, unknown>>): Greeting {
  const { supportedVersions } = result
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN)) return LEGACY
  // The SDK validates it again.
  return { kind: 'modern', discover: result as unknown as DiscoverResult }
}
