import { setImmediate as turn } from 'node:timers/promises'
import type { Schedule } from '@toolcrib/core'
import { ToolcribError } from '@toolcrib/core'
import { readClock, scheduleInBackground } from '@toolcrib/core/internal'
import type { ConnectOptions } from '../connect-options.ts'
import type { OpenRequest } from '../connection/connect.ts'
import type { Connection } from '../connection/connection.ts'
import { AuthorizationFlows, type OAuthSettings, TokenStore } from '../connection/http/oauth-session.ts'
import { withoutAnswers } from '../connection/server-messages.ts'
import { Installs } from '../connection/stdio/installs.ts'

const MAX_MESSAGE_BYTES = 16 * 1024 * 1024

/** The time as servers and their connections see it. */
export interface ServerTime {
  readonly now: () => number
  readonly schedule: Schedule
}

/** Opens the connections to all servers of a registry. */
export class Connector {
  readonly time: ServerTime
  readonly #options: ConnectOptions
  readonly #installs: Installs
  /** Shared by all servers with OAuth. */
  #flows: AuthorizationFlows | undefined

  constructor(options: ConnectOptions) {
    this.time = {
      now: readClock(options.clock ?? Date.now),
      schedule: options.schedule ?? scheduleInBackground,
    }
    this.#installs = new Installs(this.time)
    this.#options = options
  }

  /** Connects to one server; rejects with the reason. */
  async open(request: OpenRequest): Promise<Connection> {
    const { open } = this.#options
    const { client, config } = request
    const asked = config.asks === false ? { ...request, client: withoutAnswers(client) } : request
    return open ? open(asked, (direct) => this.#openDirectly(direct)) : this.#openDirectly(asked)
  }

  async #openDirectly(request: OpenRequest): Promise<Connection> {
    const { maxMessageBytes = MAX_MESSAGE_BYTES } = this.#options
    // Loaded with the first connection: loading the SDK takes longer than a search of cached tools. A part at a time, so that
    // others get their turn.
    await import('@modelcontextprotocol/client/stdio')
    await turn()
    const { openConnection } = await import('../connection/open-connection.ts')
    await turn()
    return openConnection(request, {
      env: this.#options.env ?? process.env,
      maxMessageBytes,
      fetch: this.#options.fetch ?? fetch,
      oauth: this.#oauth(),
      ...this.time,
      platform: process.platform,
      installs: this.#installs,
    })
  }

  #oauth(): OAuthSettings | undefined {
    const { oauth, store } = this.#options
    if (!oauth) return undefined
    const tokens = oauth.store ?? store
    if (!tokens)
      throw new ToolcribError(
        'config-invalid',
        'oauth needs a store for its tokens; pass store, or oauth.store',
      )
    this.#flows ??= new AuthorizationFlows()
    return { ...oauth, store: new TokenStore(tokens), flows: this.#flows }
  }
}
