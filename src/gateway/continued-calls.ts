import type { Schedule } from 'toolcrib/mcp'
import type { Limits } from './gateway-options.ts'
import type { Json } from './json-rpc.ts'

/** What a call came to: its result, or an error of the protocol. */
export type CallOutcome = { readonly result: Json } | { readonly error: Json }

/** A parked call that goes on, or went on, because another replica asked for it. */
export interface ContinuedCall {
  readonly outcome: Promise<CallOutcome>
  readonly abort: AbortController
}

/** How much of what ended is kept, in characters of JSON. */
const MAX_KEPT_CHARS = 32_000_000

interface Kept extends ContinuedCall {
  readonly boundTo: string
  chars: number
  stopTimer(): void
}

/**
 * The calls that were continued for other replicas. One that asks for a call may not learn what came of it, and its client
 * asks again, there or elsewhere: so the outcome is kept for as long as the client's requestState is valid, unless there
 * are too many.
 */
export class ContinuedCalls {
  readonly #limits: Pick<Limits, 'askTimeoutMs'>
  readonly #schedule: Schedule
  /** By the ids of parked calls, the oldest first. */
  readonly #calls = new Map<string, Kept>()
  #chars = 0

  constructor({ limits, schedule }: { limits: Pick<Limits, 'askTimeoutMs'>; schedule: Schedule }) {
    this.#limits = limits
    this.#schedule = schedule
  }

  /** The call of this id, if it was continued for the same client and tool. */
  find(id: string, boundTo: string): ContinuedCall | undefined {
    const call = this.#calls.get(id)
    return call?.boundTo === boundTo ? call : undefined
  }

  add(id: string, boundTo: string, call: ContinuedCall): void {
    const kept: Kept = { ...call, boundTo, chars: 0, stopTimer: () => {} }
    this.#calls.set(id, kept)
    void call.outcome.then((outcome) => this.#ended(id, kept, outcome))
  }

  /** Ends the calls that go on, and forgets all. */
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
      // Those that go on count nothing, and are not forgotten.
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
