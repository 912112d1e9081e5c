import { overloaded } from '../json-rpc.ts'
import { surplusHolder } from './shares.ts'

/** A call that waits for its turn. */
interface WaitingCall<Call, Grant> {
  readonly call: Call
  /** Ends the wait. */
  admit(grant: Grant): void
  refuse(error: Error): void
}

/** Calls that wait for a server, in the order of their arrival. */
export class WaitingCalls<Call extends { readonly principal: string }, Grant> {
  readonly #calls = new Set<WaitingCall<Call, Grant>>()

  get size(): number {
    return this.#calls.size
  }

  [Symbol.iterator](): Iterator<WaitingCall<Call, Grant>> {
    return this.#calls.values()
  }

  /**
   * Waits until the call is admitted. Rejects with the signal's reason, and if more calls than `max` wait (0 = no limit):
   * then the newest call of the client that waits with the most is refused.
   */
  add(call: Call, signal: AbortSignal, max: number): Promise<Grant> {
    signal.throwIfAborted()
    if (max > 0 && this.#calls.size >= max) this.#refuseOne(call.principal)
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#calls.delete(waiting)
        signal.removeEventListener('abort', giveUp)
      }
      const waiting: WaitingCall<Call, Grant> = {
        call,
        admit: (grant) => {
          leave()
          resolve(grant)
        },
        refuse: (error) => {
          leave()
          reject(error)
        },
      }
      const giveUp = () => waiting.refuse(signal.reason)
      this.#calls.add(waiting)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  /** Throws if it is the newcomer that does not fit. */
  #refuseOne(newcomer: string): void {
    const calls = [...this.#calls]
    const holder = surplusHolder(
      calls.map(({ call }) => call.principal),
      newcomer,
    )
    const error = overloaded('the server of this tool is busy, and too many calls wait for it')
    const newest = calls.findLast(({ call }) => call.principal === holder)
    if (!newest) throw error
    newest.refuse(error)
  }
}
