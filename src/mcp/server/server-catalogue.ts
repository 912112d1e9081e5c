import { describeError } from '../../errors.ts'
import { canonicalJson } from '../../json.ts'
import { Deadline, Timers, TooLateError, waitAtMost, within } from '../../time.ts'
import { type CachedCatalogue, type CatalogueCache, fingerprintOf } from '../cache/catalogue-cache.ts'
import type { Connection, ServerInfo } from '../connection/connection.ts'
import type { ServerState } from './managed-server.ts'
import type { ServerContext } from './server-context.ts'
import type { ServerLink } from './server-link.ts'
import { hashOfTools, ListedTools, listTools, type ServerTool } from './server-tool.ts'

/** How long list changes are collected before the list is read again. */
const REFRESH_MS = 300
/** How often a list with quarantined tools is read again. */
const RECHECK_MS = 30_000
/** How long startup waits for the cache; after that the server is asked. */
const RECALL_MS = 1_000
const SAVE_MS = 10_000
/** How many private lists are remembered as examined; beyond that, all are examined again. */
const MAX_COMPARED = 20
/** How long saving the list may delay closing. */
const REMEMBER_MS = 1_000

/** One server's catalogue: loaded from the cache, read from the server, kept up to date, and cached. */
export class ServerCatalogue {
  readonly #state: ServerState
  readonly #context: ServerContext
  readonly #listed: ListedTools
  readonly #timers: Timers<'refresh' | 'recheck' | 'compare'>
  #info: ServerInfo | undefined
  /** The connection to read the list from, once changes have been collected. */
  #stale: Connection | undefined
  #reading: Promise<void> | undefined
  #checking: Promise<void> | undefined
  /** Lists that are being read over private connections, to check calls. */
  readonly #checkingPrivately = new WeakMap<Connection, Promise<readonly ServerTool[]>>()
  /** Hashes of private lists that differ from the shared one and have been examined. */
  readonly #compared = new Set<string>()
  /** The newest list that has not been saved. */
  #unwritten: CachedCatalogue | undefined
  #remembering: Promise<void> | undefined
  /** The problems of the last list read, so that they are not reported again with each reading. */
  #reported: ReadonlySet<string> = new Set()
  #isClosed = false

  constructor(state: ServerState, context: ServerContext) {
    this.#state = state
    this.#context = context
    this.#listed = new ListedTools(state, context)
    this.#timers = new Timers(context.schedule)
  }

  /** All tools that the server lists, before `allow` and `deny` apply; undefined until they are known. */
  get tools(): readonly ServerTool[] | undefined {
    return this.#listed.all
  }

  /** What the server reported about itself, now or the last time it ran; undefined until known. */
  get info(): ServerInfo | undefined {
    return this.#info
  }

  find(tool: string): ServerTool | undefined {
    return this.#listed.find(tool)
  }

  /** False for a tool that `allow` or `deny` excludes. */
  takes(tool: string): boolean {
    return this.#listed.takes(tool)
  }

  /** Registers the cached tools of the server; returns false when there are none. */
  async recall(): Promise<boolean> {
    const cached = await this.#load()
    if (!cached || this.#isClosed || this.#state.refusal !== undefined) return false
    this.#info = cached.info
    this.#listed.sync(cached.tools, cached.scan)
    return true
  }

  /** Reads the whole list and replaces the registered tools with it. Rejects when it cannot be read or used. */
  read(connection: Connection, deadline: Deadline = this.#deadline()): Promise<void> {
    this.#reading = this.#read(connection, deadline)
    return this.#reading
  }

  /** Reads the list after a short delay, once for all changes until then. */
  refreshSoon(connection: Connection): void {
    this.#stale = connection
    if (this.#timers.isRunning('refresh') || this.#isClosed) return
    this.#timers.start('refresh', REFRESH_MS, async () => {
      // A list being read does not include changes made in the meantime.
      await this.#reading?.catch(ignore)
      if (this.#stale) await this.#refresh(this.#stale)
    })
  }

  /**
   * Returns why a tool must not be called. A lockfile covers the definition at the time of the call, not of the
   * search, so the list is read again; concurrent calls share one reading.
   */
  async refusalOf(tool: string, connection: Connection): Promise<string | undefined> {
    if (!this.#context.guard.isOn) return undefined
    this.#checking ??= this.read(connection).finally(() => {
      this.#checking = undefined
    })
    await this.#checking
    return this.#listed.refusalOf(tool)
  }

  /**
   * The same for a call over a session's private connection. Its list is checked but not kept: it may differ for each
   * session.
   */
  async privateRefusalOf(tool: string, connection: Connection): Promise<string | undefined> {
    if (!this.#context.guard.isOn) return undefined
    const refusal = this.#listed.refusalIn(await this.#listPrivately(connection), tool)
    // A single bad list does not count.
    return refusal && this.#listed.refusalIn(await this.#listPrivately(connection), tool)
  }

  /**
   * Reads the list again after a session's private connection reported a change: over the shared connection, if it is
   * open. Otherwise that one is opened only if the private list has something new.
   */
  refreshAfter(connection: Connection, shared: Pick<ServerLink, 'current' | 'connected'>): void {
    if (this.#isClosed || this.#timers.isRunning('compare')) return
    this.#timers.start('compare', REFRESH_MS, async () => {
      const { current } = shared
      if (current) return this.refreshSoon(current)
      const tools = await this.#listPrivately(connection).catch(ignore)
      const hash = tools && hashOfTools(tools)
      if (!hash || hash === this.#listed.hash || this.#compared.has(hash) || this.#isClosed) return
      if (this.#compared.size >= MAX_COMPARED) this.#compared.clear()
      this.#compared.add(hash)
      // It reads the list once it is open.
      await shared.connected().catch(ignore)
    })
  }

  /** Checks the registered tools against a new lockfile. */
  recheck(): void {
    this.#listed.recheck()
  }

  /** Removes the server's tools from the registry and forgets them. */
  drop(): void {
    this.#listed.drop()
  }

  /** Stops updating the registry; resolves once the list is saved, or saving takes too long. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#timers.stopAll()
    await waitAtMost(REMEMBER_MS, [this.#remembering], this.#context.schedule)
  }

  async #load(): Promise<CachedCatalogue | undefined> {
    try {
      const { cache, schedule } = this.#context
      return cache && (await within(RECALL_MS, cache.load(this.#fingerprint), schedule))
    } catch (error) {
      this.#state.warn(
        `its cached tools could not be loaded, so the server is asked for them: ${describeError(error)}`,
      )
      return undefined
    }
  }

  async #read(connection: Connection, deadline: Deadline): Promise<void> {
    let tools = await this.#list(connection, deadline)
    // A single bad list does not count: a second one must confirm that tools are missing or changed.
    if (this.#context.guard.isOn && this.#listed.isLessThanBefore(tools))
      tools = await this.#list(connection, deadline)
    this.#state.throwIfRefused()
    if (this.#isClosed) return
    const isNews = canonicalJson(connection.info) !== canonicalJson(this.#info)
    this.#info = connection.info
    const isChanged = this.#listed.sync(tools)
    if (isChanged || isNews) this.#remember({ tools, info: connection.info, scan: this.#listed.scan })
    if (this.#listed.isHeld) this.#recheckLater(connection)
  }

  /**
   * Quarantined tools cannot be called, so no call would notice that the server lists the approved definition again.
   */
  #recheckLater(connection: Connection): void {
    if (this.#isClosed) return
    this.#timers.start('recheck', RECHECK_MS, () => void this.#refresh(connection))
  }

  /** Concurrent calls share one reading. */
  #listPrivately(connection: Connection): Promise<readonly ServerTool[]> {
    const running = this.#checkingPrivately.get(connection)
    if (running) return running
    const listing = listOver(connection, this.#deadline())
      .then(({ tools }) => tools)
      .finally(() => this.#checkingPrivately.delete(connection))
    this.#checkingPrivately.set(connection, listing)
    return listing
  }

  async #list(connection: Connection, deadline: Deadline): Promise<ServerTool[]> {
    const { tools, unusable, warning } = await listOver(connection, deadline)
    const events = [
      ...unusable.map((tool) => ({ type: 'tool-invalid', ...tool }) as const),
      ...(warning === undefined ? [] : [{ type: 'server-warning', warning } as const]),
    ]
    const reported = new Set(events.map(canonicalJson))
    for (const event of events) if (!this.#reported.has(canonicalJson(event))) this.#state.emit(event)
    this.#reported = reported
    return tools
  }

  /** Saves in the background: known tools can be used without waiting for the disk. */
  #remember(catalogue: CachedCatalogue): void {
    const { cache } = this.#context
    if (!cache) return
    this.#unwritten = catalogue
    this.#remembering ??= this.#write(cache).finally(() => {
      this.#remembering = undefined
    })
  }

  get #fingerprint(): string {
    return fingerprintOf(this.#state.name, this.#state.runConfig)
  }

  /** One list at a time, so that the newest one is kept. */
  async #write(cache: CatalogueCache): Promise<void> {
    while (this.#unwritten) {
      const catalogue = this.#unwritten
      this.#unwritten = undefined
      try {
        const saving = cache.save(this.#fingerprint, catalogue)
        await within(SAVE_MS, saving, this.#context.schedule)
      } catch (error) {
        this.#state.warn(`its tools could not be cached: ${describeError(error)}`)
      }
    }
  }

  async #refresh(connection: Connection): Promise<void> {
    if (!connection.isOpen) return
    try {
      await this.read(connection)
    } catch (error) {
      if (connection.isOpen)
        this.#state.warn(
          `its tools could not be listed, so the last list stays in use: ${describeError(error)}`,
        )
    }
  }

  #deadline(): Deadline {
    return new Deadline(this.#context.now, this.#state.connectMs)
  }
}

function listOver(connection: Connection, deadline: Deadline): ReturnType<typeof listTools> {
  if (connection.info.capabilities.tools === undefined) return Promise.resolve({ tools: [], unusable: [] })
  return listTools((cursor) => {
    // Checked explicitly, because a server that responds instantly could go on forever.
    if (deadline.isOver) throw new TooLateError('its tools/list does not end in time')
    const limits = { timeoutMs: deadline.remainingMs, isUpkeep: true }
    return connection.request('tools/list', cursor === undefined ? {} : { cursor }, limits)
  })
}

function ignore(): undefined {}
