import { isRecord } from '../../json.ts'
import type { Store, StoredValue } from '../../store/store.ts'
import { type Schedule, waitAtMost, within } from '../../time.ts'

/** How often in a row a server failed to start, and why the last time. */
export interface StartFailure {
  readonly reason: string
  readonly failures: number
  /** When it failed last, in milliseconds. */
  readonly failedAt: number
  /** Until then, it is started only when it is needed. */
  readonly retryAt: number
}

const FIRST_PAUSE_MS = 30_000
const LONGEST_PAUSE_MS = 60 * 60_000
/** A failure of yesterday says nothing about today. */
const KEPT_MS = 24 * 60 * 60_000
const LOAD_MS = 1_000
const SAVE_MS = 10_000
/** How long saving may delay closing. */
const CLOSE_MS = 1_000
const MAX_REASON_CHARS = 1_000

/**
 * Remembers in a store that a server failed to start, so that the next process does not wait for it again: for half a
 * minute after the first failure, and twice as long after each further one, up to an hour. A store that fails is
 * treated as an empty one.
 */
export class StartFailures {
  readonly #store: Store
  readonly #key: string
  readonly #now: () => number
  readonly #schedule: Schedule
  /** One change at a time, so that they are made in order. */
  #changing: Promise<void> = Promise.resolve()

  /** `fingerprint` changes with the config of the server, and so does what is remembered. */
  constructor(
    store: Store,
    fingerprint: string,
    { now, schedule }: { readonly now: () => number; readonly schedule: Schedule },
  ) {
    this.#store = store
    this.#key = `failure:${fingerprint}`
    this.#now = now
    this.#schedule = schedule
  }

  /** Returns the failure after which the server should not be started yet; undefined when there is none. */
  async recall(): Promise<StartFailure | undefined> {
    try {
      const found = readFailure(await within(LOAD_MS, this.#store.get(this.#key), this.#schedule))
      return found && found.retryAt > this.#now() ? found : undefined
    } catch {
      return undefined
    }
  }

  /** Records a failure, in the background. */
  note(reason: string): void {
    const failedAt = this.#now()
    const change = (current: StoredValue | undefined): StoredValue => {
      const failures = (readFailure(current)?.failures ?? 0) + 1
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS)
      return { reason: reason.slice(0, MAX_REASON_CHARS), failures, failedAt, retryAt: failedAt + pauseMs }
    }
    this.#change(() => this.#store.update(this.#key, change, { ttlMs: KEPT_MS }))
  }

  /** Forgets all failures, in the background. */
  clear(): void {
    this.#change(() => this.#store.delete(this.#key))
  }

  /** Resolves once everything is saved, or that takes too long. */
  async close(): Promise<void> {
    await waitAtMost(CLOSE_MS, [this.#changing], this.#schedule)
  }

  #change(work: () => Promise<unknown>): void {
    this.#changing = this.#changing.then(() => within(SAVE_MS, work(), this.#schedule)).then(ignore, ignore)
  }
}

/** Describes in one line why a server was not started, and when it will be. */
export function describeStartFailure(
  { reason, failures, failedAt, retryAt }: StartFailure,
  now: number,
): string {
  const seconds = (ms: number) => `${Math.max(1, Math.round(ms / 1000))} s`
  const times = failures === 1 ? 'failed' : `failed ${failures} times, last`
  const pause = `so it was not started again; next attempt in ${seconds(retryAt - now)}`
  return `${reason} (${times} ${seconds(now - failedAt)} ago, ${pause})`
}

function readFailure(data: unknown): StartFailure | undefined {
  if (!isRecord(data)) return undefined
  const { reason, failures, failedAt, retryAt } = data
  const isWhole =
    typeof reason === 'string' &&
    typeof failures === 'number' &&
    typeof failedAt === 'number' &&
    typeof retryAt === 'number'
  return isWhole ? { reason, failures, failedAt, retryAt } : undefined
}

function ignore(): void {}
