/** The current turn, if any, and the effect of an interrupt. */
export class TurnControl {
  #controller: AbortController | undefined
  #isWarned = false

  /** Aborted when the current turn is cancelled. */
  get signal(): AbortSignal | undefined {
    return this.#controller?.signal
  }

  /** Runs a turn that interrupts can cancel. */
  async run<Value>(turn: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    const controller = new AbortController()
    this.#controller = controller
    this.#isWarned = false
    try {
      return await turn(controller.signal)
    } finally {
      this.#controller = undefined
    }
  }

  /** The user has typed something, so the next interrupt does not exit. */
  stay(): void {
    this.#isWarned = false
  }

  /** The first interrupt cancels the turn, or warns when there is none; the next one exits. */
  interrupt(): 'cancelled' | 'warned' | 'leave' {
    if (this.#isWarned) return 'leave'
    this.#isWarned = true
    if (!this.#controller) return 'warned'
    this.cancel()
    return 'cancelled'
  }

  cancel(): void {
    this.#controller?.abort()
  }
}
