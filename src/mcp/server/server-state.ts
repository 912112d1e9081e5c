import type { ServerEventBody } from '../../events.ts'
import { canonicalJson } from '../../json.ts'
import { withoutHidden } from '../../names.ts'
import type { ServerStatus } from '../../registry/server-directory.ts'
import { concealerOf } from '../../secrets/conceal-values.ts'
import { maskSecrets } from '../../secrets/mask-secrets.ts'
import type { ServerConfig } from '../config/server-config.ts'
import type { ServerContext } from './server-context.ts'

const CONNECT_MS = 30_000
/** Up to this many warnings are reported individually; after that, only those whose number is a power of two. */
const MAX_WARNINGS = 50

type WithoutServer<Event> = Event extends unknown ? Omit<Event, 'server'> : never

/** An event of one server, without the server's name. */
export type ServerEvent = WithoutServer<ServerEventBody>

/** One server's name, config and status, and the events about it. */
export class ServerState {
  readonly name: string
  readonly config: ServerConfig
  /** Time limit for connecting, and for reading a list with all its pages. */
  readonly connectMs: number
  readonly #context: ServerContext
  readonly #conceal: (text: string) => string
  #status: ServerStatus
  #warnings = 0

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

  /** Why the server must not run right now: its config is invalid, or it is not approved. */
  get refusal(): string | undefined {
    return this.config.problem ?? this.#context.guard.refusal(this.name, this.config)
  }

  /**
   * Throws the refusal, if there is one. Must be checked again after every wait, because the lockfile may have
   * changed.
   */
  throwIfRefused(): void {
    const { refusal } = this
    if (refusal !== undefined) throw new Error(refusal)
  }

  /** Records the new state and reports a change. */
  set(state: ServerStatus['state'], because = ''): void {
    const reason = this.presentable(because)
    const status = state === 'failed' ? { server: this.name, state, reason } : { server: this.name, state }
    const isNew = canonicalJson(status) !== canonicalJson(this.#status)
    this.#status = status
    if (isNew || state === 'connecting')
      this.emit({ type: 'server-state', state, ...(state === 'failed' ? { reason } : {}) })
  }

  /** Reports a recoverable error; the more there are, the fewer are reported. */
  warn(warning: string): void {
    this.#warnings++
    if (this.#warnings > MAX_WARNINGS && !Number.isInteger(Math.log2(this.#warnings))) return
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
