import type { Client } from '@modelcontextprotocol/client'
import type { ServerEventBody, ServerNeed } from '../../events.ts'
import { canonicalJson } from '../../json.ts'
import { withoutHidden } from '../../names.ts'
import type { ServerStatus } from '../../registry/server-directory.ts'
import { concealerOf, maskSecrets } from '../../secrets/mask.ts'
import type { ToolContext, ToolResult } from '../../tool.ts'
import type { StartFailure } from '../cache/start-failures.ts'
import type { ServerConfig } from '../config/server-config.ts'
import type { ServerInfo } from '../connection/connection.ts'
import { ServerCalls } from './server-calls.ts'
import { ServerCatalogue } from './server-catalogue.ts'
import type { ServerContext } from './server-context.ts'
import { ServerLink } from './server-link.ts'
import { type RawRequest, type RawRequestOptions, ServerRequests } from './server-requests.ts'
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
  readonly #context: ServerContext
  /** Most hosts send only calls. */
  #ownRequests: ServerRequests | undefined
  #starting: Promise<void> | undefined

  constructor(name: string, config: ServerConfig, context: ServerContext) {
    this.#state = new ServerState(name, config, context)
    this.#catalogue = new ServerCatalogue(this.#state, context)
    this.#link = new ServerLink(this.#state, this.#catalogue, context)
    this.#calls = new ServerCalls(this.#state, this.#catalogue, this.#link, context)
    this.#context = context
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
  async closeSession(sessionKey: string): Promise<void> {
    await this.#ownRequests?.closeSession(sessionKey)
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
    if (this.tools) this.#catalogue.recheck()
    else if (this.status.state === 'failed') this.start()
  }

  /** Stops it permanently. Its tools stay registered; the owner removes them. */
  async close(): Promise<void> {
    await Promise.all([this.#catalogue.close(), this.#ownRequests?.close(), this.#link.close()])
  }

  get #requests(): ServerRequests {
    this.#ownRequests ??= new ServerRequests(this.#state, this.#catalogue, this.#link, this.#context)
    return this.#ownRequests
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

const CONNECT_MS = 30_000
/** Up to this many warnings of a kind are reported; after that, only those whose number is a power of two. */
const MAX_WARNINGS = 50
/** Further kinds are counted together. */
const MAX_KINDS = 50

type WithoutServer<Event> = Event extends unknown ? Omit<Event, 'server'> : never

/** An event of one server, without the server's name. */
export type ServerEvent = WithoutServer<ServerEventBody>

/** Why a server must not or cannot run, and what is needed to change that. */
export interface ServerProblem {
  readonly reason: string
  readonly needs?: ServerNeed | undefined
}

/** One server's name, config and status, and the events about it. */
export class ServerState {
  readonly name: string
  readonly config: ServerConfig
  /** Time limit for connecting, and for reading a list with all its pages. */
  readonly connectMs: number
  readonly #context: ServerContext
  readonly #conceal: (text: string) => string
  #status: ServerStatus
  /** How many warnings of each kind there were. */
  readonly #warnings = new Map<string, number>()

  constructor(name: string, config: ServerConfig, context: ServerContext) {
    this.name = name
    this.config = config
    this.connectMs = config.connectTimeoutMs ?? CONNECT_MS
    this.#context = context
    this.#conceal = concealerOf(config)
    this.#status = { server: name, state: 'connecting' }
  }

  get status(): ServerStatus {
    return this.#status
  }

  /** The config to run it with: its package or image pinned to the approved one. */
  get runConfig(): ServerConfig {
    return this.#context.guard.pinned(this.name, this.config)
  }

  /** Why the server must not run right now: its config is invalid, or it is not approved. */
  get refusal(): ServerProblem | undefined {
    const { problem } = this.config
    if (problem !== undefined) return { reason: problem, needs: 'config' }
    const reason = this.#context.guard.refusal(this.name, this.config)
    return reason === undefined ? undefined : { reason, needs: 'approval' }
  }

  /**
   * Throws the refusal, if there is one. Must be checked again after every wait, because the lockfile may have
   * changed.
   */
  throwIfRefused(): void {
    const { refusal } = this
    if (refusal) throw new Error(refusal.reason)
  }

  /** Records the new state and reports a change. */
  set(state: Exclude<ServerStatus['state'], 'failed'>): void
  set(state: 'failed', problem: ServerProblem): void
  set(state: ServerStatus['state'], { reason, needs }: ServerProblem = { reason: '' }): void {
    const problem = { reason: this.presentable(reason), ...(needs === undefined ? {} : { needs }) }
    const status =
      state === 'failed' ? { server: this.name, state, ...problem } : { server: this.name, state }
    const isNew = canonicalJson(status) !== canonicalJson(this.#status)
    this.#status = status
    if (isNew || state === 'connecting')
      this.emit({ type: 'server-state', state, ...(state === 'failed' ? problem : {}) })
  }

  /** Reports a recoverable error; frequent ones of a kind are reported ever more rarely. */
  warn(warning: string): void {
    // Warnings of a kind differ only after their first name, number or excerpt.
    const kind = /^[^"\d(:]*/.exec(warning)?.[0] ?? ''
    const counted = this.#warnings.has(kind) || this.#warnings.size < MAX_KINDS ? kind : ''
    const count = (this.#warnings.get(counted) ?? 0) + 1
    this.#warnings.set(counted, count)
    if (count > MAX_WARNINGS && !Number.isInteger(Math.log2(count))) return
    this.emit({ type: 'server-warning', warning: this.presentable(warning) })
  }

  /** Reports a line of the server's stderr. */
  output(line: string): void {
    this.emit({ type: 'server-output', line: maskSecrets(this.presentable(line), () => '•••') })
  }

  emit(event: ServerEvent): void {
    this.#context.registry.emit({ ...event, server: this.name })
  }

  /** Makes server text safe to show to people and models: removes configured values and hidden characters. */
  presentable(text: string): string {
    return this.#conceal(withoutHidden(text))
  }
}
