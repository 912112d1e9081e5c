import type { Client } from '@modelcontextprotocol/client'
import type { ServerStatus } from '../../registry/server-directory.ts'
import type { ToolContext, ToolResult } from '../../tool.ts'
import type { ServerConfig } from '../config/server-config.ts'
import type { ServerInfo } from '../connection/connection.ts'
import { ServerCalls } from './server-calls.ts'
import { ServerCatalogue } from './server-catalogue.ts'
import type { ServerContext } from './server-context.ts'
import { ServerLink } from './server-link.ts'
import { type RawRequest, type RawRequestOptions, ServerRequests } from './server-requests.ts'
import { ServerState } from './server-state.ts'
import type { ServerTool } from './server-tool.ts'

/**
 * One configured server through its life cycle: cold, connecting, ready, failed and back. Its tools stay registered
 * while it is not running, so that a call restarts it or reports why it cannot.
 */
export class ManagedServer {
  readonly #state: ServerState
  readonly #catalogue: ServerCatalogue
  readonly #link: ServerLink
  readonly #calls: ServerCalls
  readonly #requests: ServerRequests
  #starting: Promise<void> | undefined

  constructor(name: string, config: ServerConfig, context: ServerContext) {
    this.#state = new ServerState(name, config, context)
    this.#catalogue = new ServerCatalogue(this.#state, context)
    this.#link = new ServerLink(this.#state, this.#catalogue, context)
    this.#calls = new ServerCalls(this.#state, this.#catalogue, this.#link, context)
    this.#requests = new ServerRequests(this.#state, this.#catalogue, this.#link, context)
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

  /** Its status for searches: a server whose tools are known does not delay them while its process starts. */
  get statusForSearch(): ServerStatus {
    const { status, tools, name } = this
    return status.state === 'connecting' && tools !== undefined ? { server: name, state: 'cold' } : status
  }

  /** Registers its cached tools, or connects to list them, once its predecessor has ended. */
  start(predecessor: Promise<void> = Promise.resolve()): void {
    this.#state.set('connecting')
    this.#starting = predecessor.catch(ignore).then(() => this.#start())
  }

  /** Resolves once it is no longer connecting. */
  async settled(): Promise<void> {
    await this.#starting
    if (this.status.state === 'connecting') await this.#link.settled()
  }

  /** Runs one tool call, starting the server if necessary. Never rejects. */
  call(tool: ServerTool, input: unknown, ctx: ToolContext): Promise<ToolResult> {
    return this.#calls.call(tool, input, ctx)
  }

  /** Sends any request, starting the server if necessary; returns the result as the server sent it. */
  request(request: RawRequest, options: RawRequestOptions): Promise<Record<string, unknown>> {
    return this.#requests.send(request, options)
  }

  /** Sends a notification over the existing connection; does nothing when there is none. */
  notify(notification: RawRequest, options: { readonly sessionKey?: string | undefined }): Promise<void> {
    return this.#requests.notify(notification, options)
  }

  /** Closes a session's private connection, if there is one. */
  closeSession(sessionKey: string): Promise<void> {
    return this.#requests.closeSession(sessionKey)
  }

  /** Returns the SDK client of the shared connection, connecting if necessary. Its requests count as use. */
  async client(): Promise<Client> {
    return (await this.#link.connected()).client
  }

  /** Reads its tools again, from the server when it is running, otherwise from the cache. */
  async refresh(): Promise<void> {
    const { current } = this.#link
    if (current) this.#catalogue.refreshSoon(current)
    else if (this.status.state === 'cold') await this.#catalogue.recall()
  }

  /** Checks the server against a new lockfile. */
  async recheck(): Promise<void> {
    const { refusal } = this.#state
    if (refusal !== undefined) return this.#link.refuse(refusal)
    if (this.tools) this.#catalogue.recheck()
    else if (this.status.state === 'failed') this.start()
  }

  /** Stops it permanently. Its tools stay registered; the owner removes them. */
  async close(): Promise<void> {
    await Promise.all([this.#catalogue.close(), this.#requests.close(), this.#link.close()])
  }

  async #start(): Promise<void> {
    const isRemembered = this.#state.refusal === undefined && (await this.#catalogue.recall())
    if (this.#link.isClosed) return
    const { refusal } = this.#state
    if (refusal !== undefined) return this.#link.refuse(refusal)
    if (isRemembered && this.config.start !== 'eager') return this.#state.set('cold')
    await this.#link.connected().catch(ignore)
  }
}

function ignore(): void {}
