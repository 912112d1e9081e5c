import { describeError } from '../../errors.ts'
import { canonicalJson } from '../../json.ts'
import type { Schedule } from '../../time.ts'
import { Timers, waitAtMost } from '../../time.ts'
import { type CachedCatalogue, type CatalogueCache, fingerprintOf } from '../cache/catalogue-cache.ts'
import type { ServerConfig } from '../config/server-config.ts'
import type { Connection } from '../connection/connection.ts'
import { Deadline, TooLateError } from '../connection/deadline.ts'
import type { EmitMcp } from '../mcp-event.ts'
import { listTools } from './list-tools.ts'
import { ListedTools, type ListingSurroundings } from './listed-tools.ts'
import type { ServerReport } from './server-report.ts'
import type { ServerTool } from './server-tool.ts'

/** How long changes of a list are gathered before it is read. */
const REFRESH_MS = 300
/** How long what is being remembered may hold up the end. */
const REMEMBER_MS = 1_000

/** What a catalogue is registered with, remembered in and timed by. */
export interface CatalogueSurroundings extends ListingSurroundings {
  readonly cache: CatalogueCache | undefined
  readonly now: () => number
  readonly schedule: Schedule
}

/** What one server offers: recalled, read from it, kept up to date, and remembered. */
export class ServerCatalogue {
  readonly #server: string
  readonly #around: CatalogueSurroundings
  readonly #report: ServerReport
  readonly #refusal: () => string | undefined
  readonly #readMs: number
  readonly #fingerprint: string
  readonly #listed: ListedTools
  readonly #timers: Timers<'refresh'>
  /** The connection to read the list over, once changes have been gathered. */
  #stale: Connection | undefined
  #reading: Promise<void> | undefined
  #checking: Promise<void> | undefined
  /** The newest list that has not been written. */
  #unwritten: CachedCatalogue | undefined
  #remembering: Promise<void> | undefined
  /** What was wrong with the list as it was read last; it is not told again with each reading. */
  #told: ReadonlySet<string> = new Set()
  #isClosed = false

  constructor(
    server: string,
    config: ServerConfig,
    parts: {
      readonly around: CatalogueSurroundings
      readonly report: ServerReport
      /** Why nothing of the server may be used, at this moment. */
      readonly refusal: () => string | undefined
      /** How long reading a list may take, with all its pages. */
      readonly readMs: number
    },
  ) {
    this.#server = server
    this.#around = parts.around
    this.#report = parts.report
    this.#refusal = parts.refusal
    this.#readMs = parts.readMs
    this.#fingerprint = fingerprintOf(server, config)
    this.#listed = new ListedTools(server, config, parts.around)
    this.#timers = new Timers(parts.around.schedule)
  }

  /** All the server lists, before anything is left out; undefined until that is known. */
  get tools(): readonly ServerTool[] | undefined {
    return this.#listed.all
  }

  /** False for a tool that `allow` or `deny` leaves out. */
  takes(tool: string): boolean {
    return this.#listed.takes(tool)
  }

  /** Registers what is remembered of the server, and answers it. */
  async recall(): Promise<CachedCatalogue | undefined> {
    const cached = await this.#load()
    if (!cached || this.#isClosed || this.#refusal() !== undefined) return undefined
    this.#listed.sync(cached.tools)
    return cached
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
    if (!this.#around.guard.isOn) return undefined
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

  /** Leaves the registry alone from now on, and answers once its list is remembered, or that takes too long. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#timers.stopAll()
    await waitAtMost(REMEMBER_MS, [this.#remembering], this.#around.schedule)
  }

  async #load(): Promise<CachedCatalogue | undefined> {
    try {
      return await this.#around.cache?.load(this.#server, this.#fingerprint)
    } catch (error) {
      this.#report.warn(`its tools could not be recalled, so it is asked for them: ${describeError(error)}`)
      return undefined
    }
  }

  async #read(connection: Connection, deadline: Deadline): Promise<void> {
    const hasTools = connection.client.getServerCapabilities()?.tools !== undefined
    const page = (cursor: string | undefined) => {
      // A server that answers at once could go on for ever, a millisecond at a time.
      if (deadline.isOver) throw new TooLateError('its tools/list does not end in time')
      const limits = { timeoutMs: deadline.remainingMs, isUpkeep: true }
      return connection.request('tools/list', cursor === undefined ? {} : { cursor }, limits)
    }
    const told = new Set<string>()
    const tellNews: EmitMcp = (event) => {
      const text = canonicalJson(event)
      told.add(text)
      if (!this.#told.has(text)) this.#around.emit(event)
    }
    const tools = hasTools ? await listTools(page, tellNews) : []
    this.#told = told
    const refusal = this.#refusal()
    if (refusal !== undefined) throw new Error(refusal)
    if (!this.#isClosed && this.#listed.sync(tools)) this.#remember({ tools, era: connection.era })
  }

  /** Beside everything else: nobody waits for a disk to use tools that are known. */
  #remember(catalogue: CachedCatalogue): void {
    const { cache } = this.#around
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
        await cache.save(this.#server, this.#fingerprint, catalogue)
      } catch (error) {
        this.#report.warn(`its tools could not be remembered: ${describeError(error)}`)
      }
    }
  }

  async #refresh(connection: Connection): Promise<void> {
    if (!connection.isOpen) return
    try {
      await this.read(connection)
    } catch (error) {
      if (connection.isOpen)
        this.#report.warn(`its tools could not be listed, so the last list stays: ${describeError(error)}`)
    }
  }

  #deadline(): Deadline {
    return new Deadline(this.#around.now, this.#readMs)
  }
}

function ignore(): void {}
