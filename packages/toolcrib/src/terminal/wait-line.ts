import type { ProgressLine, Terminal } from './terminal.ts'
import { cut } from './text.ts'

/**
 * Shows what a command waits for: on a terminal immediately, on a line that is removed afterwards; elsewhere in one
 * note, once the wait is longer than expected, and in another if it may take longer than the first said. From then on it
 * also says how to stop or shorten the wait.
 */
export class WaitLine {
  readonly #terminal: Terminal
  readonly #line: ProgressLine
  #what = ''
  #about = ''
  #isLong = false
  readonly #noted = new Set<string>()
  #stopTimer: (() => void) | undefined

  constructor(terminal: Terminal) {
    this.#terminal = terminal
    this.#line = terminal.progressLine()
  }

  show(what: string, about: string): void {
    this.#what = what
    this.#about = about
    const { patienceMs, schedule } = this.#terminal
    if (patienceMs !== Number.POSITIVE_INFINITY)
      this.#stopTimer ??= schedule(patienceMs, () => {
        this.#isLong = true
        this.#print()
        this.#note()
      })
    this.#print()
    if (this.#isLong) this.#note()
  }

  stop(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#isLong = false
    this.#line.clear()
  }

  #note(): void {
    if (this.#terminal.errors.isTTY || this.#noted.has(this.#about)) return
    this.#noted.add(this.#about)
    this.#terminal.warn(`${this.#what}, ${this.#about}`)
  }

  #print(): void {
    const room = (this.#terminal.errors.columns || 80) - 1
    const about = this.#isLong ? `, ${this.#about}` : ' …'
    this.#line.show(`${cut(this.#what, Math.max(room - about.length, room / 3))}${about}`)
  }
}
