import type { Tool } from '../tool.ts'

/** Limits the searches per minute of one session; 0 = no limit. */
export class SearchLimit {
  readonly #perMinute: number
  readonly #now: () => number
  #times: number[] = []

  constructor(perMinute: number, now: () => number) {
    this.#perMinute = perMinute
    this.#now = now
  }

  /** The same tool, refusing calls beyond the limit. */
  wrap<Input>(tool: Tool<Input>): Tool<Input> {
    if (this.#perMinute === 0) return tool
    return {
      ...tool,
      execute: (input, ctx) => {
        const waitMs = this.#take()
        if (waitMs === 0) return tool.execute(input, ctx)
        const seconds = Math.ceil(waitMs / 1000)
        const error = `${this.#perMinute} searches a minute is the limit; use the tools you have, or search again in ${seconds} s`
        return { ok: false, code: 'denied', error }
      },
    }
  }

  /** 0 when a search may go ahead now, else how long until the next one may. */
  #take(): number {
    const now = this.#now()
    this.#times = this.#times.filter((time) => now - time < 60_000)
    const [oldest] = this.#times
    if (oldest !== undefined && this.#times.length >= this.#perMinute) return oldest + 60_000 - now
    this.#times.push(now)
    return 0
  }
}
