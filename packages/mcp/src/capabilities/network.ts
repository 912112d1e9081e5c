import { lookup as systemLookup } from 'node:dns/promises'
import { isIP, isIPv4 } from 'node:net'
import { type CapabilityBackend, CapabilityError, ToolcribError } from '@toolcrib/core'
import {
  anyFunction,
  checkOptions,
  describeError,
  milliseconds,
  type OptionRules,
  required,
  textList,
  wholeNumber,
} from '@toolcrib/core/internal'
import { checkRunning } from './check-running.ts'
import { type Address, exchange, type Incoming, type Outgoing } from './network/exchange.ts'
import { type HostTest, hostOf, hostTest, portOf } from './network/host-list.ts'
import { isPublicAddress } from './network/public-address.ts'

/** Which hosts may be reached, and the time and size limits of requests. */
export interface NetworkOptions {
  /** Allowed hosts: `example.com`, `*.example.com`, each with an optional `:port`; `*` allows every public host. */
  readonly hosts: readonly string[]
  /** Private hosts or addresses, with an optional `:port`, that may be reached. None by default. */
  readonly allowPrivate?: readonly string[]
  /** Time limit for a request, including redirects and the body. 30 seconds by default. */
  readonly timeoutMs?: number
  /** Maximum size of a decoded response body, in bytes. 10 MiB by default. */
  readonly maxBytes?: number
  /** Maximum size of a request body, in bytes. 10 MiB by default. */
  readonly maxRequestBytes?: number
  /** Maximum number of redirects to follow. 5 by default. */
  readonly maxRedirects?: number
  /** Resolves host names to addresses. The system's resolver by default. */
  readonly lookup?: (host: string) => Promise<readonly Address[]>
}

const OPTIONS: OptionRules<NetworkOptions> = {
  hosts: required(textList),
  allowPrivate: textList,
  timeoutMs: milliseconds({ from: 1 }),
  maxBytes: wholeNumber({ from: 1 }),
  maxRequestBytes: wholeNumber({ from: 1 }),
  maxRedirects: wholeNumber(),
  lookup: anyFunction,
}

const MAX_BYTES = 10 * 1024 * 1024
const REDIRECTS = new Set([301, 302, 303, 307, 308])
const WITHOUT_BODY = new Set([204, 205, 304])
/** Connection headers that tools may not set; `host` in particular could select another site at the same address. */
const CONNECTION_HEADERS =
  /^(host|connection|content-length|transfer-encoding|upgrade|expect|keep-alive|te|trailer|proxy-.*)$/
/** The only headers forwarded to another origin: none of them can hold a credential. */
const HARMLESS_HEADERS = /^(accept|accept-language|accept-encoding|content-type|range|user-agent)$/

/**
 * Fetches over http and https from the host's allowlist. The backend resolves names itself, checks every address and
 * connects to a checked address, so a name cannot resolve differently in between. Private addresses are denied unless
 * listed in `allowPrivate`. Each redirect is checked like a new request, and headers that could hold credentials are
 * dropped when it leaves the origin. Proxy settings in the environment are ignored.
 */
export function networkBackend(options: NetworkOptions): CapabilityBackend<'network'> {
  checkOptions('networkBackend()', options, OPTIONS)
  const { timeoutMs = 30_000, maxBytes = MAX_BYTES, maxRequestBytes = MAX_BYTES, maxRedirects = 5 } = options
  const lookup = options.lookup ?? ((host) => systemLookup(host, { all: true }))
  const isGranted = hostTest(options.hosts)
  const isPrivateAllowed = hostTest(options.allowPrivate ?? [])
  if (options.allowPrivate?.includes('*')) {
    throw new ToolcribError(
      'config-invalid',
      'allowPrivate does not accept "*", which would open the whole private network; list the hosts by name',
    )
  }

  return {
    open(declared, scope) {
      if (declared.length === 0 || options.hosts.length === 0) {
        throw new CapabilityError(
          'denied',
          `the host grants ${scope.tool} no network access; add hosts to networkBackend`,
        )
      }
      const isDeclared = hostTest(declared)
      const listed = declared.includes('*') ? options.hosts : declared
      const check = async (url: URL, signal: AbortSignal): Promise<readonly Address[]> => {
        checkUrl(url)
        if (!isDeclared(hostOf(url), portOf(url)) || !isGranted(hostOf(url), portOf(url))) {
          throw new CapabilityError('denied', `${url.host} may not be reached; granted: ${listed.join(', ')}`)
        }
        const addresses = await abortable(resolveHost(hostOf(url), lookup), signal)
        checkAddresses(url, addresses, isPrivateAllowed)
        return addresses
      }

      return {
        async fetch(target, init = {}) {
          checkRunning(scope.signal)
          // Checked first: error messages of other parsers quote the whole address.
          if (URL.canParse(String(target))) checkUrl(new URL(target))
          const shown = shownUrl(target)
          const limit = AbortSignal.timeout(timeoutMs)
          const signals = [scope.signal, limit, ...(init.signal ? [init.signal] : [])]
          const signal = AbortSignal.any(signals)
          try {
            const { url, outgoing, redirect } = await readRequest(target, init, maxRequestBytes)
            checkDisguise(target, url)
            return await follow(url, outgoing, { check, redirect, maxRedirects, maxBytes, signal })
          } catch (thrown) {
            if (limit.aborted) throw tooSlow(shown, timeoutMs)
            if (signal.aborted)
              throw new CapabilityError('cancelled', `the request to ${shown} was cancelled`)
            if (thrown instanceof CapabilityError) throw thrown
            throw new CapabilityError(
              'execution_failed',
              `${shown} could not be fetched: ${reasonOf(thrown)}`,
              {
                cause: thrown,
              },
            )
          }
        },
      }
    },
  }
}

interface Journey {
  readonly check: (url: URL, signal: AbortSignal) => Promise<readonly Address[]>
  readonly redirect: RequestRedirect
  readonly maxRedirects: number
  readonly maxBytes: number
  readonly signal: AbortSignal
}

async function follow(url: URL, outgoing: Outgoing, journey: Journey): Promise<Response> {
  const { check, redirect, maxRedirects, maxBytes, signal } = journey
  for (let hops = 0; ; hops++) {
    const addresses = await check(url, signal)
    const incoming = await exchange(url, outgoing, addresses, { maxBytes, signal })
    const location = REDIRECTS.has(incoming.status) ? incoming.headers.get('location') : null
    if (location === null || redirect === 'manual') return toResponse(incoming, url, hops > 0)
    if (redirect === 'error' || hops === maxRedirects) {
      throw new CapabilityError(
        'execution_failed',
        `${url} redirects to ${shownUrl(location)}; fetch that URL directly if you need it`,
      )
    }
    const next = nextUrl(location, url)
    outgoing = nextRequest(outgoing, incoming.status, next.origin === url.origin)
    url = next
  }
}

function nextUrl(location: string, from: URL): URL {
  if (!URL.canParse(location, from)) {
    throw new CapabilityError(
      'execution_failed',
      `${from} redirects to "${shownUrl(location)}", which is not a valid URL; fetch another URL`,
    )
  }
  const url = new URL(location, from)
  if (url.host !== from.host) checkDisguise(location, url)
  if (url.hash === '') url.hash = from.hash
  return url
}

function nextRequest({ method, headers, body }: Outgoing, status: number, isSameOrigin: boolean): Outgoing {
  const kept = new Headers()
  const becomesGet = status === 303 ? method !== 'HEAD' : method === 'POST' && status < 303
  for (const [name, value] of headers) {
    if (becomesGet && name.startsWith('content-')) continue
    if (isSameOrigin || HARMLESS_HEADERS.test(name)) kept.append(name, value)
  }
  if (becomesGet) return { method: 'GET', headers: kept, body: undefined }
  return { method, headers: kept, body }
}

/** `Request` accepts every kind of body and header. The body is buffered, so that a redirect can send it again. */
async function readRequest(target: string | URL, init: RequestInit, maxBytes: number) {
  const { signal: _ours, ...rest } = init
  const request = new Request(target, body(rest))
  const bytes = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer())
  if (bytes !== undefined && bytes.byteLength > maxBytes) {
    throw new CapabilityError(
      'execution_failed',
      `the request body exceeds the ${maxBytes} bytes the host allows; send less`,
    )
  }
  const headers = new Headers({
    'accept-encoding': 'gzip, deflate, br',
    'user-agent': 'toolcrib',
    accept: '*/*',
  })
  for (const [name, value] of request.headers) if (!CONNECTION_HEADERS.test(name)) headers.set(name, value)
  const outgoing: Outgoing = { method: request.method, headers, body: bytes }
  return { url: new URL(request.url), outgoing, redirect: request.redirect }
}

// A stream body requires this flag, which the DOM types lack.
function body(init: RequestInit): RequestInit {
  return init.body instanceof ReadableStream ? ({ ...init, duplex: 'half' } as RequestInit) : init
}

function checkUrl(url: URL): void {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new CapabilityError('denied', `${url.protocol} URLs are not supported; use http or https`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new CapabilityError(
      'denied',
      'a URL must not contain a user name or password; send a header instead',
    )
  }
}

/**
 * `http://2130706433` and `http://0x7f.1` are obfuscated addresses: the parsed URL has dots where the text had none.
 */
function checkDisguise(target: string | URL, url: URL): void {
  if (typeof target !== 'string' || !isIPv4(url.hostname)) return
  const authority = /^(?:[a-z][a-z0-9+.-]*:)?[\\/]*([^\\/?#]*)/i.exec(target.trim())?.[1] ?? ''
  if (authority.includes(url.hostname)) return
  throw new CapabilityError(
    'denied',
    `${shownUrl(target)} is an obfuscated form of ${url.hostname}; write the address with dots`,
  )
}

async function resolveHost(host: string, lookup: (host: string) => Promise<readonly Address[]>) {
  const version = isIP(host)
  if (version !== 0) return [{ address: host, family: version }]
  const addresses = await lookup(host)
  if (addresses.length > 0) return addresses
  throw new CapabilityError('execution_failed', `${host} has no address; check the host name`)
}

/** A single private address blocks the host: a name with both public and private addresses suggests an attack. */
function checkAddresses(url: URL, addresses: readonly Address[], isPrivateAllowed: HostTest): void {
  const port = portOf(url)
  if (isPrivateAllowed(hostOf(url), port)) return
  const refused = addresses.find(
    ({ address }) => !isPublicAddress(address) && !isPrivateAllowed(address, port),
  )
  if (refused === undefined) return
  throw new CapabilityError(
    'denied',
    `${url.host} resolves to the private address ${refused.address}; only the host can allow that, with allowPrivate`,
  )
}

function toResponse(
  { status, statusText, headers, body }: Incoming,
  url: URL,
  redirected: boolean,
): Response {
  const isEmpty = WITHOUT_BODY.has(status) || body.byteLength === 0
  const response = new Response(isEmpty ? null : new Uint8Array(body), { status, statusText, headers })
  Object.defineProperties(response, { url: { value: url.href }, redirected: { value: redirected } })
  return response
}

/** The signal is this fetch's own, so its listener needs no removal. */
async function abortable<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted()
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  return Promise.race([work, aborted])
}

/** A URL for display, without user name and password. */
function shownUrl(target: string | URL): string {
  return String(target).replace(/^([a-z][a-z0-9+.-]*:)?([\\/]*)[^\\/?#]*@/i, '$1$2')
}

function tooSlow(target: string, timeoutMs: number): CapabilityError {
  return new CapabilityError(
    'timeout',
    `${target} did not respond within ${timeoutMs} ms; try again later or use another URL`,
  )
}

// A connection attempted on several addresses fails with an error per address and an empty message of its own.
function reasonOf(thrown: unknown): string {
  if (thrown instanceof AggregateError) return thrown.errors.map(describeError).join('; ')
  return describeError(thrown)
}
