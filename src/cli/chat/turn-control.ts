/** The turn that is under way, if any, and what interrupts mean. */
export class TurnControl {
  #controller: AbortController | undefined
  #isWarned = false

  /** Fires when the turn under way is cancelled. */
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

  /** The user has said something, so they stay. */
  stay(): void {
    this.#isWarned = false
  }

  /** The first interrupt cancels the turn, or warns where there is none; the next one leaves. */
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
