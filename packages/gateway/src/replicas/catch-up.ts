import { createHash } from 'node:crypto'
import type { Schedule } from '@toolcrib/mcp'

/**
 * When Redis loses its data, all replicas miss messages at once: they catch up at different moments within this time.
 */
const SPREAD_MS = 2_000
/** How long a replica waits before it catches up again. */
const REST_MS = 10_000

/**
 * Runs what a replica must do after it missed messages. Replicas do so at different moments, and pause between two
 * runs, however many messages are missed meanwhile, so that catching up causes no further misses.
 */
export class CatchUp {
  readonly #work: () => void
  readonly #schedule: Schedule
  readonly #delayMs: number
  #state: 'idle' | 'busy' | 'wanted' = 'idle'
  #stop = () => {}

  constructor(replica: string, work: () => void, schedule: Schedule) {
    this.#work = work
    this.#schedule = schedule
    this.#delayMs = SPREAD_MS * spreadOf(replica)
  }

  begin(): void {
    if (this.#state !== 'idle') {
      this.#state = 'wanted'
      return
    }
    this.#state = 'busy'
    this.#stop = this.#schedule(this.#delayMs, () => this.#run())
  }

  close(): void {
    this.#stop()
    this.#state = 'busy'
  }

  #run(): void {
    // This run also covers what was missed until now.
    this.#state = 'busy'
    this.#stop = this.#schedule(REST_MS, () => {
      const isWanted = this.#state === 'wanted'
      this.#state = 'idle'
      if (isWanted) this.begin()
    })
    this.#work()
  }
}

/** A number from 0 to 1, different for each replica. */
function spreadOf(replica: string): number {
  return createHash('sha256').update(replica).digest().readUInt32BE() / 2 ** 32
}
