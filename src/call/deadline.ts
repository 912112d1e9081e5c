/** Calls `fire` after so many milliseconds, unless the returned function is called first. */
export type Schedule = (delayMs: number, fire: () => void) => () => void

/** Longer delays make the platform's timers fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1

export const scheduleWithTimers: Schedule = (delayMs, fire) => {
  const timer = setTimeout(fire, delayMs)
  return () => clearTimeout(timer)
}

/** How a piece of foreign work ended. */
export type Outcome<Value> =
  | { readonly kind: 'returned'; readonly value: Value }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'cancelled' }

/**
 * The cancellation of one batch. It listens once to the host's signal, however many calls the batch has, and lets
 * go of it when the batch ends, so that a long-lived signal gathers no listeners.
 */
export class BatchAbort {
  readonly #signal: AbortSignal | undefined
  readonly #actions = new Set<() => void>()
  readonly #onSignal = () => {
    for (const action of [...this.#actions]) action()
  }

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal
    signal?.addEventListener('abort', this.#onSignal, { once: true })
  }

  get isAborted(): boolean {
    return this.#signal?.aborted === true
  }

  /** Why the host cancelled. */
  get reason(): unknown {
    return this.#signal?.reason
  }

  /** Calls the action on cancellation; the returned function takes it back. */
  onAbort(action: () => void): () => void {
    if (this.#signal === undefined) return () => {}
    this.#actions.add(action)
    return () => this.#actions.delete(action)
  }

  close(): void {
    this.#signal?.removeEventListener('abort', this.#onSignal)
    this.#actions.clear()
  }
}

/** The limits under which foreign work runs. */
export interface Limits {
  readonly abort: BatchAbort
  /** No deadline when absent or 0. */
  readonly timeoutMs: number | undefined
  readonly schedule: Schedule
}

/**
 * Runs foreign work and answers how it ended: by itself, by its deadline or by cancellation, whichever is first. The
 * work learns of the latter two by its signal; if it carries on regardless, what becomes of it is ignored.
 */
export function runWithin<Value>(
  work: (signal: () => AbortSignal) => Value | PromiseLike<Value>,
  { abort, timeoutMs, schedule }: Limits,
): Promise<Outcome<Value>> {
  if (abort.isAborted) return Promise.resolve({ kind: 'cancelled' })
  return new Promise((resolve) => {
    const controller = lazily(() => new AbortController())
    const finish = (outcome: Outcome<Value>) => {
      stopListening()
      stopTimer?.()
      resolve(outcome)
    }
    const stopListening = abort.onAbort(() => {
      finish({ kind: 'cancelled' })
      controller().abort(abort.reason)
    })
    let stopTimer: (() => void) | undefined
    const threw = (error: unknown) => finish({ kind: 'threw', error })
    try {
      const value = work(() => controller().signal)
      // What is done at once needs no timer.
      if (!isPromising(value)) return finish({ kind: 'returned', value })
      if (hasDeadline(timeoutMs)) {
        stopTimer = schedule(timeoutMs, () => {
          finish({ kind: 'timeout' })
          controller().abort(new DOMException(`no answer within ${timeoutMs} ms`, 'TimeoutError'))
        })
      }
      // Both ways out are handled, so a rejection that comes late is never an unhandled one.
      Promise.resolve(value).then((value) => finish({ kind: 'returned', value }), threw)
    } catch (error) {
      threw(error)
    }
  })
}

// Whatever is an object may be a promise of some kind; asking a stranger's getter is left to the platform.
function isPromising<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  if (typeof value !== 'object' && typeof value !== 'function') return false
  return value !== null && (value instanceof Promise || !isPlain(value))
}

function isPlain(value: object): boolean {
  return Object.getPrototypeOf(value) === Object.prototype && !('then' in value)
}

// Most tools never ask for their signal, and making one costs more than the rest of a small call.
function lazily<Value>(make: () => Value): () => Value {
  let made: Value | undefined
  return () => {
    made ??= make()
    return made
  }
}

function hasDeadline(timeoutMs: number | undefined): timeoutMs is number {
  return timeoutMs !== undefined && timeoutMs > 0 && timeoutMs <= MAX_DELAY_MS
}
