import { hash, timingSafeEqual } from 'node:crypto'
import type { GatewayOAuth, GatewayOptions, GatewayToken } from '../gateway-options.ts'
import { OAuthResource } from './oauth-resource.ts'
import { NOT_FOR_CLIENTS, type Principal, Refusal, TOKEN_NEEDED, TOKEN_NOT_ACCEPTED } from './principal.ts'

/** The headers that decide whether a request may pass. */
export interface AccessHeaders {
  readonly host: string | undefined
  readonly origin: string | undefined
  readonly authorization: string | undefined
}

interface KnownToken {
  readonly digest: Buffer
  readonly principal: Principal
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

/** The principal when the gateway has no tokens. */
const ANYONE: Principal = { id: 'anyone', name: 'anyone', profile: undefined, profiles: undefined }

/**
 * Decides who may send requests: by the Host header, the Origin header, then the token. Only hashes of tokens are kept,
 * and they are compared in constant time.
 */
export class Access {
  #hosts: ReadonlySet<string>
  readonly #origins: ReadonlySet<string>
  #known: readonly KnownToken[]
  /** Set when tokens come from an OAuth issuer. */
  #oauth: OAuthResource | undefined
  #revision = 0

  constructor({
    hosts = LOOPBACK,
    origins = [],
    tokens = [],
    oauth,
    now = Date.now,
  }: Pick<GatewayOptions, 'hosts' | 'origins' | 'tokens' | 'oauth' | 'now'>) {
    this.#hosts = lowerCase(hosts)
    this.#origins = lowerCase(origins)
    this.#known = tokens.map(knownToken)
    this.#oauth = oauth && new OAuthResource(oauth, now)
  }

  /** Increases whenever the accepted tokens change. */
  get revision(): number {
    return this.#revision
  }

  /** Accepts only these tokens from now on. Returns the principals that are no longer accepted. */
  replaceTokens(tokens: readonly GatewayToken[]): readonly Principal[] {
    const before = this.#known.map(({ principal }) => principal)
    this.#known = tokens.map(knownToken)
    this.#revision++
    return before.filter((principal) => !this.stillAccepts(principal))
  }

  /** Serves only requests for these host names from now on. */
  replaceHosts(hosts: readonly string[]): void {
    this.#hosts = lowerCase(hosts)
  }

  /** Checks tokens with these settings from now on, if they come from an OAuth issuer. */
  replaceOAuth(oauth: GatewayOAuth): void {
    this.#oauth = this.#oauth?.withSettings(oauth)
    this.#revision++
  }

  /** Whether an accepted token is still accepted for the same profile. OAuth tokens are, until they expire. */
  stillAccepts({ id, profile, issuer }: Principal): boolean {
    if (this.#oauth && issuer !== undefined) return this.#oauth.issuer === issuer
    if (this.#known.length === 0) return true
    return this.#known.some(({ principal }) => principal.id === id && principal.profile === profile)
  }

  /**
   * Returns the operator who sent the request, or the response that refuses it: 403 for an unknown host or origin and
   * for the token of a client, 401 without a token.
   */
  async check(request: Request): Promise<Principal | Response> {
    const headers = headersOf(request)
    const checked = this.checkAddress(request) ?? (await this.identify(headers.authorization))
    if (checked instanceof Refusal) return checked.toResponse()
    if (checked instanceof Response || this.isOperator(checked)) return checked
    return new Refusal(403, NOT_FOR_CLIENTS).toResponse()
  }

  /** Whether someone may use the page and `/metrics`: an operator, or anybody if there are no tokens. */
  isOperator(principal: Principal): boolean {
    return principal.isOperator === true || principal === ANYONE
  }

  /**
   * Returns the response that refuses an unknown host or origin, for routes that need no token; undefined if the
   * request may pass.
   */
  checkAddress(request: Request): Response | undefined {
    const reason = this.refuseAddress(headersOf(request))
    return reason === undefined ? undefined : new Refusal(403, reason).toResponse()
  }

  /** The metadata of an OAuth resource server for a path below `/.well-known/`; undefined if there is none. */
  metadata(path: string): object | undefined {
    return this.#oauth?.metadata(path)
  }

  /**
   * Returns why a request is refused, or undefined if it may pass. With DNS rebinding a request has an unknown host; a
   * request from another web page has an unknown origin.
   */
  refuseAddress({ host = '', origin }: Omit<AccessHeaders, 'authorization'>): string | undefined {
    const asked = host.toLowerCase()
    const hostname = hostnameOf(asked)
    if (hostname === undefined || !this.#hosts.has(hostname)) return 'this host name is not served here'
    const page = origin?.toLowerCase()
    if (page === undefined || this.#origins.has(page)) return undefined
    const isOwnPage = page === `http://${asked}` || page === `https://${asked}`
    return isOwnPage ? undefined : 'this origin may not send requests here'
  }

  /**
   * Returns whom an `Authorization` header belongs to, or why it is refused. `profile` is the one the request is for.
   */
  identify(
    authorization: string | undefined,
    profile?: string,
  ): Principal | Refusal | Promise<Principal | Refusal> {
    const token = /^Bearer +([^\s]+) *$/i.exec(authorization ?? '')?.[1]
    const found = this.#find(token)
    if (found) return found
    if (this.#oauth) return this.#oauth.identify(token, profile)
    if (this.#known.length === 0) return ANYONE
    const error = token === undefined ? TOKEN_NEEDED : TOKEN_NOT_ACCEPTED
    return new Refusal(401, error, { 'www-authenticate': 'Bearer' })
  }

  #find(token: string | undefined): Principal | undefined {
    const digest = digestOf(token ?? '')
    // All tokens are compared, in constant time, so that timing does not reveal how close a guess is.
    let found: Principal | undefined
    for (const known of this.#known) if (timingSafeEqual(known.digest, digest)) found = known.principal
    return found
  }
}

function headersOf({ headers, url }: Request): AccessHeaders {
  return {
    host: headers.get('host') ?? new URL(url).host,
    origin: headers.get('origin') ?? undefined,
    authorization: headers.get('authorization') ?? undefined,
  }
}

function lowerCase(names: readonly string[]): ReadonlySet<string> {
  return new Set(names.map((name) => name.toLowerCase()))
}

function hostnameOf(host: string): string | undefined {
  return /^(\[[0-9a-f:.]+\]|[^:/?#@\s]+)(?::\d+)?$/.exec(host)?.[1]
}

function knownToken({ token, profile, name, operator }: GatewayToken, index: number): KnownToken {
  const digest = digestOf(token)
  const id = digest.toString('hex').slice(0, 32)
  const isOperator = operator === true
  const profiles = isOperator ? [] : profile === undefined ? undefined : [profile]
  const known = name ?? (isOperator ? 'operator' : `client-${index + 1}`)
  return { digest, principal: { id, name: known, profile, profiles, isOperator } }
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
