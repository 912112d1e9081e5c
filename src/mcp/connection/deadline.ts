import type { SdkErrorCode } from '@modelcontextprotocol/client'

/** Written out: to load the SDK for it takes longer than a search. */
const TOO_LATE: `${SdkErrorCode.RequestTimeout}` = 'REQUEST_TIMEOUT'

/** Something that was not done in time. */
export class TooLateError extends Error {
  override readonly name = 'TooLateError'
  readonly code = TOO_LATE
  /** How long was waited, where that is known. */
  readonly afterMs: number | undefined

  constructor(message: string, afterMs?: number) {
    super(message)
    this.afterMs = afterMs
  }
}

/** True for what was not done in time, by our own clock or by the SDK's. */
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

  /** How long is left; at least a millisecond, so that it can be waited for. */
  get remainingMs(): number {
    return Math.max(1, this.#end - this.#now())
  }

  get isOver(): boolean {
    return this.#now() >= this.#end
  }

  /** Starts again: the time until now was not the server's but that of a person who had to consent. */
  restart(): void {
    this.#end = this.#now() + this.#timeoutMs
  }
}
