import {
  anyFunction,
  checkOptions,
  either,
  milliseconds,
  type OptionRules,
  objectWith,
} from '../check-options.ts'
import { describeError, ToolcribError } from '../errors.ts'
import { type Clock, readClock, type Schedule, scheduleInBackground, waitPatiently } from '../time.ts'
import type { Change, Store, StoredValue, WriteOptions } from './store.ts'

export interface WatchStoreOptions {
  /** How long an operation may take; 5,000 by default. */
  readonly patienceMs?: number
  /** How often a store that failed is tried again; 1,000 by default. */
  readonly probeMs?: number
  /** The clock. Default: `Date`. */
  readonly clock?: Clock
  /** Starts timers. Default: the platform's, which do not keep a process alive. */
  readonly schedule?: Schedule
}

/** The state of a store. */
export interface StoreHealth {
  readonly state: 'ok' | 'degraded'
  /** When it became degraded, by the clock. */
  readonly since?: number | undefined
  /** The reason of the last failure. */
  readonly reason?: string | undefined
}

/** How many operations of one kind ended in one way. */
export interface StoreCount {
  readonly operation: Operation
  readonly outcome: OperationEnd
  readonly count: number
}

/** A store that reports its health. */
export interface WatchedStore extends Store {
  health(): StoreHealth
  /** Operations since it was opened. */
  counts(): readonly StoreCount[]
  /** Calls the listener each time the store works again after a failure. Returns a function that stops it. */
  onBack(listener: () => void): () => void
  /** Stops probing a failing store, and calling listeners; the store stays open. */
  unwatch(): void
}

type Operation = 'get' | 'set' | 'update' | 'delete'
/** skipped: the store had not answered before, so the operation was not tried. */
type OperationEnd = 'ok' | 'failed' | 'timeout' | 'skipped'

/**
 * Limits how long a store can block its callers. An operation that takes too long rejects with `store-unavailable`;
 * later ones reject at once, until the store answers again. While it fails, it is probed in the background. Closing it
 * closes the store.
 */
export function watchStore(store: Store, options: WatchStoreOptions = {}): WatchedStore {
  checkOptions('watchStore()', options, OPTIONS)
  return new StoreWatch(store, options)
}

const OPTIONS: OptionRules<WatchStoreOptions> = {
  patienceMs: milliseconds({ from: 1 }),
  probeMs: milliseconds({ from: 1 }),
  clock: either(anyFunction, objectWith('now')),
  schedule: anyFunction,
}

/** A failure that took at least this part of the patience counts as a timeout. */
const SLOW_PART = 0.3
const PROBE_KEY = 'health:probe'
const PROBE_TTL_MS = 60_000

class StoreWatch implements WatchedStore {
  readonly #store: Store
  readonly #patienceMs: number
  readonly #probeMs: number
  readonly #now: () => number
  readonly #schedule: Schedule
  readonly #counts = new Map<string, { operation: Operation; outcome: OperationEnd; count: number }>()
  readonly #listeners = new Set<() => void>()
  #trouble: { readonly since: number; reason: string; isStuck: boolean } | undefined
  #stopProbing = () => {}
  #isClosed = false

  constructor(
    store: Store,
    { patienceMs = 5_000, probeMs = 1_000, clock = Date, schedule = scheduleInBackground }: WatchStoreOptions,
  ) {
    this.#store = store
    this.#patienceMs = patienceMs
    this.#probeMs = probeMs
    this.#now = readClock(clock)
    this.#schedule = schedule
  }

  get(key: string): Promise<StoredValue | undefined> {
    return this.#operate('get', () => this.#store.get(key))
  }

  set(key: string, value: StoredValue, options?: WriteOptions): Promise<void> {
    return this.#operate('set', () => this.#store.set(key, value, options))
  }

  update(key: string, change: Change, options?: WriteOptions): Promise<StoredValue | undefined> {
    return this.#operate('update', () => this.#store.update(key, change, options))
  }

  delete(key: string): Promise<void> {
    return this.#operate('delete', () => this.#store.delete(key))
  }

  unwatch(): void {
    this.#isClosed = true
    this.#stopProbing()
    this.#listeners.clear()
  }

  async close(): Promise<void> {
    this.unwatch()
    await this.#store.close()
  }

  health(): StoreHealth {
    if (!this.#trouble) return { state: 'ok' }
    const { since, reason } = this.#trouble
    return { state: 'degraded', since, reason }
  }

  counts(): readonly StoreCount[] {
    return [...this.#counts.values()]
  }

  onBack(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async #operate<Value>(operation: Operation, work: () => Promise<Value>): Promise<Value> {
    if (this.#trouble?.isStuck) {
      this.#count(operation, 'skipped')
      throw new ToolcribError('store-unavailable', this.#trouble.reason)
    }
    const begun = this.#now()
    const outcome = await this.#inTime(work)
    if (outcome === undefined) {
      this.#count(operation, 'timeout')
      throw this.#fail(new Error(`the store did not answer within ${this.#patienceMs} ms`), true)
    }
    if ('value' in outcome) {
      this.#count(operation, 'ok')
      return outcome.value
    }
    const { error } = outcome
    const isStoreAtFault = error instanceof ToolcribError && error.code === 'store-unavailable'
    // An invalid key, or an error thrown by `change`, says nothing about the store.
    this.#count(operation, isStoreAtFault ? 'failed' : 'ok')
    if (isStoreAtFault && !this.#isClosed) this.#fail(error, this.#isSlow(begun))
    throw error
  }

  async #inTime<Value>(
    work: () => Promise<Value>,
  ): Promise<{ value: Value } | { error: unknown } | undefined> {
    let outcome: { value: Value } | { error: unknown } | undefined
    const attempt = async () => {
      try {
        outcome = { value: await work() }
      } catch (error) {
        outcome = { error }
      }
    }
    await waitPatiently(this.#patienceMs, attempt(), this.#schedule)
    return outcome
  }

  #fail(error: unknown, isStuck: boolean): ToolcribError {
    const reason = describeError(error)
    if (this.#trouble) {
      this.#trouble.reason = reason
      this.#trouble.isStuck ||= isStuck
    } else {
      this.#trouble = { since: this.#now(), reason, isStuck }
      this.#probeLater()
    }
    return new ToolcribError('store-unavailable', reason, { cause: error })
  }

  #probeLater(): void {
    if (!this.#isClosed) this.#stopProbing = this.#schedule(this.#probeMs, () => void this.#probe())
  }

  /** A store works again when it accepts a write and returns it: a read-only or full one does not. */
  async #probe(): Promise<void> {
    const stamp = this.#now()
    const outcome = await this.#inTime(async () => {
      await this.#store.set(PROBE_KEY, stamp, { ttlMs: PROBE_TTL_MS })
      return this.#store.get(PROBE_KEY)
    })
    if (this.#isClosed) return
    if (this.#trouble && outcome && 'value' in outcome) {
      this.#trouble = undefined
      for (const listener of [...this.#listeners]) listener()
      return
    }
    // It answers again, though with an error: asking it blocks nobody.
    if (this.#trouble) this.#trouble.isStuck = outcome === undefined || this.#isSlow(stamp)
    this.#probeLater()
  }

  /** Whether an operation that began then took long to fail, which blocks callers as well. */
  #isSlow(begun: number): boolean {
    return this.#now() - begun >= this.#patienceMs * SLOW_PART
  }

  #count(operation: Operation, outcome: OperationEnd): void {
    const key = `${operation} ${outcome}`
    const known = this.#counts.get(key)
    if (known) known.count++
    else this.#counts.set(key, { operation, outcome, count: 1 })
  }
}
