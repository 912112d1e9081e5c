import type { ProgressLine, Terminal } from './terminal.ts'
import { cut } from './text.ts'

/**
 * Shows what a command waits for: on a terminal immediately, on a line that is removed afterwards; elsewhere in one
 * note, once the wait is longer than expected. From then on it also says how to stop or shorten the wait.
 */
export class WaitLine {
  readonly #terminal: Terminal
  readonly #line: ProgressLine
  #what = ''
  #about = ''
  #isLong = false
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
        if (!this.#terminal.errors.isTTY) this.#terminal.warn(`${this.#what}, ${this.#about}`)
      })
    this.#print()
  }

  stop(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#isLong = false
    this.#line.clear()
  }

  #print(): void {
    const room = (this.#terminal.errors.columns || 80) - 1
    const about = this.#isLong ? `, ${this.#about}` : ' …'
    this.#line.show(`${cut(this.#what, Math.max(room - about.length, room / 3))}${about}`)
  }
}
