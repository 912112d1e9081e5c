import { createHash, randomUUID } from 'node:crypto'
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import type { JsonValue, Schedule, Store } from '@toolcrib/core'
import { describeError, isRecord, within } from '@toolcrib/core/internal'
import type { ServerConfig } from '../../config/server-config.ts'

/** How to authorize with servers that require it. */
export interface OAuthOptions {
  /** Keeps tokens apart from everything else. Default: `store` of `connectServers()`. */
  readonly store?: Store
  /** Where the authorization server redirects the user; required with `authorize`. */
  readonly redirectUrl?: string
  /**
   * The `https` address of a document that describes your program to authorization servers and names `redirectUrl`.
   * Those that read such documents take its address as the client id, and need no registration.
   */
  readonly clientMetadataUrl?: string
  /**
   * Sends the user to `url` for consent and resolves with the query parameters of the redirect. Without it, only
   * stored tokens are used and refreshed.
   */
  readonly authorize?: (request: AuthorizeRequest) => Promise<URLSearchParams>
  /**
   * Throws if nobody has asked to sign in to this server. It is called before the first request to an authorization
   * server, whose address the server chooses. Default: whoever passes `authorize` is always asked.
   */
  readonly requireConsent?: (server: string) => void
}

/** A server that needs the user's consent. */
interface AuthorizeRequest {
  readonly server: string
  readonly url: URL
  /** Fires when the server is stopped before the user has returned. */
  readonly signal: AbortSignal
}

/** The options, with the token store decided. */
export interface OAuthSettings extends Omit<OAuthOptions, 'store'> {
  readonly store: TokenStore
  readonly flows: AuthorizationFlows
}

interface OAuthSessionOptions extends OAuthSettings {
  readonly schedule: Schedule
  /** Called when the store fails. */
  readonly onWarning: (warning: string) => void
}

/** Time limit for reading or writing tokens; a store that hangs must not block a server's start. */
const STORE_MS = 2_000

/** One server's authorization, in the form that the SDK's OAuth flows use. Everything is kept in the store. */
export class OAuthSession implements OAuthClientProvider {
  readonly clientMetadataUrl?: string
  readonly #key: string
  readonly #config: ServerConfig
  readonly #options: OAuthSessionOptions
  readonly #state: string = randomUUID()
  #authorizationUrl: URL | undefined
  #verifier = ''
  #known: Authorization = {}

  constructor(server: string, config: ServerConfig, options: OAuthSessionOptions) {
    this.#key = `${server} ${config.url}`
    this.#config = config
    this.#options = options
    if (options.clientMetadataUrl !== undefined) this.clientMetadataUrl = options.clientMetadataUrl
  }

  /** Where the user must consent; undefined until the flow reaches that step. */
  get authorizationUrl(): URL | undefined {
    return this.#authorizationUrl
  }

  /** True when the callback parameters belong to this flow. */
  isOwn(callback: URLSearchParams): boolean {
    return callback.get('state') === this.#state
  }

  get redirectUrl(): string | undefined {
    return this.#options.redirectUrl ?? 'http://127.0.0.1/callback'
  }

  get clientMetadata(): OAuthClientMetadata {
    const scope = this.#config.oauth?.scope
    return {
      client_name: 'Toolcrib',
      redirect_uris: [String(this.redirectUrl)],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: this.#config.oauth?.client_secret ? 'client_secret_post' : 'none',
      ...(scope ? { scope } : {}),
    }
  }

  state(): string {
    return this.#state
  }

  /** The credentials of the config are used only for the first authorization server that gets them. */
  async clientInformation(context?: {
    readonly issuer: string
  }): Promise<StoredOAuthClientInformation | undefined> {
    const { client_id, client_secret } = this.#config.oauth ?? {}
    const { client, configured } = await this.#load()
    const registered = client as StoredOAuthClientInformation | undefined
    if (!client_id) return registered
    const bound = isRecord(configured) && configured.client_id === client_id ? configured.issuer : undefined
    const issuer = typeof bound === 'string' ? bound : context?.issuer
    if (context && issuer !== context.issuer) return registered
    if (bound === undefined && issuer !== undefined) await this.#save({ configured: { client_id, issuer } })
    return {
      client_id,
      ...(client_secret ? { client_secret } : {}),
      ...(issuer === undefined ? {} : { issuer }),
    }
  }

  saveClientInformation(client: StoredOAuthClientInformation): Promise<void> {
    return this.#save({ client })
  }

  async tokens(): Promise<StoredOAuthTokens | undefined> {
    return (await this.#load()).tokens as StoredOAuthTokens | undefined
  }

  /** Tokens without a scope have the requested one; refreshed ones keep that of the old tokens. */
  async saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    const requested = this.#authorizationUrl?.searchParams.get('scope') ?? (await this.tokens())?.scope
    const scope = tokens.scope ?? requested
    this.#authorizationUrl = undefined
    await this.#save({ tokens: scope === undefined ? tokens : { ...tokens, scope } })
  }

  redirectToAuthorization(authorizationUrl: URL): void {
    this.#authorizationUrl = authorizationUrl
  }

  /** Not stored: another process may be asking for consent too. */
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }

  codeVerifier(): string {
    return this.#verifier
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): Promise<void> {
    return this.#save({ discovery })
  }

  async discoveryState(): Promise<OAuthDiscoveryState | undefined> {
    return (await this.#load()).discovery as OAuthDiscoveryState | undefined
  }

  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
    return scope === 'all' ? this.#write({}) : this.#save({ [scope]: undefined })
  }

  // Read the store first: another process may have refreshed the tokens. If it fails, use the tokens in memory.
  async #load(): Promise<Authorization> {
    const { store, schedule, onWarning } = this.#options
    try {
      return (await within(STORE_MS, store.load(this.#key), schedule)) ?? this.#known
    } catch (error) {
      onWarning(`its tokens could not be read: ${describeError(error)}`)
      return this.#known
    }
  }

  async #save(part: Authorization): Promise<void> {
    await this.#write({ ...(await this.#load()), ...part })
  }

  async #write(authorization: Authorization): Promise<void> {
    const { store, schedule, onWarning } = this.#options
    this.#known = authorization
    try {
      await within(STORE_MS, store.save(this.#key, authorization), schedule)
    } catch (error) {
      onWarning(`its tokens could not be stored: ${describeError(error)}`)
    }
  }
}

/** The pending authorizations, at most one per server. */
export class AuthorizationFlows {
  readonly #running = new Map<string, Promise<void>>()
  readonly #rounds = new Map<string, number>()

  isRunning(key: string): boolean {
    return this.#running.has(key)
  }

  /** How many authorizations of this server have succeeded. */
  round(key: string): number {
    return this.#rounds.get(key) ?? 0
  }

  /** Runs an authorization, or waits for the pending one. */
  run(key: string, authorize: () => Promise<void>): Promise<void> {
    const running = this.#running.get(key)
    if (running) return running
    const started = authorize()
      .then(() => void this.#rounds.set(key, this.round(key) + 1))
      .finally(() => this.#running.delete(key))
    this.#running.set(key, started)
    return started
  }
}

/** The stored authorization: tokens, the client registration, and the authorization server. */
export type Authorization = Readonly<Record<string, unknown>>

/** Keeps authorizations in a store. */
export class TokenStore {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** The key names a server and its address, so that no token is sent to another one. */
  async load(key: string): Promise<Authorization | undefined> {
    const data = await this.#store.get(keyOf(key))
    return isRecord(data) ? data : undefined
  }

  async save(key: string, authorization: Authorization): Promise<void> {
    // Tokens arrived as JSON.
    await this.#store.set(keyOf(key), authorization as JsonValue)
  }
}

function keyOf(key: string): string {
  return `oauth:${createHash('sha256').update(key).digest('hex')}`
}
