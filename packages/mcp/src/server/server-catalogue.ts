import {
  canonicalJson,
  Deadline,
  describeError,
  sharedSlices,
  Timers,
  TooLateError,
} from '@toolcrib/core/internal'
import type { CatalogueCache } from '../cache/catalogue-cache.ts'
import type { Connection, ServerInfo } from '../connection/connection.ts'
import { instructionItems } from '../listed/server-item.ts'
import type { ServerTool } from '../listed/server-tool.ts'
import type { ServerTime } from './connector.ts'
import { listTools, type ToolListing } from './list-tools.ts'
import { ListedTools, type ListedToolsOptions } from './listed-tools.ts'
import { RefreshPace } from './refresh-pace.ts'
import { SavedCatalogue } from './saved-catalogue.ts'
import type { ServerItems } from './server-items.ts'
import type { ServerState } from './server-state.ts'

/** How long changes of private lists are collected before one is compared. */
const COMPARE_MS = 300
/** How often a list with quarantined tools is read again. */
const RECHECK_MS = 30_000
/** How many private lists are remembered as examined; beyond that, all are examined again. */
const MAX_COMPARED = 20

/** The shared connection. Implemented by `ServerLink`. */
interface SharedConnection {
  readonly current: Connection | undefined
  connected(): Promise<Connection>
}

/** One server's catalogue: loaded from the cache, read from the server, kept up to date, and cached. */
export class ServerCatalogue {
  readonly #state: ServerState
  readonly #time: ServerTime
  readonly #saved: SavedCatalogue | undefined
  readonly #guard: ListedToolsOptions['guard']
  readonly #items: Pick<ServerItems, 'scan'>
  readonly #listed: ListedTools
  readonly #timers: Timers<'refresh' | 'recheck' | 'compare'>
  #info: ServerInfo | undefined
  /** The connection to read the list from, once changes have been collected. */
  #stale: Connection | undefined
  #isRefreshing = false
  readonly #pace: RefreshPace
  #reading: Promise<void> | undefined
  /** How many lists were requested, and which of them is in use. */
  #begun = 0
  #used = 0
  #checking: Promise<void> | undefined
  /** Lists that are being read over private connections, to check calls. */
  readonly #checkingPrivately = new WeakMap<Connection, Promise<readonly ServerTool[]>>()
  /** Hashes of private lists that differ from the shared one and have been examined. */
  readonly #compared = new Set<string>()
  /** The problems of the last list read, so that they are not reported again with each reading. */
  #reported: ReadonlySet<string> = new Set()
  #isClosed = false

  constructor(
    state: ServerState,
    items: Pick<ServerItems, 'scan'>,
    { time, cache, ...tools }: ListedToolsOptions & { time: ServerTime; cache: CatalogueCache | undefined },
  ) {
    this.#state = state
    this.#items = items
    this.#time = time
    this.#saved = cache && new SavedCatalogue(state, cache, time)
    this.#guard = tools.guard
    this.#listed = new ListedTools(state, tools)
    this.#timers = new Timers(time.schedule)
    this.#pace = new RefreshPace(time.now, (delayMs) =>
      state.warn(
        `its list of tools keeps changing, so that it is read less often: again in ${Math.round(delayMs / 1_000)} s`,
      ),
    )
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
    const order = ++this.#begun
    const cached = await this.#saved?.load()
    if (!cached) return false
    await this.#listed.prepare(cached.tools, cached.scan)
    if (this.#isClosed || this.#state.refusal !== undefined) return false
    if (!this.#isNewest(order)) return true
    this.#learn(cached.info)
    this.#listed.sync(cached.tools, cached.scan)
    return true
  }

  /** Reads the whole list and replaces the registered tools with it. Rejects when it cannot be read or used. */
  read(connection: Connection, deadline: Deadline = this.#deadline()): Promise<void> {
    this.#reading = this.#read(connection, deadline)
    return this.#reading
  }

  /** Reads the list after a short delay, once for all changes until then; ever more rarely if it keeps changing. */
  refreshSoon(connection: Connection): void {
    this.#stale = connection
    if (this.#timers.isRunning('refresh') || this.#isRefreshing || this.#isClosed) return
    this.#timers.start('refresh', this.#pace.next(), () => void this.#refreshStale())
  }

  async #refreshStale(): Promise<void> {
    this.#isRefreshing = true
    // A list being read does not include changes made in the meantime.
    await this.#reading?.catch(ignore)
    const startedAt = this.#time.now()
    const stale = this.#stale
    this.#stale = undefined
    if (stale) await this.#refresh(stale)
    if (this.#pace.isRestless) await this.#listed.scan
    this.#pace.wasRead(this.#time.now() - startedAt)
    this.#isRefreshing = false
    if (this.#stale) this.refreshSoon(this.#stale)
  }

  /**
   * Returns why a tool must not be called. A lockfile covers the definition at the time of the call, not of the
   * search, so the list is read again; concurrent calls share one reading.
   */
  async refusalOf(tool: string, connection: Connection): Promise<string | undefined> {
    if (!this.#guard.isOn) return undefined
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
    if (!this.#guard.isOn) return undefined
    const refusal = this.#listed.refusalIn(await this.#listPrivately(connection), tool)
    // A single bad list does not count.
    return refusal && this.#listed.refusalIn(await this.#listPrivately(connection), tool)
  }

  /**
   * Reads the list again after a session's private connection reported a change: over the shared connection, if it is
   * open. Otherwise that one is opened only if the private list has something new.
   */
  refreshAfter(connection: Connection, shared: SharedConnection): void {
    if (this.#isClosed || this.#timers.isRunning('compare')) return
    this.#timers.start('compare', COMPARE_MS, async () => {
      const { current } = shared
      if (current) return this.refreshSoon(current)
      const tools = await this.#listPrivately(connection).catch(ignore)
      const hash = tools && (await this.#listed.hashOf(tools))
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
    await this.#saved?.close()
  }

  async #read(connection: Connection, deadline: Deadline): Promise<void> {
    const order = ++this.#begun
    let tools = await this.#list(connection, deadline)
    // A single bad list does not count: a second one must confirm that tools are missing or changed.
    if (this.#guard.isOn && (await this.#listed.isLessThanBefore(tools)))
      tools = await this.#list(connection, deadline)
    await this.#listed.prepare(tools)
    this.#state.throwIfRefused()
    if (this.#isClosed || !this.#isNewest(order)) return
    const isNews = canonicalJson(connection.info) !== canonicalJson(this.#info)
    this.#learn(connection.info)
    const isChanged = this.#listed.sync(tools)
    if (isChanged || isNews) this.#saved?.save({ tools, info: connection.info, scan: this.#listed.scan })
    if (this.#listed.isHeld) this.#recheckLater(connection)
  }

  /** False once a list that was requested later is in use: preparing a list takes time. */
  #isNewest(order: number): boolean {
    if (order < this.#used) return false
    this.#used = order
    return true
  }

  #learn(info: ServerInfo | undefined): void {
    this.#info = info
    this.#items.scan('instructions', instructionItems(info?.instructions))
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

  async #list(connection: Connection, deadline: Deadline): Promise<readonly ServerTool[]> {
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
    return new Deadline(this.#time.now, this.#state.connectMs)
  }
}

function listOver(connection: Connection, deadline: Deadline): Promise<ToolListing> {
  if (connection.info.capabilities.tools === undefined) return Promise.resolve({ tools: [], unusable: [] })
  return listTools((cursor) => {
    // Checked explicitly, because a server that responds instantly could go on forever.
    if (deadline.isOver) throw new TooLateError('its tools/list does not end in time')
    const limits = { timeoutMs: deadline.remainingMs, isUpkeep: true }
    return connection.request('tools/list', cursor === undefined ? {} : { cursor }, limits)
  }, sharedSlices)
}

function ignore(): undefined {}
