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

/** The first revision without a handshake. */
const MODERN = '2026-07-28'
/** How long a server may stay silent before it is greeted in the old way as well. */
const PATIENCE_MS = 1_000

/**
 * Starts a server and finds out which era it speaks. It is asked in the new way first. A server that refuses is an old
 * one. One that stays silent may be old and ignore what it does not know, or may just be slow to start: it is greeted in
 * the old way too, and what it makes of that decides. Rejects with `EraNegotiationFailed` when the server ends over the
 * question, with a `SpeaksBothError`, and with any other reason why it could not be asked.
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
    // One that was modern before is given the time it takes to start.
    const patienceMs = era === 'modern' ? Number.POSITIVE_INFINITY : PATIENCE_MS
    const answer = await Promise.race([asked, silence(patienceMs)])
    if (answer !== 'silence') return answer
    // A server that refuses the old greeting has yet to answer the question.
    const greeted = greetInOldWay().catch((error: unknown) =>
      error instanceof ServerError ? asked : Promise.reject(error),
    )
    const first = await Promise.race([asked, greeted])
    if (first.kind === 'legacy') return await greeted
    const second = await Promise.race([greeted, silence(PATIENCE_MS)])
    if (second === 'silence' || second.kind === 'modern') return first
    // It speaks both, was slow to start, and now takes us for an old client.
    if (time.now() - startedAt < deadline.remainingMs / 2) throw new SpeaksBothError()
    return second
  } finally {
    stopTimer()
    delete transport.intercept
    delete transport.onclose
    requests.failAll(new Error('the question is settled'))
  }
}

/** The server speaks both eras and has been greeted in the old way; started again, it can be greeted in the new one. */
export class SpeaksBothError extends Error {
  override readonly name = 'SpeaksBothError'
}

const LEGACY: Greeting = { kind: 'legacy' }
const ENDED = 'the server ended when it was asked for its protocol revision'

function readDiscovery(result: Readonly<Record<string, unknown>>): Greeting {
  const { supportedVersions } = result
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN)) return LEGACY
  // The SDK checks it once more when it takes it over.
  return { kind: 'modern', discover: result as unknown as DiscoverResult }
}
