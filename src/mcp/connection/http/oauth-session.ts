import { randomUUID } from 'node:crypto'
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import type { Authorization, TokenStore } from '../../cache/token-store.ts'
import type { ServerConfig } from '../../config/server-config.ts'

/** How servers that ask for authorization get it. */
export interface OAuthOptions {
  /** Where tokens rest; see `fileTokenStore()`. */
  readonly store: TokenStore
  /** Where the authorization server sends the user back to; needed with `authorize`. */
  readonly redirectUrl?: string
  /**
   * Lets the user consent at `url` and resolves with the parameters of the address they come back to. Without it only
   * tokens that are stored already, and can be refreshed, are used.
   */
  readonly authorize?: (request: { readonly server: string; readonly url: URL }) => Promise<URLSearchParams>
}

/** One server's authorization, as the SDK's flows ask for it. All of it rests in the store. */
export class OAuthSession implements OAuthClientProvider {
  readonly #key: string
  readonly #config: ServerConfig
  readonly #options: OAuthOptions
  readonly #state: string = randomUUID()
  #authorizationUrl: URL | undefined

  constructor(server: string, config: ServerConfig, options: OAuthOptions) {
    this.#key = `${server} ${config.url}`
    this.#config = config
    this.#options = options
  }

  /** Where the user has to consent, once a flow has come that far. */
  get authorizationUrl(): URL | undefined {
    return this.#authorizationUrl
  }

  /** True for the parameters of this flow's own way back. */
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

  async clientInformation(): Promise<StoredOAuthClientInformation | undefined> {
    const { client_id, client_secret } = this.#config.oauth ?? {}
    if (client_id) return { client_id, ...(client_secret ? { client_secret } : {}) }
    return (await this.#load()).client as StoredOAuthClientInformation | undefined
  }

  saveClientInformation(client: StoredOAuthClientInformation): Promise<void> {
    return this.#save({ client })
  }

  async tokens(): Promise<StoredOAuthTokens | undefined> {
    return (await this.#load()).tokens as StoredOAuthTokens | undefined
  }

  saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    return this.#save({ tokens })
  }

  redirectToAuthorization(authorizationUrl: URL): void {
    this.#authorizationUrl = authorizationUrl
  }

  saveCodeVerifier(verifier: string): Promise<void> {
    return this.#save({ verifier })
  }

  async codeVerifier(): Promise<string> {
    return String((await this.#load()).verifier ?? '')
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): Promise<void> {
    return this.#save({ discovery })
  }

  async discoveryState(): Promise<OAuthDiscoveryState | undefined> {
    return (await this.#load()).discovery as OAuthDiscoveryState | undefined
  }

  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
    if (scope !== 'all') return this.#save({ [scope]: undefined })
    return this.#options.store.save(this.#key, {})
  }

  async #load(): Promise<Authorization> {
    return (await this.#options.store.load(this.#key)) ?? {}
  }

  async #save(part: Authorization): Promise<void> {
    await this.#options.store.save(this.#key, { ...(await this.#load()), ...part })
  }
}
