import type { SdkErrorCode } from '@modelcontextprotocol/client'

/** Written out: to load the SDK for it takes longer than a search. */
const TOO_LATE: `${SdkErrorCode.RequestTimeout}` = 'REQUEST_TIMEOUT'

/** Something that was not done in time. */
export class TooLateError extends Error {
  override readonly name = 'TooLateError'
  readonly code = TOO_LATE
}

/** True of what was not done in time, by our own clock or by the SDK's. */
export function isTooLate(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === TOO_LATE
}

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
