import type { ServerEventBody, ServerNeed, ServerStatus } from '@toolcrib/core'
import { canonicalJson, concealerOf, maskSecrets, withoutHidden } from '@toolcrib/core/internal'
import type { ServerConfig } from '../config/server-config.ts'
import type { ServersRegistry } from '../connect-options.ts'
import type { LockGuard } from '../lock/lock-guard.ts'

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
  readonly #registry: Pick<ServersRegistry, 'emit'>
  readonly #guard: LockGuard
  readonly #conceal: (text: string) => string
  #status: ServerStatus
  /** What connecting waits for. */
  #describeWait: (() => string) | undefined
  /** How many warnings of each kind there were. */
  readonly #warnings = new Map<string, number>()

  constructor(
    name: string,
    config: ServerConfig,
    { registry, guard }: { registry: Pick<ServersRegistry, 'emit'>; guard: LockGuard },
  ) {
    this.name = name
    this.config = config
    this.connectMs = config.connectTimeoutMs ?? CONNECT_MS
    this.#registry = registry
    this.#guard = guard
    this.#conceal = concealerOf(config)
    this.#status = { server: name, state: 'connecting' }
  }

  get status(): ServerStatus {
    const status = this.#status
    if (status.state !== 'connecting' || !this.#describeWait) return status
    return { ...status, detail: this.#describeWait() }
  }

  /** The config to run it with: its package or image pinned to the approved one. */
  get runConfig(): ServerConfig {
    return this.#guard.pinned(this.name, this.config)
  }

  /** Why the server must not run right now: its config is invalid, or it is not approved. */
  get refusal(): ServerProblem | undefined {
    const { problem } = this.config
    if (problem !== undefined) return { reason: problem, needs: 'config' }
    const reason = this.#guard.refusal(this.name, this.config)
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
    if (state !== 'connecting') this.#describeWait = undefined
    if (isNew || state === 'connecting')
      this.emit({ type: 'server-state', state, ...(state === 'failed' ? problem : {}) })
  }

  /** Reports what connecting waits for; undefined: for nothing unusual. */
  noteWait(describe: (() => string) | undefined): void {
    this.#describeWait = describe
    const { status } = this
    if (describe && status.state === 'connecting') this.emit({ type: 'server-state', ...status })
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
    this.#registry.emit({ ...event, server: this.name })
  }

  /** Makes server text safe to show to people and models: removes configured values and hidden characters. */
  presentable(text: string): string {
    return this.#conceal(withoutHidden(text))
  }
}
