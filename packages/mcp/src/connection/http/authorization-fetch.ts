import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isPublicAddress } from '../../capabilities/network/public-address.ts'
import { networkBackend } from '../../capabilities/network.ts'

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>
type Lookup = (host: string) => Promise<readonly { readonly address: string; readonly family: number }[]>

/** Where requests go, and what limits them. */
export interface AuthorizationPlace {
  readonly server: string
  /** The configured address of the server. */
  readonly url: URL
  /** Reaches the server itself. */
  readonly fetch: Fetch
  /** Fires when the server is stopped. */
  readonly signal: AbortSignal
  /** Default: the system's. */
  readonly lookup?: Lookup
}

/**
 * The fetch of an authorization, whose addresses the server chooses. A server on the internet cannot make it reach
 * private addresses: other origins are fetched with the checks of the network capability. A server at a private address
 * is in that network already.
 */
export function authorizationFetch({
  server,
  url,
  fetch,
  signal,
  lookup = (host) => systemLookup(host, { all: true }),
}: AuthorizationPlace): Fetch {
  const scope = { tool: server, sessionId: '', signal, attachments: [], context: undefined }
  // Looked up once: whoever owns the name could change it meanwhile.
  let checked: Promise<boolean> | undefined
  return async (target, init) => {
    checked ??= isPublic(url.hostname, lookup)
    if (new URL(target).origin === url.origin || !(await checked)) return fetch(target, init)
    const network = await networkBackend({ hosts: ['*'], lookup }).open(['*'], scope)
    return network.fetch(String(target), init)
  }
}

/** A host counts as public, which is the stricter case, unless all its addresses are private. */
async function isPublic(hostname: string, lookup: Lookup): Promise<boolean> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) !== 0) return isPublicAddress(host)
  const addresses = await lookup(host).catch(() => [])
  return addresses.length === 0 || addresses.some(({ address }) => isPublicAddress(address))
}
