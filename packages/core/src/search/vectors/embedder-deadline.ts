import { anyFunction, milliseconds, type OptionRules } from '../../check-options.ts'
import { ToolcribError } from '../../errors.ts'
import { type Schedule, scheduleInBackground } from '../../time.ts'

/** How long a search waits for its embedder by default, and how long later searches do not wait after that. */
const DEFAULT_TIMEOUT_MS = 10_000
const REST_MS = 30_000

export interface DeadlineOptions {
  /** How long a search waits for the embedder. 10,000 by default. */
  readonly timeoutMs?: number
  readonly schedule?: Schedule
}

export const DEADLINE_RULES: OptionRules<DeadlineOptions> = {
  timeoutMs: milliseconds({ from: 1 }),
  schedule: anyFunction,
}

/** Limits how long searches wait for an embedder. After one timeout, searches do not ask it for half a minute. */
export class EmbedderDeadline {
  readonly #name: string
  readonly #options: DeadlineOptions
  #failure: unknown

  constructor(name: string, options: DeadlineOptions) {
    this.#name = name
    this.#options = options
  }

  /** The timeout, while searches do not wait for the embedder; undefined otherwise. */
  get failure(): unknown {
    return this.#failure
  }

  /** Rejects with `source-unavailable` after the deadline. If the late work ends, the next search asks again. */
  wait<Value>(work: Promise<Value>): Promise<Value> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS, schedule = scheduleInBackground } = this.#options
    return new Promise((resolve, reject) => {
      const stop = schedule(timeoutMs, () => {
        const failure = new ToolcribError(
          'source-unavailable',
          `the embedder "${this.#name}" did not respond within ${timeoutMs} ms`,
        )
        this.#failure = failure
        const wake = () => {
          this.#failure = undefined
        }
        work.then(wake, wake)
        schedule(REST_MS, wake)
        reject(failure)
      })
      work.then(resolve, reject).finally(stop)
    })
  }
}
