import type { Schedule } from '@toolcrib/mcp'
import type { AskLimits } from '../asks/client-line.ts'
import { INTERNAL_ERROR, isJson, type Json, RpcError } from '../json-rpc.ts'

interface OpenQuestion {
  settle(outcome: { readonly result: Json } | { readonly error: unknown }): void
}

/** The open questions to an older client over HTTP. */
export class ClientAsks {
  readonly #prefix: string
  readonly #schedule: Schedule
  readonly #questions = new Map<unknown, OpenQuestion>()
  #count = 0

  /**
   * Ids begin with the prefix, so that an answer to a question of an earlier process matches no question of this one.
   */
  constructor(prefix: string, schedule: Schedule) {
    this.#prefix = prefix
    this.#schedule = schedule
  }

  ask(
    send: (message: object) => void,
    method: string,
    params: Json | undefined,
    { timeoutMs, signal }: AskLimits,
  ): Promise<Json> {
    if (signal.aborted) return Promise.reject(signal.reason)
    const id = `${this.#prefix}:${++this.#count}`
    return new Promise((resolve, reject) => {
      const withdraw = (reason: unknown) => {
        this.#questions.get(id)?.settle({ error: reason })
        const cancelled = { requestId: id, reason: String(reason) }
        send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: cancelled })
      }
      const onAbort = () => withdraw(signal.reason)
      const stopTimer = this.#schedule(timeoutMs, () =>
        withdraw(new RpcError(INTERNAL_ERROR, 'the client did not answer in time')),
      )
      signal.addEventListener('abort', onAbort, { once: true })
      this.#questions.set(id, {
        settle: (outcome) => {
          this.#questions.delete(id)
          stopTimer()
          signal.removeEventListener('abort', onAbort)
          if ('result' in outcome) resolve(outcome.result)
          else reject(outcome.error)
        },
      })
      send({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) })
    })
  }

  /** Handles a response of the client. Returns false if it answers no open question. */
  answered({ id, result, error }: Json): boolean {
    const question = this.#questions.get(id)
    if (!question) return false
    if (isJson(result)) question.settle({ result })
    else question.settle({ error: errorOf(error) })
    return true
  }

  close(): void {
    for (const question of [...this.#questions.values()])
      question.settle({ error: new RpcError(INTERNAL_ERROR, 'the client went away') })
  }
}

function errorOf(error: unknown): RpcError {
  const { code, message, data } = isJson(error) ? error : {}
  return new RpcError(
    typeof code === 'number' ? code : INTERNAL_ERROR,
    typeof message === 'string' ? message : 'the client did not answer',
    data,
  )
}
