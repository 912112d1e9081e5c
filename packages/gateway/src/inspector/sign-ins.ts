import type { OAuthOptions, Schedule } from '@toolcrib/mcp'
import { memoryStore, type Store } from '@toolcrib/mcp/stores'
import { inBackground } from './in-background.ts'

/** The path to which authorization servers redirect. */
export const CALLBACK_PATH = '/oauth/callback'

/** How long the user may take to consent. */
const CONSENT_MS = 10 * 60 * 1_000

export interface SignInsOptions {
  /** Where the page is served, such as `http://127.0.0.1:7117`; can be changed later. */
  readonly origin: string
  /** Keeps tokens. Default: they last as long as the process. */
  readonly store?: Store | undefined
  /** Starts timers. Default: platform timers that do not keep the process alive. */
  readonly schedule?: Schedule | undefined
}

/**
 * Lets the user sign in to servers from the page. Pass `oauth` to `connectServers()`, or as `connect.oauth` to
 * `openFromConfig()`, and this object to `createInspector()`. If nobody began a sign-in, a server that needs one fails
 * with that reason, so that no start waits for a person.
 */
export class SignIns {
  /** Where the page is served. */
  origin: string
  /** For `connectServers()` or `openFromConfig()`: servers connected with it ask for consent here. */
  readonly oauth: OAuthOptions
  readonly #schedule: Schedule
  readonly #asked = new Map<string, SignIn>()

  constructor({ origin, store = memoryStore(), schedule = inBackground }: SignInsOptions) {
    this.origin = origin
    this.#schedule = schedule
    const redirectUrl = () => `${this.origin}${CALLBACK_PATH}`
    this.oauth = {
      store,
      get redirectUrl() {
        return redirectUrl()
      },
      requireConsent: (server) => void this.#signInTo(server),
      authorize: (request) => this.#authorize(request),
    }
  }

  /**
   * Expects the next connection of a server to ask for consent, and resolves with the address where the user consents.
   * Rejects if the sign-in ends before that. An earlier sign-in to this server is cancelled.
   */
  begin(server: string): Promise<URL> {
    this.cancel(server, 'another sign-in was started')
    const signIn = new SignIn()
    this.#asked.set(server, signIn)
    const stopTimer = this.#schedule(CONSENT_MS, () =>
      this.cancel(server, 'no consent was given within 10 minutes'),
    )
    const forget = () => {
      stopTimer()
      if (this.#asked.get(server) === signIn) this.#asked.delete(server)
    }
    signIn.parameters.then(forget, forget)
    return signIn.url
  }

  /** Where the user consents to the pending sign-in; undefined if there is none. */
  waiting(server: string): URL | undefined {
    return this.#asked.get(server)?.address
  }

  /** Handles the parameters of the redirect. Returns false if no sign-in has their `state`. */
  finish(parameters: URLSearchParams): boolean {
    const state = parameters.get('state')
    if (state === null || state === '') return false
    for (const signIn of this.#asked.values())
      if (signIn.address?.searchParams.get('state') === state) {
        signIn.finish(parameters)
        return true
      }
    return false
  }

  /** Ends the sign-in to a server, if there is one. */
  cancel(server: string, reason: string): void {
    this.#asked.get(server)?.fail(new Error(reason))
  }

  /** Ends every sign-in. */
  close(): void {
    for (const server of [...this.#asked.keys()]) this.cancel(server, 'the gateway stops')
  }

  #signInTo(server: string): SignIn {
    const signIn = this.#asked.get(server)
    if (signIn) return signIn
    throw new Error('nobody has signed in yet; sign in on the page of "toolcrib serve", under Servers')
  }

  async #authorize({
    server,
    url,
    signal,
  }: Parameters<NonNullable<OAuthOptions['authorize']>>[0]): Promise<URLSearchParams> {
    const signIn = this.#signInTo(server)
    // The address comes from the server: a browser would run a script in it.
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      throw new Error(`the address for consent begins with ${url.protocol.slice(0, 20)}; it must be https:`)
    const stop = () => signIn.fail(new Error('the server was stopped meanwhile'))
    signal.addEventListener('abort', stop, { once: true })
    try {
      return await signIn.consent(url)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}

/** One sign-in, from the click to the redirect. */
class SignIn {
  /** Where the user consents, once the server's client knows it. */
  readonly url: Promise<URL>
  /** The parameters of the redirect. */
  readonly parameters: Promise<URLSearchParams>
  #address: URL | undefined
  #show: (address: URL) => void = () => {}
  #finish: (parameters: URLSearchParams) => void = () => {}
  #abandon: ((error: Error) => void)[] = []

  constructor() {
    this.url = new Promise((resolve, reject) => {
      this.#show = resolve
      this.#abandon.push(reject)
    })
    this.parameters = new Promise((resolve, reject) => {
      this.#finish = resolve
      this.#abandon.push(reject)
    })
    // Often nobody awaits it, and its rejection is not an error then.
    this.url.catch(() => {})
  }

  get address(): URL | undefined {
    return this.#address
  }

  consent(address: URL): Promise<URLSearchParams> {
    this.#address = address
    this.#show(address)
    return this.parameters
  }

  finish(parameters: URLSearchParams): void {
    this.#finish(parameters)
  }

  fail(error: Error): void {
    for (const reject of this.#abandon) reject(error)
  }
}
