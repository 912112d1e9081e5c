import { describeError, ToolcribError } from '../errors.ts'
import type { Emit } from '../events.ts'
import { isTooLate, type Schedule, waitAtMost, within } from '../time.ts'

/** How long to wait for the store; what it has not confirmed by then is written with the next change. */
const PATIENCE_MS = 2_000
/** Delays between attempts after a failure, when no change causes the next one; the last delay repeats. */
const RETRY_MS = [1_000, 2_000, 5_000]
/** Retries by a timer do not add to more pending writes than this; each change of the session may add one. */
const MAX_UNANSWERED = 2
/** How long closing waits for a store that did not respond last time. */
const LAST_PATIENCE_MS = 200

/** A part of a session that has a copy in a store. */
export interface Kept {
  /** Whether the store lacks something. */
  readonly isDue: boolean
  /** Writes all that the store lacks. Rejects when the store fails. `number` grows with each write. */
  write(number: number): Promise<void>
}

/** Whose part of a session is written, and the timers. */
export interface WritePlace {
  readonly id: string
  readonly schedule: Schedule
  /** Timers that do not keep the process alive, for attempts in the background. */
  readonly background: Schedule
  readonly emit: Emit
}

/**
 * Writes a part of a session to a store that may hang or fail. Callers wait for at most two seconds; after such a timeout
 * they do not wait at all until the store responds. A failure is an event; what the store lacks is written with the next
 * change or by a timer.
 */
export class PatientWrites {
  readonly #kept: Kept
  readonly #place: WritePlace
  /** The current attempt: it ends when the store has responded, or after the time limit. */
  #attempt: Promise<void> | undefined
  /** True after an attempt without a response, until the store responds. */
  #isStuck = false
  #count = 0
  /** The newest write with a known outcome. */
  #newestAnswered = 0
  #unanswered = 0
  #retries = 0
  #stopRetry: (() => void) | undefined
  #isClosed = false
  /** Why the last attempt failed. */
  #failure: { readonly error: unknown } | undefined

  constructor(kept: Kept, place: WritePlace) {
    this.#kept = kept
    this.#place = place
  }

  /** How many writes were begun. */
  get count(): number {
    return this.#count
  }

  get isStuck(): boolean {
    return this.#isStuck
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined
  }

  /** False for a write whose outcome comes after that of a newer one: it is out of date. */
  isNewest(number: number): boolean {
    return number > this.#newestAnswered
  }

  /** Writes what is due, or waits for the write under way; for a limited time. Never rejects. */
  async save(): Promise<void> {
    if (!this.#kept.isDue) return
    const attempt = this.#attempt ?? this.#try()
    if (!this.#isStuck) await attempt
  }

  /** Writes what is due, or throws `store-unavailable`; `what` names it. */
  async close(what: string): Promise<void> {
    const patienceMs = this.#isStuck ? LAST_PATIENCE_MS : PATIENCE_MS
    if (this.#attempt || this.#kept.isDue)
      await waitAtMost(patienceMs, [this.#finish()], this.#place.schedule)
    this.#isClosed = true
    this.#stopRetry?.()
    if (!this.#kept.isDue) return
    throw new ToolcribError('store-unavailable', `${what} could not be saved`, {
      cause: this.#failure?.error,
    })
  }

  async #finish(): Promise<void> {
    await this.#attempt
    // It may have changed while an older state of it was written.
    if (this.#kept.isDue) await this.#try()
  }

  #try({ isRetry = false } = {}): Promise<void> {
    const attempt = this.#writeInTime(isRetry).finally(() => {
      if (this.#attempt === attempt) this.#attempt = undefined
      if (this.#failure) this.#retryLater()
      else this.#retries = 0
    })
    this.#attempt = attempt
    return attempt
  }

  #retryLater(): void {
    if (this.#stopRetry || this.#isClosed) return
    const delayMs = RETRY_MS[Math.min(this.#retries++, RETRY_MS.length - 1)] ?? 0
    this.#stopRetry = this.#place.background(delayMs, () => {
      this.#stopRetry = undefined
      if (!this.#kept.isDue || this.#attempt) return
      if (this.#unanswered < MAX_UNANSWERED) void this.#try({ isRetry: true })
      else this.#retryLater()
    })
  }

  /** A write without a response in time is abandoned: the next change makes another attempt, with all that is due. */
  async #writeInTime(isRetry: boolean): Promise<void> {
    let isAnswered = false
    const writing = this.#write(isRetry).then(() => {
      isAnswered = true
    })
    await waitAtMost(PATIENCE_MS, [writing], this.#place.schedule)
    if (isAnswered) return
    const error = noAnswer()
    this.#failure = { error }
    if (!this.#isStuck && !isRetry) this.#emitFailure(error)
    this.#isStuck = true
  }

  async #write(isRetry: boolean): Promise<void> {
    const number = ++this.#count
    this.#unanswered++
    try {
      await this.#kept.write(number)
      this.#failure = undefined
    } catch (error) {
      this.#failure = { error }
      // The failure of a retry by a timer was already reported.
      if (!isRetry) this.#emitFailure(error)
    }
    this.#unanswered--
    this.#newestAnswered = Math.max(number, this.#newestAnswered)
    this.#isStuck = false
  }

  #emitFailure(error: unknown): void {
    const { id, emit } = this.#place
    emit({ type: 'save-failed', sessionId: id, error: describeFailure(error) })
  }
}

/** Reads from a store, and rejects when it fails or does not respond in time. */
export async function readInTime<Value>(read: () => Promise<Value>, schedule: Schedule): Promise<Value> {
  try {
    return await within(PATIENCE_MS, Promise.resolve().then(read), schedule)
  } catch (error) {
    throw isTooLate(error) ? noAnswer() : error
  }
}

/** Says why a store failed, with the cause it names. */
export function describeFailure(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? `: ${describeError(error.cause)}` : ''
  return `${describeError(error)}${cause}`
}

function noAnswer(): Error {
  return new Error(`the store did not answer within ${PATIENCE_MS} ms`)
}
