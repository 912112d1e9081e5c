import type { Schedule } from './schedule.ts'

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

  /** Starts a timer; one of that name that is running gives way. */
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
