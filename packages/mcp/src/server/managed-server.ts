import type { Client } from '@modelcontextprotocol/client'
import type { ServerStatus } from '@toolcrib/core'
import type { CatalogueCache } from '../cache/catalogue-cache.ts'
import type { StartFailure, StartFailures } from '../cache/start-failures.ts'
import type { ServerConfig } from '../config/server-config.ts'
import type { ServersRegistry } from '../connect-options.ts'
import type { ServerInfo } from '../connection/connection.ts'
import { type ItemKind, instructionItems, type ServerItem } from '../listed/server-item.ts'
import type { ServerTool } from '../listed/server-tool.ts'
import type { LockGuard } from '../lock/lock-guard.ts'
import type { ServerScans } from '../scan/server-scans.ts'
import type { Connector } from './connector.ts'
import type { ToolCaller } from './listed-tools.ts'
import { ServerCatalogue } from './server-catalogue.ts'
import { ServerItems } from './server-items.ts'
import { ServerLink } from './server-link.ts'
import { type RequestClients, ServerRequests } from './server-requests.ts'
import { ServerState } from './server-state.ts'

/** What all servers of a registry share. Only the composition of a server takes it whole. */
export interface ManagedServerOptions {
  readonly registry: ServersRegistry
  readonly guard: LockGuard
  readonly scans: ServerScans
  readonly caller: ToolCaller
  readonly cache: CatalogueCache | undefined
  readonly connector: Connector
  readonly clients: RequestClients
  readonly random: () => number
  readonly isRemembering: boolean
  /** The remembered failed starts of a server; undefined without a store. */
  failuresOf(server: string, config: ServerConfig): StartFailures | undefined
}

/**
 * One configured server through its life cycle: cold, connecting, ready, failed and back. Its tools stay registered
 * while it is not running, so that a call restarts it or reports why it cannot.
 */
export class ManagedServer {
  readonly #state: ServerState
  readonly #catalogue: ServerCatalogue
  readonly #items: ServerItems
  readonly #link: ServerLink
  /** Sends what is requested of it, starting it if necessary. */
  readonly requests: ServerRequests
  readonly #guard: LockGuard
  #starting: Promise<void> | undefined

  constructor(name: string, config: ServerConfig, options: ManagedServerOptions) {
    const { registry, guard, scans, caller, cache, connector, clients } = options
    const { random, isRemembering } = options
    const { time } = connector
    const client = clients.shared
    this.#guard = guard
    this.#state = new ServerState(name, config, { registry, guard })
    const failures = options.failuresOf(name, this.#state.runConfig)
    this.#items = new ServerItems(this.#state, { guard, scans, client, now: time.now })
    this.#catalogue = new ServerCatalogue(this.#state, this.#items, {
      ...{ registry, guard, scans, caller },
      ...{ time, cache },
    })
    const link = { connector, client, random, failures, isRemembering }
    this.#link = new ServerLink(this.#state, this.#catalogue, link)
    this.requests = new ServerRequests(
      this.#state,
      { catalogue: this.#catalogue, items: this.#items, link: this.#link },
      { connector, clients },
    )
  }

  get name(): string {
    return this.#state.name
  }

  get config(): ServerConfig {
    return this.#state.config
  }

  get status(): ServerStatus {
    return this.#state.status
  }

  /** All tools that it lists, before `allow` and `deny` apply; undefined until they are known. */
  get tools(): readonly ServerTool[] | undefined {
    return this.#catalogue.tools
  }

  /** What it reported about itself, now or the last time it ran; undefined until known. */
  get info(): ServerInfo | undefined {
    return this.#catalogue.info
  }

  /** Its instructions, unless the lockfile holds them back. */
  get instructions(): string | undefined {
    const text = this.info?.instructions
    const isHeld = instructionItems(text).some((item) => this.#guard.itemHeldBecause(this.name, item))
    return isHeld ? undefined : text
  }

  /** What it offers besides tools, by kind; what is unknown is missing. */
  items(): Promise<ReadonlyMap<ItemKind, readonly ServerItem[]>> {
    return this.#items.observe(this.info, this.#link.current)
  }

  /** Why an earlier process could not start it, if it was not started again for that reason. */
  get restingAfter(): StartFailure | undefined {
    return this.#link.restingAfter
  }

  /** Its status for searches: a server whose tools are known does not delay them while its process starts. */
  get statusForSearch(): ServerStatus {
    const { status, tools, name } = this
    return status.state === 'connecting' && tools !== undefined ? { server: name, state: 'cold' } : status
  }

  /** Registers its cached tools, or connects to list them, once its predecessor has ended. */
  start(predecessor: Promise<void> = Promise.resolve()): void {
    const before = this.status
    this.#state.set('connecting')
    this.#starting = predecessor.catch(ignore).then(async () => {
      await this.#start()
      // After too many failures there was no attempt: the earlier reason still applies.
      if (before.state === 'failed' && this.status.state === 'connecting' && !this.#link.isClosed)
        this.#state.set('failed', before)
    })
  }

  /** Resolves once it is no longer connecting. */
  async settled(): Promise<void> {
    await this.#starting
    if (this.status.state === 'connecting') await this.#link.settled()
  }

  /** Returns the SDK client of the shared connection, connecting if necessary. Its requests count as use. */
  async client(): Promise<Client> {
    return (await this.#link.connected()).client
  }

  /** Reads its tools again, from the server when it is running, otherwise from the cache. */
  async refresh(): Promise<void> {
    const { current } = this.#link
    if (current) this.#catalogue.refreshSoon(current)
    else await this.#catalogue.recall()
  }

  /** Checks the server against a new lockfile. */
  async recheck(): Promise<void> {
    const { refusal } = this.#state
    if (refusal !== undefined) return this.#link.refuse(refusal)
    await this.#link.restartOutdated()
    this.#items.recheck()
    if (this.tools) this.#catalogue.recheck()
    else if (this.status.state === 'failed') this.start()
  }

  /** Stops it permanently. Its tools stay registered; the owner removes them. */
  async close(): Promise<void> {
    await Promise.all([this.#catalogue.close(), this.requests.close(), this.#link.close()])
  }

  async #start(): Promise<void> {
    // In parallel, so that a hanging store delays this only once.
    const recalling = this.#link.recallFailure()
    const isRemembered = this.#state.refusal === undefined && (await this.#catalogue.recall())
    if (this.#link.isClosed) return
    const { refusal } = this.#state
    if (refusal !== undefined) return this.#link.refuse(refusal)
    if (isRemembered && this.config.start !== 'eager') {
      // A request may have arrived meanwhile and started the connection.
      if (!this.#link.isUsed) this.#state.set('cold')
      return
    }
    await this.#link.start(await recalling)
  }
}

function ignore(): void {}
