import { createHash } from 'node:crypto'
import type { JWTVerifyGetKey } from 'jose'
import type { GatewayOAuth } from '../gateway-options.ts'
import { isJson } from '../json-rpc.ts'
import { type Principal, Refusal, TOKEN_NEEDED } from './principal.ts'

/** Only signatures that need the issuer's private key: a shared secret could be guessed. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]
const CLOCK_TOLERANCE_S = 30
const FETCH_TIMEOUT_MS = 5_000
/** A checked token is not checked again for this long. */
const TRUST_MS = 60_000
const MAX_TRUSTED = 1_000
const MAX_TOKEN_CHARACTERS = 16_384

/**
 * The gateway as an OAuth 2.1 resource server: tokens are JWTs of one issuer for this gateway, and their scopes decide
 * which profiles they open.
 */
export class OAuthResource {
  readonly #settings: GatewayOAuth
  readonly #now: () => number
  readonly #trusted = new Map<string, { readonly principal: Principal; readonly until: number }>()
  #keys: Promise<JWTVerifyGetKey> | undefined

  constructor(settings: GatewayOAuth, now: () => number) {
    this.#settings = settings
    this.#now = now
  }

  /** The same resource with other settings. Keys from the same address are not fetched again. */
  withSettings(settings: GatewayOAuth): OAuthResource {
    const { issuer, jwksUri } = this.#settings
    const changed = new OAuthResource(settings, this.#now)
    if (settings.issuer === issuer && settings.jwksUri === jwksUri) changed.#keys = this.#keys
    return changed
  }

  get issuer(): string {
    return this.#settings.issuer
  }

  /** The metadata of RFC 9728 for a path below `/.well-known/`; undefined if there is none. */
  metadata(path: string): object | undefined {
    const own = new URL(this.#settings.resource).pathname.replace(/\/$/, '')
    const prefix = '/.well-known/oauth-protected-resource'
    if (path !== prefix && path !== `${prefix}${own}` && !path.startsWith(`${prefix}${own}/`))
      return undefined
    const profile = path === prefix ? '' : path.slice(prefix.length + own.length + 1)
    const { resource, issuer, scopes } = this.#settings
    const fitting = Object.keys(scopes).filter((scope) => profile === '' || this.#opens(scope, profile))
    if (fitting.length === 0) return undefined
    return {
      resource: profile === '' ? resource : `${resource.replace(/\/$/, '')}/${profile}`,
      authorization_servers: [issuer],
      scopes_supported: fitting,
      bearer_methods_supported: ['header'],
      resource_name: 'toolcrib',
    }
  }

  /** Returns whom a token belongs to, or why it is refused. `profile` is the one that the request is for. */
  async identify(token: string | undefined, profile: string | undefined): Promise<Principal | Refusal> {
    if (token === undefined) return this.#refusal(401, TOKEN_NEEDED, {}, profile)
    const checked = await this.#check(token, profile)
    if (checked instanceof Refusal) return checked
    const isOpen = profile === undefined || checked.profiles?.includes(profile) !== false
    if ((checked.profiles?.length === 0 && !checked.isOperator) || !isOpen)
      return this.#refusal(403, 'the token lacks a scope', { error: 'insufficient_scope' }, profile)
    return checked
  }

  async #check(token: string, profile: string | undefined): Promise<Principal | Refusal> {
    const digest = createHash('sha256')
      .update(`${profile ?? ''}\n${token}`)
      .digest('base64url')
    const trusted = this.#trusted.get(digest)
    if (trusted && trusted.until > this.#now()) return trusted.principal
    this.#trusted.delete(digest)
    if (token.length > MAX_TOKEN_CHARACTERS)
      return this.#refusal(401, 'the token is not valid', { error: 'invalid_token' }, profile)
    const { jwtVerify, errors } = await import('jose')
    try {
      const { payload } = await jwtVerify(token, await this.#loadKeys(), {
        issuer: this.#settings.issuer,
        audience: this.#audiences(profile),
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_S,
        currentDate: new Date(this.#now()),
        requiredClaims: ['exp', 'sub'],
      })
      const principal = this.#principalOf(payload)
      const until = Math.min(this.#now() + TRUST_MS, Number(payload.exp) * 1_000)
      this.#trusted.set(digest, { principal, until })
      if (this.#trusted.size > MAX_TRUSTED) this.#trusted.delete(this.#trusted.keys().next().value ?? '')
      return principal
    } catch (error) {
      const isUnreachable =
        !(error instanceof errors.JOSEError) ||
        error instanceof errors.JWKSTimeout ||
        error.code === 'ERR_JOSE_GENERIC'
      if (isUnreachable)
        return new Refusal(503, 'the issuer of tokens cannot be reached', { 'retry-after': '5' })
      return this.#refusal(401, 'the token is not valid', { error: 'invalid_token' }, profile)
    }
  }

  #principalOf(payload: Readonly<Record<string, unknown>>): Principal {
    const { iss, sub, client_id: client = '', scope, scp } = payload
    const granted = typeof scope === 'string' ? scope.split(' ') : Array.isArray(scp) ? scp.map(String) : []
    const opened = granted.flatMap((each) =>
      Object.hasOwn(this.#settings.scopes, each) ? [this.#settings.scopes[each] ?? null] : [],
    )
    const id = createHash('sha256')
      .update(JSON.stringify([iss, sub, client]))
      .digest('hex')
      .slice(0, 32)
    const { operatorScope } = this.#settings
    const isOperator = operatorScope !== undefined && granted.includes(operatorScope)
    const who = { id, name: String(sub), issuer: this.issuer, isOperator }
    if (opened.includes(null)) return { ...who, profile: undefined, profiles: undefined }
    const profiles = [...new Set(opened.filter((profile) => profile !== null))]
    return { ...who, profile: profiles[0], profiles }
  }

  #opens(scope: string, profile: string): boolean {
    const opened = this.#settings.scopes[scope]
    return opened === null || opened === profile
  }

  /** A token for the address of a profile opens only that profile. */
  #audiences(profile: string | undefined): string[] {
    const { resource, audience } = this.#settings
    if (audience !== undefined) return [audience]
    const bare = resource.replace(/\/$/, '')
    return [bare, `${bare}/`, ...(profile === undefined ? [] : [`${bare}/${profile}`])]
  }

  #loadKeys(): Promise<JWTVerifyGetKey> {
    const loading = this.#keys ?? this.#fetchKeys()
    this.#keys = loading
    loading.catch(() => {
      this.#keys = undefined
    })
    return loading
  }

  async #fetchKeys(): Promise<JWTVerifyGetKey> {
    const { createRemoteJWKSet } = await import('jose')
    const url = this.#settings.jwksUri ?? (await jwksUriOf(this.#settings.issuer))
    return createRemoteJWKSet(new URL(url), { timeoutDuration: FETCH_TIMEOUT_MS })
  }

  #refusal(
    status: number,
    error: string,
    parameters: Readonly<Record<string, string>>,
    profile: string | undefined,
  ): Refusal {
    const { resource, scopes } = this.#settings
    const { origin, pathname } = new URL(resource)
    const suffix = profile === undefined ? '' : `/${profile}`
    const own = pathname.replace(/\/$/, '')
    const fitting = Object.keys(scopes).filter(
      (scope) => profile === undefined || this.#opens(scope, profile),
    )
    const all = {
      ...parameters,
      scope: fitting.join(' '),
      resource_metadata: `${origin}/.well-known/oauth-protected-resource${own}${suffix}`,
    }
    const challenge = Object.entries(all).map(([name, value]) => `${name}="${value}"`)
    return new Refusal(status, error, { 'www-authenticate': `Bearer ${challenge.join(', ')}` })
  }
}

/** Where the issuer publishes its keys: RFC 8414, or OpenID Connect. */
async function jwksUriOf(issuer: string): Promise<string> {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]
  for (const place of places) {
    const response = await fetch(place, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS), redirect: 'error' })
    if (!response.ok) continue
    const metadata: unknown = await response.json()
    if (isJson(metadata) && metadata.issuer === issuer && typeof metadata.jwks_uri === 'string')
      return metadata.jwks_uri
  }
  throw new Error('the issuer does not say where its keys are')
}
