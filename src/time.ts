/** Where the time comes from: a function or anything with `now()`, in milliseconds. `Date` fits. */
export type Clock = (() => number) | { now(): number }

/** Returns the clock as a plain function. */
export function readClock(clock: Clock): () => number {
  // Checked first: `Date` has a now() and is a function as well.
  return 'now' in clock ? () => clock.now() : clock
}

/** Calls `fire` after `delayMs` milliseconds, unless the returned function is called first. */
export type Schedule = (delayMs: number, fire: () => void) => () => void

/** The longest delay the platform's timers take; they fire at once for a longer one. */
export const MAX_DELAY_MS = 2 ** 31 - 1

/** The platform's timers. A pending one keeps a Node process alive: somebody waits for it. */
export const scheduleWithTimers: Schedule = (delayMs, fire) => {
  const timer = setTimeout(fire, Math.min(delayMs, MAX_DELAY_MS))
  return () => clearTimeout(timer)
}

/** The platform's timers for work in the background: a pending one does not keep a Node process alive. */
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
