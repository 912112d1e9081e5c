import type { SdkErrorCode } from '@modelcontextprotocol/client'
import type { Schedule } from '../../time.ts'

/** A literal: loading the SDK for the constant takes longer than a search. */
const TOO_LATE: `${SdkErrorCode.RequestTimeout}` = 'REQUEST_TIMEOUT'

/** Work that did not finish in time. */
export class TooLateError extends Error {
  override readonly name = 'TooLateError'
  readonly code = TOO_LATE
  /** How long the wait was, if known. */
  readonly afterMs: number | undefined

  constructor(message: string, afterMs?: number) {
    super(message)
    this.afterMs = afterMs
  }
}

/** True for timeouts, both ours and the SDK's. */
export function isTooLate(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === TOO_LATE
}

/** A shared time limit for work with several steps. */
export class Deadline {
  readonly #timeoutMs: number
  readonly #now: () => number
  #end: number

  constructor(now: () => number, timeoutMs: number) {
    this.#timeoutMs = timeoutMs
    this.#now = now
    this.#end = now() + timeoutMs
  }

  /** The time left; at least a millisecond, so that a timer accepts it. */
  get remainingMs(): number {
    return Math.max(1, this.#end - this.#now())
  }

  get isOver(): boolean {
    return this.#now() >= this.#end
  }

  /** Restarts the time limit: the time so far was spent by a person giving consent, not by the server. */
  restart(): void {
    this.#end = this.#now() + this.#timeoutMs
  }
}

/**
 * Waits for work, and rejects with a `TooLateError` when it takes longer than `timeoutMs`. The work itself is not
 * stopped.
 */
export function within<Value>(timeoutMs: number, work: Promise<Value>, schedule: Schedule): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = schedule(timeoutMs, () =>
      reject(new TooLateError(`not done within ${timeoutMs} ms`, timeoutMs)),
    )
    work.then(resolve, reject).finally(stop)
  })
}
