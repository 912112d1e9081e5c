import type { Schedule } from 'toolcrib/mcp'
import type { Limits } from './gateway-options.ts'
import type { Json } from './json-rpc.ts'

/** The outcome of a call: its result, or a protocol error. */
export type CallOutcome = { readonly result: Json } | { readonly error: Json }

/** A parked call that another replica asked to continue. */
export interface ContinuedCall {
  readonly outcome: Promise<CallOutcome>
  readonly abort: AbortController
}

/** How many characters of JSON are kept of finished calls. */
const MAX_KEPT_CHARS = 32_000_000

interface Kept extends ContinuedCall {
  readonly boundTo: string
  chars: number
  stopTimer(): void
}

/**
 * Calls that were continued for other replicas. The replica that asked may not get the outcome, and its client may ask
 * again anywhere, so outcomes are kept for as long as the client's `requestState` is valid, within a limit.
 */
export class ContinuedCalls {
  readonly #limits: Pick<Limits, 'askTimeoutMs'>
  readonly #schedule: Schedule
  /** By the id of the parked call, oldest first. */
  readonly #calls = new Map<string, Kept>()
  #chars = 0

  constructor({ limits, schedule }: { limits: Pick<Limits, 'askTimeoutMs'>; schedule: Schedule }) {
    this.#limits = limits
    this.#schedule = schedule
  }

  /** The call with this id, if it was continued for the same client and tool. */
  find(id: string, boundTo: string): ContinuedCall | undefined {
    const call = this.#calls.get(id)
    return call?.boundTo === boundTo ? call : undefined
  }

  add(id: string, boundTo: string, call: ContinuedCall): void {
    const kept: Kept = { ...call, boundTo, chars: 0, stopTimer: () => {} }
    this.#calls.set(id, kept)
    void call.outcome.then((outcome) => this.#ended(id, kept, outcome))
  }

  /** Cancels running calls, and forgets all. */
  close(reason: string): void {
    for (const [id, { abort }] of [...this.#calls]) {
      abort.abort(new Error(reason))
      this.#forget(id)
    }
  }

  #ended(id: string, kept: Kept, outcome: CallOutcome): void {
    if (this.#calls.get(id) !== kept) return
    kept.chars = JSON.stringify(outcome).length
    kept.stopTimer = this.#schedule(this.#limits.askTimeoutMs, () => this.#forget(id))
    this.#chars += kept.chars
    for (const [oldest, { chars }] of this.#calls) {
      if (this.#chars <= MAX_KEPT_CHARS) return
      // Running calls have no size yet, and are not forgotten.
      if (chars > 0) this.#forget(oldest)
    }
  }

  #forget(id: string): void {
    const kept = this.#calls.get(id)
    if (!kept) return
    kept.stopTimer()
    this.#calls.delete(id)
    this.#chars -= kept.chars
  }
}
