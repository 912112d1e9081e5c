import { canonicalJson } from '../../json.ts'
import { withoutHidden } from '../../names.ts'
import type { ServerStatus } from '../../registry/server-directory.ts'
import { concealerOf } from '../../secrets/conceal-values.ts'
import type { ServerConfig } from '../config/server-config.ts'
import type { EmitMcp } from '../mcp-event.ts'

/** So many warnings are told one by one; of the rest only every one whose number is a power of two. */
const MAX_WARNINGS = 50

/** What is told of one server: how it is doing, and what it does wrong. */
export class ServerReport {
  readonly #server: string
  readonly #conceal: (text: string) => string
  readonly #emit: EmitMcp
  #status: ServerStatus
  #warnings = 0

  constructor(server: string, config: ServerConfig, emit: EmitMcp) {
    this.#server = server
    this.#conceal = concealerOf(config)
    this.#emit = emit
    this.#status = { server, state: 'connecting' }
  }

  get status(): ServerStatus {
    return this.#status
  }

  /** Takes note of how it is doing from now on, and tells what is new. */
  setState(state: ServerStatus['state'], because = ''): void {
    const reason = this.tellable(because)
    const status =
      state === 'failed' ? { server: this.#server, state, reason } : { server: this.#server, state }
    const isNew = canonicalJson(status) !== canonicalJson(this.#status)
    this.#status = status
    if (isNew || state === 'connecting')
      this.#emit({ type: 'server-state', state, ...(state === 'failed' ? { reason } : {}) })
  }

  /** Says what the server does wrong, ever more seldom. */
  warn(warning: string): void {
    this.#warnings++
    if (this.#warnings > MAX_WARNINGS && !Number.isInteger(Math.log2(this.#warnings))) return
    this.#emit({ type: 'server-warning', warning: this.tellable(warning) })
  }

  /** What a server said, as people and models may read it: without configured values and hidden characters. */
  tellable(text: string): string {
    return this.#conceal(withoutHidden(text))
  }
}
