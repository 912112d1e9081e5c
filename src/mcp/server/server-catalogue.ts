import { describeError } from '../../errors.ts'
import { canonicalJson } from '../../json.ts'
import { Timers, waitAtMost } from '../../time.ts'
import { type CachedCatalogue, type CatalogueCache, fingerprintOf } from '../cache/catalogue-cache.ts'
import type { Connection, ServerInfo } from '../connection/connection.ts'
import { Deadline, TooLateError } from '../connection/deadline.ts'
import { ListedTools } from './listed-tools.ts'
import type { ServerContext } from './server-context.ts'
import type { ServerState } from './server-state.ts'
import { listTools, type ServerTool } from './server-tool.ts'

/** How long changes of a list are gathered before it is read. */
const REFRESH_MS = 300
/** How often a list of which something is held back is read again. */
const RECHECK_MS = 30_000
/** How long saving the list may delay the end. */
const REMEMBER_MS = 1_000

/** What one server offers: recalled, read from it, kept up to date, and remembered. */
export class ServerCatalogue {
  readonly #state: ServerState
  readonly #context: ServerContext
  readonly #fingerprint: string
  readonly #listed: ListedTools
  readonly #timers: Timers<'refresh' | 'recheck'>
  #info: ServerInfo | undefined
  /** The connection to read the list over, once changes have been gathered. */
  #stale: Connection | undefined
  #reading: Promise<void> | undefined
  #checking: Promise<void> | undefined
  /** The newest list that has not been written. */
  #unwritten: CachedCatalogue | undefined
  #remembering: Promise<void> | undefined
  /** What was wrong with the list as it was read last; it is not reported again with each reading. */
  #reported: ReadonlySet<string> = new Set()
  #isClosed = false

  constructor(state: ServerState, context: ServerContext) {
    this.#state = state
    this.#context = context
    this.#fingerprint = fingerprintOf(state.name, state.config)
    this.#listed = new ListedTools(state, context)
    this.#timers = new Timers(context.schedule)
  }

  /** All the server lists, before anything is left out; undefined until that is known. */
  get tools(): readonly ServerTool[] | undefined {
    return this.#listed.all
  }

  /** What the server said of itself, now or the last time it ran; undefined until that is known. */
  get info(): ServerInfo | undefined {
    return this.#info
  }

  find(tool: string): ServerTool | undefined {
    return this.#listed.find(tool)
  }

  /** False for a tool that `allow` or `deny` leaves out. */
  takes(tool: string): boolean {
    return this.#listed.takes(tool)
  }

  /** Registers what is remembered of the server; false when nothing is. */
  async recall(): Promise<boolean> {
    const cached = await this.#load()
    if (!cached || this.#isClosed || this.#state.refusal !== undefined) return false
    this.#info = cached.info
    this.#listed.sync(cached.tools)
    return true
  }

  /** Reads the list to its end, and swaps the registered tools for it. Rejects when it cannot be read or used. */
  read(connection: Connection, deadline: Deadline = this.#deadline()): Promise<void> {
    this.#reading = this.#read(connection, deadline)
    return this.#reading
  }

  /** Reads the list in a moment, once for all that changes until then. */
  refreshSoon(connection: Connection): void {
    this.#stale = connection
    if (this.#timers.isRunning('refresh') || this.#isClosed) return
    this.#timers.start('refresh', REFRESH_MS, async () => {
      // What changed while the list was being read is not in it.
      await this.#reading?.catch(ignore)
      if (this.#stale) await this.#refresh(this.#stale)
    })
  }

  /**
   * Why a tool must not be called. A lockfile covers what a tool is when it is called, not when it was found, so the
   * list is read again; calls made at once share one reading.
   */
  async refusalOf(tool: string, connection: Connection): Promise<string | undefined> {
    if (!this.#context.guard.isOn) return undefined
    this.#checking ??= this.read(connection).finally(() => {
      this.#checking = undefined
    })
    await this.#checking
    return this.#listed.refusalOf(tool)
  }

  /** Holds what is registered to a lockfile that has just come into force. */
  recheck(): void {
    this.#listed.recheck()
  }

  /** Takes the server's tools out of the registry, and forgets them. */
  drop(): void {
    this.#listed.drop()
  }

  /** Leaves the registry alone from now on; resolves once its list is remembered, or that takes too long. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#timers.stopAll()
    await waitAtMost(REMEMBER_MS, [this.#remembering], this.#context.schedule)
  }

  async #load(): Promise<CachedCatalogue | undefined> {
    try {
      return await this.#context.cache?.load(this.#state.name, this.#fingerprint)
    } catch (error) {
      this.#state.warn(`its tools could not be recalled, so it is asked for them: ${describeError(error)}`)
      return undefined
    }
  }

  async #read(connection: Connection, deadline: Deadline): Promise<void> {
    let tools = await this.#list(connection, deadline)
    // One bad list is not the last word: what it takes away, a second one must confirm.
    if (this.#context.guard.isOn && this.#listed.isLessThanBefore(tools))
      tools = await this.#list(connection, deadline)
    this.#state.throwIfRefused()
    if (this.#isClosed) return
    const isNews = canonicalJson(connection.info) !== canonicalJson(this.#info)
    this.#info = connection.info
    const isChanged = this.#listed.sync(tools)
    if (isChanged || isNews) this.#remember({ tools, info: connection.info })
    if (this.#listed.isHeld) this.#recheckLater(connection)
  }

  /** What is held back cannot be called, so no call would notice that the server lists what was approved again. */
  #recheckLater(connection: Connection): void {
    if (this.#isClosed) return
    this.#timers.start('recheck', RECHECK_MS, () => void this.#refresh(connection))
  }

  async #list(connection: Connection, deadline: Deadline): Promise<ServerTool[]> {
    if (connection.info.capabilities.tools === undefined) return []
    const { tools, unusable, warning } = await listTools((cursor) => {
      // A server that answers at once could go on for ever, a millisecond at a time.
      if (deadline.isOver) throw new TooLateError('its tools/list does not end in time')
      const limits = { timeoutMs: deadline.remainingMs, isUpkeep: true }
      return connection.request('tools/list', cursor === undefined ? {} : { cursor }, limits)
    })
    const events = [
      ...unusable.map((tool) => ({ type: 'tool-invalid', ...tool }) as const),
      ...(warning === undefined ? [] : [{ type: 'server-warning', warning } as const]),
    ]
    const reported = new Set(events.map(canonicalJson))
    for (const event of events) if (!this.#reported.has(canonicalJson(event))) this.#state.emit(event)
    this.#reported = reported
    return tools
  }

  /** In the background: nobody waits for a disk to use tools that are known. */
  #remember(catalogue: CachedCatalogue): void {
    const { cache } = this.#context
    if (!cache) return
    this.#unwritten = catalogue
    this.#remembering ??= this.#write(cache).finally(() => {
      this.#remembering = undefined
    })
  }

  /** One list after the other, so that the newest is what stays. */
  async #write(cache: CatalogueCache): Promise<void> {
    while (this.#unwritten) {
      const catalogue = this.#unwritten
      this.#unwritten = undefined
      try {
        await cache.save(this.#state.name, this.#fingerprint, catalogue)
      } catch (error) {
        this.#state.warn(`its tools could not be remembered: ${describeError(error)}`)
      }
    }
  }

  async #refresh(connection: Connection): Promise<void> {
    if (!connection.isOpen) return
    try {
      await this.read(connection)
    } catch (error) {
      if (connection.isOpen)
        this.#state.warn(`its tools could not be listed, so the last list stays: ${describeError(error)}`)
    }
  }

  #deadline(): Deadline {
    return new Deadline(this.#context.now, this.#state.connectMs)
  }
}

function ignore(): void {}
