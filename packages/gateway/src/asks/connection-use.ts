import { createHash } from 'node:crypto'
import type { Json } from '../json-rpc.ts'
import type { AskedCapabilities } from './asking-servers.ts'
import type { ClientLine } from './client-line.ts'

/** Which private connections to a server a request may use, and with whom it shares them. */
export interface ConnectionUse {
  readonly server: string
  readonly principal: string
  /** Equal for all requests that may use the same connections. */
  readonly pool: string
  readonly capabilities: Json
  /** The session that the connection belongs to: its client is asked for roots when the server wants to know them. */
  readonly owner?: string | undefined
  /** The answer to `roots/list`, equal for everybody who uses the connection; null if the client gave none. */
  readonly roots?: Json | null | undefined
  /** Whether a connection carries a single request at a time. */
  readonly isExclusive: boolean
}

/** What a server is remembered for that asks for roots whatever is called, as many do when they start. */
export const ROOTS_AT_START = 'roots at start'

/**
 * The private connections for a request; undefined if it uses the shared one. An older server does not say which request
 * its question is about, and may remember the answer. So each session of an older client has its own connection. Modern
 * clients have no sessions, and clients with the same token may be told apart only by what they say: their connections
 * carry one request at a time, and later only requests of the same client with the same roots. If a server has asked for
 * nothing but roots, all clients of a token with equal roots share one.
 */
export async function connectionUse(
  server: string,
  line: ClientLine,
  { asked, expected }: AskedCapabilities,
  rootsOf: (line: ClientLine) => Promise<Json | undefined>,
): Promise<ConnectionUse | undefined> {
  const { principal, capabilities, owner } = line
  const needed = [...expected].filter((capability) => capabilities[capability] !== undefined)
  if (needed.length === 0) return undefined
  // A modern client is asked for roots before its calls only if the server wants them whatever is called.
  const asksInCalls = line.era === 'modern' && !asked.has(ROOTS_AT_START)
  const asksMore = asksInCalls || needed.some((capability) => capability !== 'roots')
  const use = { server, principal, capabilities }
  if (asksMore && line.era === 'legacy')
    return { ...use, owner, pool: digestOf(server, owner), isExclusive: false }
  // A server that may only be expected to ask for roots asks the client itself.
  const asksRoots = needed.includes('roots') && !asksInCalls && (asked.has('roots') || !asksMore)
  const roots = asksRoots ? ((await rootsOf(line)) ?? null) : undefined
  if (asksMore) return { ...use, roots, pool: digestOf(server, line.client, roots), isExclusive: true }
  // Without its roots, it is like a client that has none.
  if (!roots) return undefined
  return { ...use, roots, pool: digestOf(server, principal, capabilities, roots), isExclusive: false }
}

/** Of a fixed length: roots and what clients say about themselves may be long. */
function digestOf(...parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}
