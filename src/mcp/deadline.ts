/** Until when something with several steps must be done, however the time is spent among them. */
export class Deadline {
  readonly #timeoutMs: number
  readonly #now: () => number
  #end: number

  constructor(now: () => number, timeoutMs: number) {
    this.#timeoutMs = timeoutMs
    this.#now = now
    this.#end = now() + timeoutMs
  }

  /** How long there is left; at least a millisecond, so that it can be waited for. */
  get remainingMs(): number {
    return Math.max(1, this.#end - this.#now())
  }

  get isOver(): boolean {
    return this.#now() >= this.#end
  }

  /** Starts anew: what went before was somebody else's time, a person's who had to consent say. */
  restart(): void {
    this.#end = this.#now() + this.#timeoutMs
  }
}
