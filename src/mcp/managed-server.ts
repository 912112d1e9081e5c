import { type Client, ProtocolError } from '@modelcontextprotocol/client'
import { SchemaCache } from '../call/check-arguments.ts'
import { describeError } from '../errors.ts'
import { canonicalJson } from '../json.ts'
import { withoutHidden } from '../names.ts'
import type { ServerStatus } from '../registry/server-directory.ts'
import type { ToolContext, ToolResult } from '../tool.ts'
import { callServerTool, describeCallError, isSessionLost, type ServerCall } from './call-server-tool.ts'
import { type CachedCatalogue, type CatalogueCache, fingerprintOf } from './catalogue-cache.ts'
import { concealerOf } from './conceal-values.ts'
import type { ServerConfig } from './config/server-config.ts'
import type { Connection } from './connection.ts'
import { listTools } from './list-tools.ts'
import { ListedTools, type ListingSurroundings } from './listed-tools.ts'
import type { EmitMcp } from './mcp-event.ts'
import type { OpenConnection } from './open-connection.ts'
import { RestartPolicy } from './restart-policy.ts'
import type { Schedule } from './schedule.ts'
import type { ServerTool } from './server-tool.ts'
import { Timers } from './timers.ts'

const DEFAULTS = { timeoutMs: 60_000, connectTimeoutMs: 30_000, idleMs: 300_000 }
const PING_MS = 30_000
const PING_TIMEOUT_MS = 10_000
const DOUBT_TIMEOUT_MS = 1_000
/** How long changes of a list are gathered before it is read. */
const REFRESH_MS = 300
const MAX_WARNINGS = 50

type TimerName = 'idle' | 'ping' | 'retry' | 'refresh' | 'pause'

export interface ServerSurroundings extends ListingSurroundings {
  readonly open: OpenConnection
  readonly cache: CatalogueCache | undefined
  readonly emit: EmitMcp
  /** Whether anybody hears of progress; servers are asked for it only then. */
  readonly wantsProgress: boolean
  readonly now: () => number
  readonly random: () => number
  readonly schedule: Schedule
}

/**
 * One configured server through its life: cold, connecting, ready, failed and back. Its tools stay registered while it
 * is away, so that a call starts it again, or says why it cannot.
 */
export class ManagedServer {
  readonly name: string
  readonly config: ServerConfig
  readonly #around: ServerSurroundings
  readonly #tools: ListedTools
  readonly #restarts: RestartPolicy
  readonly #outputSchemas = new SchemaCache()
  readonly #closing = new AbortController()
  readonly #fingerprint: string
  readonly #conceal: (text: string) => string
  readonly #timers: Timers<TimerName>
  #status: ServerStatus
  #era: 'modern' | 'legacy' | undefined
  #connection: Connection | undefined
  #upSince = 0
  #connecting: Promise<Connection> | undefined
  #refreshing: Promise<void> | undefined
  #checking: Promise<void> | undefined
  #starting: Promise<void> | undefined
  #callsInFlight = 0
  /** Those of them that the server has been asked. */
  #callsSent = 0
  #doubts: Promise<void> | undefined
  readonly #endings = new Set<Promise<void>>()
  #lastCallAt = 0
  #warnings = 0
  #isClosed = false

  constructor(name: string, config: ServerConfig, around: ServerSurroundings) {
    this.#timers = new Timers(around.schedule)
    this.name = name
    this.config = config
    this.#around = around
    this.#tools = new ListedTools(name, config, around)
    this.#restarts = new RestartPolicy(around)
    this.#fingerprint = fingerprintOf(name, config)
    this.#conceal = concealerOf(config)
    this.#status = { server: name, state: 'connecting' }
  }

  get status(): ServerStatus {
    return this.#status
  }

  /** What it lists, before anything is left out; undefined until that is known. */
  get tools(): readonly ServerTool[] | undefined {
    return this.#tools.all
  }

  /** True while searches had better wait: its tools are not known yet, and may soon be. */
  get isAwaited(): boolean {
    return this.#status.state === 'connecting' && this.#tools.all === undefined
  }

  /** Registers what is remembered of it, or connects to learn what it offers, once its forerunner has ended. */
  start(forerunner: Promise<void> = Promise.resolve()): void {
    this.#setState('connecting')
    this.#starting = forerunner.catch(ignore).then(() => this.#start())
  }

  /** Resolves once it is not connecting. */
  async settled(): Promise<void> {
    await this.#starting
    if (this.#status.state === 'connecting') await this.#connecting?.catch(ignore)
  }

  /** Runs one call, starting the server if need be. Never rejects. */
  async call(tool: ServerTool, input: unknown, ctx: ToolContext): Promise<ToolResult> {
    // Tools found under another config stay registered until this one's are known.
    if (!this.#tools.takes(tool.name)) {
      const error = `calling "${tool.name}" of server "${this.name}" is not permitted: its config leaves it out`
      return { ok: false, code: 'not_available', error }
    }
    const { timeoutMs = DEFAULTS.timeoutMs, trust = false } = this.config
    const { wantsProgress } = this.#around
    const outputSchemas = this.#outputSchemas
    const call = {
      server: this.name,
      tool,
      input,
      ctx,
      timeoutMs,
      isTrusted: trust,
      wantsProgress,
      outputSchemas,
    }
    this.#callsInFlight++
    try {
      return await this.#callOnce(call, { mayReconnect: true })
    } finally {
      this.#callsInFlight--
      this.#lastCallAt = this.#around.now()
    }
  }

  /** Holds it to a lockfile that has just come into force. */
  async recheck(): Promise<void> {
    const refusal = this.#refusal()
    if (refusal !== undefined) return this.#refuse(refusal)
    if (this.#tools.all) this.#tools.recheck()
    else if (this.#status.state === 'failed') this.start()
  }

  /** The SDK's client, for what goes beyond tools; connects if need be. */
  async client(): Promise<Client> {
    return (await this.#connected()).client
  }

  /** Ends it for good. Its tools stay registered: that is the owner's to decide. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#timers.stopAll()
    this.#closing.abort(new Error('it was closed'))
    const opening = this.#connecting
    await this.#connection?.close()
    await opening?.then((connection) => connection.close(), ignore)
    await Promise.all(this.#endings)
  }

  async #start(): Promise<void> {
    const refusal = this.#refusal()
    if (refusal !== undefined) return this.#refuse(refusal)
    const { start } = this.config
    const cached = await this.#remembered()
    if (this.#isClosed) return
    this.#era = cached?.era
    if (cached) this.#tools.sync(cached.tools)
    if (cached && start !== 'eager') return this.#setState('cold')
    await this.#connected().catch(ignore)
  }

  async #remembered(): Promise<CachedCatalogue | undefined> {
    try {
      return await this.#around.cache?.load(this.name, this.#fingerprint)
    } catch (error) {
      this.#warn(`its tools could not be recalled, so it is asked for them: ${describeError(error)}`)
      return undefined
    }
  }

  /** Why it must not be started; undefined when it may. */
  #refusal(): string | undefined {
    return this.config.problem ?? this.#around.guard.refusal(this.name, this.config)
  }

  /** Neither runs it nor keeps its tools: it cannot be what is configured, or what it is was approved by nobody. */
  async #refuse(refusal: string): Promise<void> {
    this.#tools.drop()
    this.#timers.stop('retry')
    if (this.#connection) await this.#drop(this.#connection)
    this.#setState('failed', refusal)
  }

  async #callOnce(call: ServerCall, { mayReconnect }: { mayReconnect: boolean }): Promise<ToolResult> {
    let connection: Connection
    try {
      connection = await this.#connected()
    } catch (error) {
      const reason = `server "${this.name}" is disconnected: ${describeError(error)}`
      return { ok: false, code: 'not_available', error: `${reason}. Use another tool, or try later` }
    }
    try {
      const refusal = await this.#refusalOf(call.tool.name, connection)
      if (refusal !== undefined) return { ok: false, code: 'not_available', error: refusal }
      this.#callsSent++
      return await callServerTool(connection, call, this.#around.emit).finally(() => this.#callsSent--)
    } catch (error) {
      if (isSessionLost(error) && mayReconnect) {
        await this.#drop(connection)
        return this.#callOnce(call, { mayReconnect: false })
      }
      const closedBecause = connection.isClosed ? connection.closedBecause : undefined
      const isSilent = closedBecause === undefined && !(error instanceof ProtocolError)
      if (isSilent) this.#doubt(connection)
      const answer = describeCallError(error, call, closedBecause)
      return answer.ok ? answer : { ...answer, error: this.#tellable(answer.error) }
    }
  }

  /**
   * Why a tool must not be called. A lockfile covers what a tool is when it is called, not when it was found, so the
   * list is read again; calls made at once share one reading.
   */
  async #refusalOf(tool: string, connection: Connection): Promise<string | undefined> {
    if (!this.#around.guard.isOn) return undefined
    this.#checking ??= this.#readTools(connection).finally(() => {
      this.#checking = undefined
    })
    await this.#checking
    return this.#tools.refusalOf(tool)
  }

  /** The connection, made if there is none; one attempt for all who wait. */
  #connected(): Promise<Connection> {
    if (this.#doubts) return this.#doubts.then(() => this.#connected())
    if (this.#connection) return Promise.resolve(this.#connection)
    const refusal = this.#refusal()
    if (refusal !== undefined) return Promise.reject(new Error(refusal))
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async #connect(): Promise<Connection> {
    await this.#waitForTurn()
    // One that failed counts as failed until it is back: nobody waits for it again and again.
    if (this.#status.state !== 'failed') this.#setState('connecting')
    const startedAt = this.#around.now()
    const timeoutMs = this.config.connectTimeoutMs ?? DEFAULTS.connectTimeoutMs
    let connection: Connection | undefined
    let isStale = this.#tools.all !== undefined
    try {
      const onWarning = (warning: string) => this.#warn(warning)
      connection = await this.#around.open({
        server: this.name,
        config: this.config,
        era: this.#era,
        timeoutMs,
        onWarning,
        signal: this.#closing.signal,
      })
      if (this.#isClosed) throw new Error('it was closed')
      this.#era = connection.era
      const opened = connection
      connection.onToolsChanged(() => {
        if (this.#connection === opened) this.#refreshSoon()
        else isStale = true
      })
      // The first list must be there before anyone finds a tool; a later one may follow.
      if (this.#tools.all === undefined) await this.#readTools(connection)
      if (connection.isClosed) throw new Error(connection.closedBecause)
    } catch (error) {
      await connection?.close().catch(ignore)
      const reason = this.#tellable(describeError(error))
      this.#failed(reason, { upMs: 0 })
      throw new Error(reason, { cause: error })
    }
    this.#adopt(connection, startedAt)
    if (isStale) this.#refreshSoon()
    return connection
  }

  /** Waits out the pause after a failure, but not the long one after many. */
  async #waitForTurn(): Promise<void> {
    if (this.#isClosed) throw new Error('it was closed')
    const { pauseMs, isTripped } = this.#restarts
    if (pauseMs === 0) return
    if (isTripped) {
      const reason = this.#status.state === 'failed' ? this.#status.reason : 'it failed'
      throw new Error(`${reason}; it failed too often, and is tried again in ${Math.ceil(pauseMs / 1000)} s`)
    }
    const { signal } = this.#closing
    await new Promise<void>((resolve) => {
      this.#timers.start('pause', pauseMs, resolve)
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    signal.throwIfAborted()
  }

  #adopt(connection: Connection, startedAt: number): void {
    this.#connection = connection
    this.#upSince = startedAt
    this.#timers.stop('retry')
    this.#setState('ready')
    connection.onClose(() => {
      if (this.#connection !== connection) return
      this.#connection = undefined
      void this.#end(connection)
      this.#timers.stop('idle')
      this.#timers.stop('ping')
      if (!this.#isClosed) this.#failed(connection.closedBecause, { upMs: this.#upMs })
    })
    this.#pingLater(connection)
    this.#lastCallAt = this.#around.now()
    this.#stopWhenIdle()
  }

  get #upMs(): number {
    return this.#around.now() - this.#upSince
  }

  #failed(reason: string, { upMs }: { upMs: number }): void {
    if (this.#isClosed) return
    this.#restarts.noteFailure({ upMs })
    this.#setState('failed', reason)
    // A server whose tools are known is started again by the next call.
    if (this.#tools.all !== undefined && this.config.start !== 'eager') return
    this.#timers.start('retry', this.#restarts.pauseMs, () => void this.#connected().catch(ignore))
  }

  #refreshSoon(): void {
    if (this.#timers.isRunning('refresh') || this.#isClosed) return
    this.#timers.start('refresh', REFRESH_MS, async () => {
      // What changed while the list was being read is not in it.
      await this.#refreshing
      this.#refreshing = this.#refresh()
    })
  }

  async #refresh(): Promise<void> {
    const connection = this.#connection
    if (!connection) return
    try {
      await this.#readTools(connection)
    } catch (error) {
      if (this.#connection === connection)
        this.#warn(`its tools could not be listed, so the last list stays: ${describeError(error)}`)
    }
  }

  async #readTools(connection: Connection): Promise<void> {
    const timeoutMs = this.config.connectTimeoutMs ?? DEFAULTS.connectTimeoutMs
    const hasTools = connection.client.getServerCapabilities()?.tools !== undefined
    const page = (cursor: string | undefined) =>
      connection.request('tools/list', cursor === undefined ? {} : { cursor }, { timeoutMs })
    const tools = hasTools ? await listTools(page, this.#around.emit) : []
    if (this.#isClosed || !this.#tools.sync(tools)) return
    try {
      await this.#around.cache?.save(this.name, this.#fingerprint, { tools, era: connection.era })
    } catch (error) {
      this.#warn(`its tools could not be remembered: ${describeError(error)}`)
    }
  }

  // One timer for many calls: it looks when the last one was, rather than being set anew by each.
  #stopWhenIdle(): void {
    const { start, idleMs = DEFAULTS.idleMs } = this.config
    if (start === 'eager' || idleMs === 0) return
    const restMs = this.#callsInFlight > 0 ? idleMs : this.#lastCallAt + idleMs - this.#around.now()
    const connection = this.#connection
    if (restMs > 0) this.#timers.start('idle', restMs, () => this.#stopWhenIdle())
    else if (connection) void this.#drop(connection)
  }

  /** Lets a connection go without counting it as a failure. */
  async #drop(connection: Connection): Promise<void> {
    if (this.#connection !== connection) return
    this.#connection = undefined
    this.#timers.stop('ping')
    this.#timers.stop('idle')
    this.#setState('cold')
    await this.#end(connection)
  }

  /** Closes a connection; whoever closes the server waits for it too. */
  #end(connection: Connection): Promise<void> {
    const ended = connection
      .close()
      .catch(ignore)
      .finally(() => this.#endings.delete(ended))
    this.#endings.add(ended)
    return ended
  }

  #pingLater(connection: Connection): void {
    this.#timers.start('ping', PING_MS, async () => {
      if (this.#callsSent === 0) await this.#checkAlive(connection, PING_TIMEOUT_MS)
      if (this.#connection === connection) this.#pingLater(connection)
    })
  }

  /** A server that left a call unanswered is asked for a sign of life before the next; without one it is ended. */
  #doubt(connection: Connection): void {
    if (this.#connection !== connection || this.#callsSent > 0) return
    this.#doubts ??= this.#checkAlive(connection, DOUBT_TIMEOUT_MS).finally(() => {
      this.#doubts = undefined
    })
  }

  async #checkAlive(connection: Connection, timeoutMs: number): Promise<void> {
    try {
      await connection.ping(timeoutMs)
    } catch (error) {
      if (this.#connection !== connection || this.#callsSent > 0) return
      this.#connection = undefined
      this.#failed(`it does not answer: ${describeError(error)}`, { upMs: this.#upMs })
      void this.#end(connection)
    }
  }

  /** What others said of a failure, as people and models may read it. */
  #tellable(text: string): string {
    return this.#conceal(withoutHidden(text))
  }

  #setState(state: ServerStatus['state'], because = ''): void {
    const reason = this.#tellable(because)
    const status = state === 'failed' ? { server: this.name, state, reason } : { server: this.name, state }
    const isNew = canonicalJson(status) !== canonicalJson(this.#status)
    this.#status = status
    if (isNew || state === 'connecting')
      this.#around.emit({ type: 'server-state', state, ...(state === 'failed' ? { reason } : {}) })
  }

  /** Says what the server does wrong, ever more seldom. */
  #warn(warning: string): void {
    this.#warnings++
    if (this.#warnings > MAX_WARNINGS && !Number.isInteger(Math.log2(this.#warnings))) return
    this.#around.emit({ type: 'server-warning', warning: this.#tellable(warning) })
  }
}

function ignore(): void {}
