import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isPublicAddress } from '../../capabilities/network/public-address.ts'
import { networkBackend } from '../../capabilities/network.ts'

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>
type Lookup = (host: string) => Promise<readonly { readonly address: string; readonly family: number }[]>

const MAX_HOPS = 5

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
  const reach = async (target: string | URL, init: RequestInit = {}, hops = MAX_HOPS): Promise<Response> => {
    checked ??= isPublic(url.hostname, lookup)
    if (!(await checked)) return fetch(target, init)
    if (new URL(target).origin !== url.origin) {
      const network = await networkBackend({ hosts: ['*'], lookup }).open(['*'], scope)
      return network.fetch(String(target), init)
    }
    // Redirects of the server itself lead to addresses that it chose, too.
    const response = await fetch(target, { ...init, redirect: 'manual' })
    const location = response.status >= 300 && response.status < 400 && response.headers.get('location')
    if (!location || hops === 0 || (init.method ?? 'GET') !== 'GET') return response
    return reach(new URL(location, target), init, hops - 1)
  }
  return (target, init) => reach(target, init)
}

/** A host counts as public, which is the stricter case, unless all its addresses are private. */
async function isPublic(hostname: string, lookup: Lookup): Promise<boolean> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) !== 0) return isPublicAddress(host)
  const addresses = await lookup(host).catch(() => [])
  return addresses.length === 0 || addresses.some(({ address }) => isPublicAddress(address))
}
