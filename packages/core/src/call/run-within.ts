import { MAX_DELAY_MS, type Schedule } from '../time.ts'

/** How untrusted work ended. */
export type Outcome<Value> =
  | { readonly kind: 'returned'; readonly value: Value }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'cancelled' }

/**
 * The cancellation of one batch. Adds one listener to the host's signal, however many calls the batch has, and removes
 * it when the batch ends, so that a long-lived signal collects no listeners.
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

  /** Calls the action on cancellation. Returns a function that unregisters it. */
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

/** The limits of untrusted work. */
export interface Limits {
  readonly abort: BatchAbort
  /** No deadline when absent or 0. */
  readonly timeoutMs: number | undefined
  readonly schedule: Schedule
}

/**
 * Runs untrusted work and returns how it ended: by itself, by its deadline or by cancellation, whichever is first. The
 * signal of the work fires for the latter two; if the work continues, its outcome is ignored. Work that completes
 * synchronously returns synchronously.
 */
export function runWithin<Value>(
  work: (stop: Stop) => Value | PromiseLike<Value>,
  limits: Limits,
): Outcome<Value> | Promise<Outcome<Value>> {
  if (limits.abort.isAborted) return { kind: 'cancelled' }
  const stop = new Stop()
  try {
    const value = work(stop)
    // A value that is already there needs neither a timer nor a listener.
    return isPromising(value) ? settled(value, stop, limits) : { kind: 'returned', value }
  } catch (error) {
    return { kind: 'threw', error }
  }
}

/** Signals to the work that it was abandoned. The signal is created on first use: it costs more than a small call. */
export class Stop {
  #controller: AbortController | undefined

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    this.#controller ??= new AbortController()
    this.#controller.abort(reason)
  }
}

function settled<Value>(
  promise: PromiseLike<Value>,
  stop: Stop,
  { abort, timeoutMs, schedule }: Limits,
): Promise<Outcome<Value>> {
  return new Promise((resolve) => {
    let stopTimer: (() => void) | undefined
    const finish = (outcome: Outcome<Value>) => {
      stopListening()
      stopTimer?.()
      resolve(outcome)
    }
    const cancel = () => {
      finish({ kind: 'cancelled' })
      stop.abort(abort.reason)
    }
    const stopListening = abort.onAbort(cancel)
    // Cancelled by the first, synchronous part of the work itself.
    if (abort.isAborted) cancel()
    else if (hasDeadline(timeoutMs)) {
      stopTimer = schedule(timeoutMs, () => {
        finish({ kind: 'timeout' })
        stop.abort(new DOMException(`no result within ${timeoutMs} ms`, 'TimeoutError'))
      })
    }
    const threw = (error: unknown) => finish({ kind: 'threw', error })
    // Both outcomes are handled, so a late rejection is never an unhandled one.
    try {
      Promise.resolve(promise).then((value) => finish({ kind: 'returned', value }), threw)
    } catch (error) {
      threw(error)
    }
  })
}

// Anything but a plain object may be a promise or a thenable.
function isPromising<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return Object.getPrototypeOf(value) !== Object.prototype || 'then' in value
}

function hasDeadline(timeoutMs: number | undefined): timeoutMs is number {
  return timeoutMs !== undefined && timeoutMs > 0 && timeoutMs <= MAX_DELAY_MS
}
