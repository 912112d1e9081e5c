/** A source of time: a function or an object with `now()`, in milliseconds. `Date` works. */
export type Clock = (() => number) | { now(): number }

/** Returns the clock as a plain function. */
export function readClock(clock: Clock): () => number {
  // Checked first: `Date` has a now() and is a function as well.
  return 'now' in clock ? () => clock.now() : clock
}

/** Calls `fire` after `delayMs` milliseconds, unless the returned function is called first. */
export type Schedule = (delayMs: number, fire: () => void) => () => void

/** The longest delay that the platform's timers support; they fire at once for a longer one. */
export const MAX_DELAY_MS = 2 ** 31 - 1

/** The platform's timers. A pending one keeps a Node process alive, because somebody waits for it. */
export const scheduleWithTimers: Schedule = (delayMs, fire) => {
  const timer = setTimeout(fire, Math.min(delayMs, MAX_DELAY_MS))
  return () => clearTimeout(timer)
}

/** The platform's timers for background work: a pending one does not keep a Node process alive. */
export const scheduleInBackground: Schedule = (delayMs, fire) => {
  const timer: unknown = setTimeout(fire, Math.min(delayMs, MAX_DELAY_MS))
  // Only Node's timers have unref(); a browser's are numbers.
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function')
    timer.unref()
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>)
}

/** Waits until all of the work is done or the time is up, whichever comes first. A rejection counts as done. */
export async function waitAtMost(
  timeoutMs: number,
  work: readonly (Promise<unknown> | undefined)[],
  schedule: Schedule,
): Promise<void> {
  const awaited = work.filter((promise) => promise !== undefined)
  if (awaited.length === 0) return
  let stop = () => {}
  const expired = new Promise<void>((resolve) => {
    stop = schedule(timeoutMs, resolve)
  })
  await Promise.race([Promise.allSettled(awaited), expired])
  stop()
}

const PARTS = 4

/**
 * Waits like `waitAtMost`, but hardly counts time in which this process itself was stopped: when it resumes, its timers
 * fire before it reads what arrived meanwhile. So the wait is split into several short ones, and a stop uses up only
 * one of them.
 */
export async function waitPatiently(
  timeoutMs: number,
  work: Promise<unknown>,
  schedule: Schedule,
): Promise<void> {
  let isDone = false
  const done = work.then(
    () => {
      isDone = true
    },
    () => {
      isDone = true
    },
  )
  for (let part = 0; part < PARTS && !isDone; part++) await waitAtMost(timeoutMs / PARTS, [done], schedule)
}

/** Timers by name, one of each at a time. */
export class Timers<Name extends string> {
  readonly #schedule: Schedule
  readonly #running = new Map<Name, () => void>()

  constructor(schedule: Schedule) {
    this.#schedule = schedule
  }

  isRunning(name: Name): boolean {
    return this.#running.has(name)
  }

  /** Starts a timer and stops a running one of the same name. */
  start(name: Name, delayMs: number, fire: () => void): void {
    this.stop(name)
    const stop = this.#schedule(delayMs, () => {
      this.#running.delete(name)
      fire()
    })
    this.#running.set(name, stop)
  }

  stop(...names: readonly Name[]): void {
    for (const name of names) {
      this.#running.get(name)?.()
      this.#running.delete(name)
    }
  }

  stopAll(): void {
    this.stop(...this.#running.keys())
  }
}

/** The code that the MCP SDK gives its own timeouts. */
const TOO_LATE = 'REQUEST_TIMEOUT'

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

/** True for timeouts, both ours and the MCP SDK's. */
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

  /** True when no time is left. */
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

/** The work budget of one search, in steps: less than 100 ms on an ordinary machine. */
const WORK_OF_ONE_SEARCH = 10_000_000

/**
 * A shared work budget: of one search with all its pattern tests, or of one check against a schema. It counts steps and
 * not time, so that the same work on the same data always ends the same way.
 */
export class WorkBudget {
  #left: number

  constructor(steps: number = WORK_OF_ONE_SEARCH) {
    this.#left = steps
  }

  /** The remaining steps; negative once the budget is exceeded. */
  get left(): number {
    return this.#left
  }

  spend(steps: number): void {
    this.#left -= steps
  }
}
