import type { Limits } from './gateway-options.ts'
import { REFUSED, RpcError } from './json-rpc.ts'

const RETRY_MS = 1_000
const MINUTE_MS = 60_000
/** Clients whose rate is remembered; those that were quiet the longest are forgotten. */
const MAX_CLIENTS = 10_000

/** The error for a call that is turned away, with a hint when to try again. */
export function overloaded(message: string, retryAfterMs = RETRY_MS): RpcError {
  return new RpcError(REFUSED, message, { retryAfterMs })
}

interface Usage {
  underWay: number
  /** Calls that may start now: one more with each share of a minute that passes. */
  allowance: number
  at: number
  /** Calls that began since they were last asked for. */
  started: number
  /** Calls under way at other replicas, about. */
  elsewhere: number
}

/** How many calls each client has under way, and how many it may start in a minute. */
export class ClientLoad {
  readonly #limits: Pick<Limits, 'maxCallsPerClient' | 'callsPerMinute'>
  readonly #now: () => number
  readonly #usage = new Map<string, Usage>()
  readonly #waiting: (() => void)[] = []
  #total = 0

  constructor(limits: Pick<Limits, 'maxCallsPerClient' | 'callsPerMinute'>, now: () => number) {
    this.#limits = limits
    this.#now = now
  }

  /** Calls under way, over all clients. */
  get total(): number {
    return this.#total
  }

  /** Resolves once no call is under way. */
  idle(): Promise<void> {
    if (this.#total === 0) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** True when a call of this client would be turned away. */
  isFull(principal: string): boolean {
    const { maxCallsPerClient } = this.#limits
    return maxCallsPerClient > 0 && this.#underWay(principal) >= maxCallsPerClient
  }

  /** Notes that a call begins; returns how to end it. Throws when the client has too many, or starts them too fast. */
  begin(principal: string): () => void {
    const usage = this.#of(principal)
    if (this.isFull(principal)) throw overloaded('too many calls are under way; wait for some of them to end')
    const { callsPerMinute } = this.#limits
    if (callsPerMinute > 0 && usage.allowance < 1)
      throw overloaded(
        `more than ${callsPerMinute} calls within a minute; slow down`,
        Math.ceil(((1 - usage.allowance) * MINUTE_MS) / callsPerMinute),
      )
    usage.allowance--
    usage.started++
    usage.underWay++
    this.#total++
    return () => {
      usage.underWay--
      this.#total--
      if (this.#total === 0) for (const resolve of this.#waiting.splice(0)) resolve()
    }
  }

  /** What clients did since this was last called, and do now; those that do nothing are left out. */
  takeUse(): readonly { readonly principal: string; readonly underWay: number; readonly started: number }[] {
    const uses = [...this.#usage].map(([principal, usage]) => {
      const { underWay, started } = usage
      usage.started = 0
      usage.elsewhere = 0
      return { principal, underWay, started }
    })
    return uses.filter(({ underWay, started }) => underWay > 0 || started > 0)
  }

  /** Counts what a client does at other replicas; until the next `takeUse()`. */
  noteElsewhere(principal: string, { underWay, started }: { underWay: number; started: number }): void {
    const usage = this.#of(principal)
    usage.elsewhere = underWay
    usage.allowance = Math.max(-this.#limits.callsPerMinute, usage.allowance - started)
  }

  #underWay(principal: string): number {
    const usage = this.#usage.get(principal)
    return (usage?.underWay ?? 0) + (usage?.elsewhere ?? 0)
  }

  #of(principal: string): Usage {
    const { callsPerMinute } = this.#limits
    const at = this.#now()
    const known = this.#usage.get(principal)
    const unlimited = Number.POSITIVE_INFINITY
    const usage = known ?? { underWay: 0, allowance: unlimited, at, started: 0, elsewhere: 0 }
    const grown = usage.allowance + ((at - usage.at) * callsPerMinute) / MINUTE_MS
    usage.allowance = callsPerMinute > 0 ? Math.min(callsPerMinute, grown) : unlimited
    usage.at = at
    if (!known) this.#remember(principal, usage)
    return usage
  }

  #remember(principal: string, usage: Usage): void {
    this.#usage.set(principal, usage)
    if (this.#usage.size <= MAX_CLIENTS) return
    const quiet = [...this.#usage].find(([, { underWay }]) => underWay === 0)
    if (quiet) this.#usage.delete(quiet[0])
  }
}

interface Queue {
  underWay: number
  readonly waiting: Set<() => void>
}

/** How many requests are under way at each server, and which wait for their turn, first come, first served. */
export class ServerLoad {
  readonly #limits: Pick<Limits, 'maxCallsPerServer' | 'maxQueuedPerServer'>
  readonly #queues = new Map<string, Queue>()

  constructor(limits: Pick<Limits, 'maxCallsPerServer' | 'maxQueuedPerServer'>) {
    this.#limits = limits
  }

  /** Takes a place at a server that has room; returns how to give it back, and undefined when it has none. */
  enterAtOnce(place: string): (() => void) | undefined {
    const queue = this.#queueOf(place)
    const { maxCallsPerServer } = this.#limits
    if (maxCallsPerServer > 0 && queue.underWay >= maxCallsPerServer) return undefined
    queue.underWay++
    return () => this.#leave(place, queue)
  }

  /**
   * Waits for a place at a server; returns how to give it back. Rejects at once when too many wait already, and with the
   * reason of the signal when that fires first.
   */
  async enter(place: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    const entered = this.enterAtOnce(place)
    if (entered) return entered
    const queue = this.#queueOf(place)
    const { maxQueuedPerServer } = this.#limits
    if (maxQueuedPerServer > 0 && queue.waiting.size >= maxQueuedPerServer)
      throw overloaded('the server of this tool is busy, and too many calls wait for it')
    await this.#turn(queue, signal)
    return () => this.#leave(place, queue)
  }

  #queueOf(place: string): Queue {
    const known = this.#queues.get(place)
    if (known) return known
    const queue = { underWay: 0, waiting: new Set<() => void>() }
    this.#queues.set(place, queue)
    return queue
  }

  #turn(queue: Queue, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = () => {
        queue.waiting.delete(go)
        reject(signal.reason)
      }
      queue.waiting.add(go)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  /** Whoever waits the longest takes over the place. */
  #leave(place: string, queue: Queue): void {
    const [next] = queue.waiting
    if (next) {
      queue.waiting.delete(next)
      next()
      return
    }
    queue.underWay--
    if (queue.underWay === 0) this.#queues.delete(place)
  }
}
