import { createHash } from 'node:crypto'
import type { Schedule } from 'toolcrib/mcp'

/** All replicas miss messages at the same moment when Redis loses its data: they catch up within so long. */
const SPREAD_MS = 2_000
/** How long a replica waits before it catches up again. */
const REST_MS = 10_000

/**
 * Does what a replica has to do after it missed messages: not at the same moment as the others, and not again until it
 * has rested, however often messages are missed meanwhile. So catching up cannot cause that more is missed.
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
    // What was missed until now is read with this.
    this.#state = 'busy'
    this.#stop = this.#schedule(REST_MS, () => {
      const isWanted = this.#state === 'wanted'
      this.#state = 'idle'
      if (isWanted) this.begin()
    })
    this.#work()
  }
}

/** From 0 to 1, another for each replica. */
function spreadOf(replica: string): number {
  return createHash('sha256').update(replica).digest().readUInt32BE() / 2 ** 32
}
