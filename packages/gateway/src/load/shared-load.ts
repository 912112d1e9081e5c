import type { Schedule } from '@toolcrib/mcp'
import type { Store } from '@toolcrib/mcp/stores'
import type { Limits } from '../gateway-options.ts'
import { isJson } from '../json-rpc.ts'
import type { ClientLoad } from './load-limits.ts'

/** How often replicas add up the load of their clients. */
const INTERVAL_MS = 2_000
const KEPT_MS = 5 * INTERVAL_MS
/**
 * A replica where a client uses less than this part of its limits does not report it: twenty such replicas stay within
 * the limit.
 */
const NOTABLE_PART = 0.05
const MINUTE_MS = 60_000

interface Share {
  readonly underWay: number
  readonly started: number
}

/**
 * Applies client limits across replicas, approximately: every two seconds each replica adds the load of its busy
 * clients to a number in the store, and counts the others' share of the previous interval as its own. A replica that
 * dies drops out with the next interval.
 */
export class SharedLoad {
  readonly #load: ClientLoad
  readonly #store: Store
  readonly #limits: Pick<Limits, 'maxCallsPerClient' | 'callsPerMinute'>
  readonly #now: () => number
  readonly #schedule: Schedule
  /** What this replica added, by key. */
  readonly #added = new Map<string, Share>()
  #stop = () => {}
  #isClosed = false

  constructor(
    load: ClientLoad,
    store: Store,
    around: {
      readonly limits: Pick<Limits, 'maxCallsPerClient' | 'callsPerMinute'>
      readonly now: () => number
      readonly schedule: Schedule
    },
  ) {
    this.#load = load
    this.#store = store
    this.#limits = around.limits
    this.#now = around.now
    this.#schedule = around.schedule
    this.#later()
  }

  close(): void {
    this.#isClosed = true
    this.#stop()
  }

  #later(): void {
    if (this.#isClosed) return
    this.#stop = this.#schedule(INTERVAL_MS, () => void this.#exchange().finally(() => this.#later()))
  }

  async #exchange(): Promise<void> {
    const slot = Math.floor(this.#now() / INTERVAL_MS)
    const busy = this.#load.takeUse().filter((use) => this.#isNotable(use))
    const before = new Map(this.#added)
    this.#added.clear()
    const shared = busy.map(async ({ principal, underWay, started }) => {
      const own = before.get(principal)
      this.#added.set(principal, { underWay, started })
      try {
        const known = shareOf(await this.#store.get(keyOf(principal, slot - 1)))
        await this.#store.update(
          keyOf(principal, slot),
          (current) => add(shareOf(current), { underWay, started }),
          {
            ttlMs: KEPT_MS,
          },
        )
        this.#load.noteElsewhere(principal, {
          underWay: Math.max(0, known.underWay - (own?.underWay ?? 0)),
          started: Math.max(0, known.started - (own?.started ?? 0)),
        })
      } catch {
        // Without a store each replica counts alone.
        this.#load.noteElsewhere(principal, { underWay: 0, started: 0 })
      }
    })
    await Promise.all(shared)
  }

  #isNotable({ underWay, started }: Share): boolean {
    const { maxCallsPerClient, callsPerMinute } = this.#limits
    const perInterval = (callsPerMinute * INTERVAL_MS) / MINUTE_MS
    const isFull = maxCallsPerClient > 0 && underWay >= maxCallsPerClient * NOTABLE_PART && underWay > 0
    return isFull || (callsPerMinute > 0 && started >= perInterval * NOTABLE_PART && started > 0)
  }
}

function keyOf(principal: string, slot: number): string {
  return `gateway:load:${principal}:${slot}`.slice(0, 512)
}

function shareOf(value: unknown): Share {
  const { underWay, started } = isJson(value) ? value : {}
  return { underWay: Number(underWay ?? 0), started: Number(started ?? 0) }
}

function add(one: Share, other: Share): { readonly underWay: number; readonly started: number } {
  return { underWay: one.underWay + other.underWay, started: one.started + other.started }
}
