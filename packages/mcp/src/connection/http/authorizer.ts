import {
  type AuthOptions,
  type AuthProvider,
  type AuthResult,
  auth,
  computeScopeUnion,
  extractWWWAuthenticateParams,
  InsufficientScopeError,
  isStrictScopeSuperset,
  validateAuthorizationResponseIssuer,
} from '@modelcontextprotocol/client'
import type { Schedule } from '@toolcrib/core'
import { describeError, within } from '@toolcrib/core/internal'
import { AuthorizationNeeded, isHttpFailure, SignInFailed } from './describe-http-error.ts'
import type { AuthorizationFlows, OAuthSession, OAuthSettings } from './oauth-session.ts'

/** How many authorizations one request may wait for, its own and those of other requests. */
const MAX_PER_REQUEST = 3
/** After this time a pending consent is abandoned, so that the user can be asked again. */
const CONSENT_MS = 600_000

export interface AuthorizerOptions {
  readonly server: string
  readonly url: URL
  readonly session: OAuthSession
  readonly oauth: OAuthSettings
  /** Reaches the server and its authorization server. */
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>
  readonly schedule: Schedule
  /** Fires when the server is stopped. */
  readonly signal: AbortSignal
}

/**
 * Authorizes the requests of one connection. A request that is refused with 401, or with 403 for missing scopes, is
 * sent again once the server is authorized: with refreshed tokens, else with the user's consent. Requests that are
 * refused at the same time share one consent, also over several connections to the server.
 */
export class Authorizer implements AuthProvider {
  readonly #options: AuthorizerOptions
  readonly #flows: AuthorizationFlows
  /** Scopes that the server still demanded after the user had consented. */
  readonly #futile = new Set<string>()

  constructor(options: AuthorizerOptions) {
    this.#options = options
    this.#flows = options.oauth.flows
  }

  async token(): Promise<string | undefined> {
    return (await this.#options.session.tokens())?.access_token
  }

  /** Called by the SDK for a 401, which sends the request again: refreshes the tokens, and never asks the user. */
  async onUnauthorized({ response }: { readonly response: Response }): Promise<void> {
    const { scope, resourceMetadataUrl } = extractWWWAuthenticateParams(response)
    const needed: Needed = { kind: 'token', scope, resourceMetadataUrl }
    const tokens = await this.#options.session.tokens()
    if (tokens?.refresh_token === undefined || this.isWaiting) throw new AuthorizationNeeded(needed)
    await this.#flows.run(this.#key, async () => {
      if ((await this.#begin(needed, { force: false })) !== 'AUTHORIZED')
        throw new AuthorizationNeeded(needed)
    })
  }

  /** True while the user's consent is awaited. */
  get isWaiting(): boolean {
    return this.#flows.isRunning(this.#key)
  }

  /**
   * Sends a request, and again after each authorization that it needs: one for a refused token, one for each set of
   * missing scopes. `onAuthorized` is called before it is sent again.
   */
  async run<Value>(
    send: () => Promise<Value>,
    { signal, onAuthorized }: { readonly signal?: AbortSignal; readonly onAuthorized?: () => void } = {},
  ): Promise<Value> {
    const granted = new Set<string>()
    for (let count = 0; ; count++) {
      const round = this.#flows.round(this.#key)
      try {
        return await send()
      } catch (error) {
        const needed = neededBy(error)
        if (!needed) throw error
        const demand = needed.kind === 'token' ? '' : (needed.scope ?? '')
        if (needed.kind === 'scope' && granted.has(demand)) this.#noteFutile(demand)
        const isFutile = granted.has(demand) || this.#futile.has(demand)
        if (isFutile || count === MAX_PER_REQUEST) throw refused(needed, error)
        // Another request was refused at the same time, and has been authorized since.
        if (round === this.#flows.round(this.#key)) {
          const isOwn = !this.isWaiting
          await this.#flows.run(this.#key, () => this.#authorize(needed))
          if (isOwn) granted.add(demand)
        }
        signal?.throwIfAborted()
        onAuthorized?.()
      }
    }
  }

  get #key(): string {
    return `${this.#options.server} ${this.#options.url.href}`
  }

  async #authorize(needed: Needed): Promise<void> {
    const { server, session, oauth, schedule, signal } = this.#options
    const byUser = `${describeNeed(needed)} by a user`
    // Nothing is sent to an address that the server chose, and nobody is registered there, before a person wants it.
    if (!oauth.authorize) throw new Error(`${byUser}; pass oauth.authorize`)
    try {
      oauth.requireConsent?.(server)
    } catch (cause) {
      throw new SignInFailed(`authorization failed: ${describeError(cause)}`, { cause })
    }
    if ((await this.#begin(needed, { force: true })) === 'AUTHORIZED') return
    const url = session.authorizationUrl
    if (!url) throw new Error(byUser)
    let callback: URLSearchParams
    try {
      callback = await within(CONSENT_MS, oauth.authorize({ server, url, signal }), schedule)
    } catch (cause) {
      throw new SignInFailed(`authorization failed: ${describeError(cause)}`, { cause })
    }
    if (!session.isOwn(callback)) throw new SignInFailed('the OAuth callback does not match the request')
    const authorizationCode = await this.#readCode(callback)
    const iss = callback.get('iss') ?? undefined
    const request = { ...this.#request(needed), authorizationCode, ...(iss === undefined ? {} : { iss }) }
    await auth(session, request).catch((cause) => {
      throw new SignInFailed(describeError(cause), { cause })
    })
  }

  /** Refreshes the tokens, or prepares the request for the user's consent: always that with `force`. */
  async #begin(needed: Needed, { force }: { readonly force: boolean }): Promise<AuthResult> {
    const { session } = this.#options
    const { kind, scope } = needed
    const granted = (await session.tokens())?.scope
    // The new token replaces the old one, so it needs the scopes granted before too.
    const all = kind === 'scope' ? computeScopeUnion(granted, scope) : scope
    // The server may have moved to another authorization server since.
    await session.invalidateCredentials('discovery')
    return auth(session, {
      ...this.#request({ ...needed, scope: all }),
      // A refreshed token never has more scopes.
      forceReauthorization: force && (kind === 'token' || isStrictScopeSuperset(all, granted)),
    })
  }

  #request({ scope, resourceMetadataUrl }: Needed): AuthOptions {
    const { url, fetch } = this.#options
    return {
      serverUrl: url,
      fetchFn: fetch,
      ...(scope === undefined ? {} : { scope }),
      ...(resourceMetadataUrl ? { resourceMetadataUrl } : {}),
    }
  }

  /** Reads the code; if there is none, throws the reason, provided that the authorization server really sent it. */
  async #readCode(callback: URLSearchParams): Promise<string> {
    const code = callback.get('code')
    if (code) return code
    const discovered = await this.#options.session.discoveryState()
    const metadata = discovered?.authorizationServerMetadata
    validateAuthorizationResponseIssuer({
      iss: callback.get('iss') ?? undefined,
      expectedIssuer: metadata?.issuer,
      issParameterSupported: metadata?.authorization_response_iss_parameter_supported === true,
    })
    const reason = callback.get('error_description') ?? callback.get('error') ?? 'there is no code'
    throw new SignInFailed(`authorization failed: ${reason}`)
  }

  #noteFutile(scope: string): void {
    if (this.#futile.size >= MAX_FUTILE) return
    this.#futile.add(scope)
    this.#options.schedule(FUTILE_MS, () => this.#futile.delete(scope))
  }
}

const MAX_FUTILE = 100
/** How long the user is not asked again for scopes that were not granted. */
const FUTILE_MS = 300_000

type Needed = AuthorizationNeeded['needed']

function neededBy(error: unknown): Needed | undefined {
  if (error instanceof AuthorizationNeeded) return error.needed
  if (error instanceof InsufficientScopeError) {
    const { requiredScope: scope, resourceMetadataUrl } = error
    return { kind: 'scope', scope, resourceMetadataUrl }
  }
  if (isHttpFailure(error) && error.status === 401) return { kind: 'token' }
  return undefined
}

function describeNeed({ kind, scope }: Needed): string {
  if (kind === 'token') return 'it requires authorization'
  return `it requires authorization for more scopes${scope ? ` (${scope})` : ''}`
}

function refused({ kind, scope }: Needed, cause: unknown): Error {
  if (kind === 'token')
    return new SignInFailed('it rejected the authorization that it has just issued', { cause })
  const scopes = scope ? ` (${scope})` : ''
  return new Error(
    `it demands scopes that its authorization server does not grant${scopes}; ask its operator for access`,
    { cause },
  )
}
