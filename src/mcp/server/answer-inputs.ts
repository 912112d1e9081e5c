import { isRecord } from '../../json.ts'
import type { ClientOptions } from '../connection/server-messages.ts'

type Result = Readonly<Record<string, unknown>>

const MAX_ROUNDS = 10

/**
 * The final result of a call. A modern server that needs something of the host first answers `input_required`: the
 * host's `onRequest` answers each question, and the call is sent again with the answers. Throws what `onRequest` throws,
 * and when there is nobody to ask.
 */
export async function answerInputs(
  first: Result,
  call: {
    readonly server: string
    readonly client: ClientOptions
    readonly signal: AbortSignal
    readonly retry: (answers: Result) => Promise<Result>
  },
): Promise<Result> {
  const { server, client, signal, retry } = call
  let result = first
  for (let round = 0; result.resultType === 'input_required'; round++) {
    const { onRequest } = client
    if (!onRequest) throw new Error('it needs an answer from the user, and there is nobody to ask')
    if (round === MAX_ROUNDS) throw new Error(`it asked for answers ${MAX_ROUNDS} times and still wants more`)
    const questions = Object.entries(isRecord(result.inputRequests) ? result.inputRequests : {})
    const answers = await Promise.all(
      questions.map(async ([key, question]) => {
        const { method, params } = isRecord(question) ? question : {}
        const asked = { server, method: String(method), signal, ...(isRecord(params) ? { params } : {}) }
        return [key, await onRequest(asked)] as const
      }),
    )
    const { requestState } = result
    const state = requestState === undefined ? {} : { requestState }
    result = await retry({ inputResponses: Object.fromEntries(answers), ...state })
  }
  return result
}
