import type { Limits } from '../gateway-options.ts'
import { overloaded } from '../json-rpc.ts'
import { WaitingCalls } from './waiting-calls.ts'

const MINUTE_MS = 60_000
/** Clients whose rate is remembered; the least recently active ones are forgotten. */
const MAX_CLIENTS = 10_000

interface Usage {
  underWay: number
  /** Calls that may start now; it grows steadily with time. */
  allowance: number
  at: number
  /** Calls started since `takeUse()` was last called. */
  started: number
  /** Calls in flight at other replicas, approximately. */
  elsewhere: number
}

/** Limits how many calls each client has in flight, and how many it starts per minute. */
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

  /** Calls in flight, over all clients. */
  get total(): number {
    return this.#total
  }

  /** Resolves once no call is in flight. */
  idle(): Promise<void> {
    if (this.#total === 0) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** True if a call of this client would be refused. */
  isFull(principal: string): boolean {
    const { maxCallsPerClient } = this.#limits
    return maxCallsPerClient > 0 && this.underWay(principal) >= maxCallsPerClient
  }

  /**
   * Counts a call; returns a function that ends it. Throws if the client has too many calls, or starts them too fast.
   */
  begin(principal: string): () => void {
    const usage = this.#of(principal)
    if (this.isFull(principal)) throw overloaded('too many calls are in flight; wait for some of them to end')
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

  /**
   * What each client did since the last call of this method, and its calls in flight; inactive clients are left out.
   */
  takeUse(): readonly { readonly principal: string; readonly underWay: number; readonly started: number }[] {
    const uses = [...this.#usage].map(([principal, usage]) => {
      const { underWay, started } = usage
      usage.started = 0
      usage.elsewhere = 0
      return { principal, underWay, started }
    })
    return uses.filter(({ underWay, started }) => underWay > 0 || started > 0)
  }

  /** Adds a client's load at other replicas, until the next `takeUse()`. */
  noteElsewhere(principal: string, { underWay, started }: { underWay: number; started: number }): void {
    const usage = this.#of(principal)
    usage.elsewhere = underWay
    usage.allowance = Math.max(-this.#limits.callsPerMinute, usage.allowance - started)
  }

  /** Calls of this client in flight, at all replicas. */
  underWay(principal: string): number {
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

/** The client of a call. */
interface Caller {
  readonly principal: string
  readonly signal: AbortSignal
}

interface Queue {
  underWay: number
  /** Calls in flight of each client. */
  readonly ofClients: Map<string, number>
  readonly waiting: WaitingCalls<Caller, () => void>
}

/**
 * Limits the concurrent requests at each server. Others wait: the client with the fewest in flight comes first, and its
 * requests in their order.
 */
export class ServerLoad {
  readonly #limits: Pick<Limits, 'maxCallsPerServer' | 'maxQueuedPerServer'>
  readonly #queues = new Map<string, Queue>()

  constructor(limits: Pick<Limits, 'maxCallsPerServer' | 'maxQueuedPerServer'>) {
    this.#limits = limits
  }

  /** Takes a slot at a server; returns a function that releases it, or undefined if there is no free slot. */
  enterAtOnce(place: string, caller: Caller): (() => void) | undefined {
    const queue = this.#queueOf(place)
    const { maxCallsPerServer } = this.#limits
    if (maxCallsPerServer > 0 && queue.underWay >= maxCallsPerServer) return undefined
    return this.#begin(place, queue, caller)
  }

  /**
   * Waits for a slot at a server; returns a function that releases it. Rejects if too many requests wait, and with the
   * signal's reason if the signal fires first.
   */
  async enter(place: string, caller: Caller): Promise<() => void> {
    caller.signal.throwIfAborted()
    const entered = this.enterAtOnce(place, caller)
    if (entered) return entered
    const queue = this.#queueOf(place)
    return queue.waiting.add(caller, caller.signal, this.#limits.maxQueuedPerServer)
  }

  #queueOf(place: string): Queue {
    const known = this.#queues.get(place)
    if (known) return known
    const queue: Queue = { underWay: 0, ofClients: new Map(), waiting: new WaitingCalls() }
    this.#queues.set(place, queue)
    return queue
  }

  #begin(place: string, queue: Queue, { principal }: Caller): () => void {
    queue.underWay++
    queue.ofClients.set(principal, (queue.ofClients.get(principal) ?? 0) + 1)
    return () => this.#leave(place, queue, principal)
  }

  #leave(place: string, queue: Queue, principal: string): void {
    const { ofClients } = queue
    queue.underWay--
    const left = (ofClients.get(principal) ?? 0) - 1
    if (left > 0) ofClients.set(principal, left)
    else ofClients.delete(principal)
    const next = nextOf(queue)
    if (next) next.admit(this.#begin(place, queue, next.call))
    else if (queue.underWay === 0) this.#queues.delete(place)
  }
}

function nextOf({ waiting, ofClients }: Queue) {
  const underWay = ({ principal }: Caller) => ofClients.get(principal) ?? 0
  const [first, ...others] = waiting
  return others.reduce((next, one) => (next && underWay(one.call) < underWay(next.call) ? one : next), first)
}
