import type { ToolResult } from '@toolcrib/core'
import { ToolcribError } from '@toolcrib/core'
import { describeError, isTooLate, TooLateError } from '@toolcrib/core/internal'
import type { Connection } from '../connection/connection.ts'
import { describeHttpError, isHttpFailure } from '../connection/http/describe-http-error.ts'
import { ServerError } from '../connection/requests.ts'

const INVALID_PARAMS = -32_602

/** Why a request was not sent: the config or the lockfile does not permit it. */
export class Refusal extends Error {
  readonly #code: 'definition-changed' | 'source-unavailable'

  constructor(code: 'definition-changed' | 'source-unavailable', reason: string) {
    super(reason)
    this.#code = code
  }

  toError(): ToolcribError {
    return new ToolcribError(this.#code, this.message)
  }
}

/** A request that got no response, why, and the connection that it was sent over, if there was one. */
export class Unanswered extends Error {
  readonly method: string
  readonly connection: Connection | undefined

  constructor(method: string, cause: unknown, connection: Connection | undefined) {
    super('no response', { cause })
    this.method = method
    this.connection = connection
  }
}

/** A server that no longer knows the session cannot have processed the request. */
export function isSessionLost(error: unknown): boolean {
  return isHttpFailure(error) && error.status === 404
}

interface FailedCall {
  readonly server: string
  readonly tool: string
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

/** The result of a call that failed: what the model reads, with the next step. */
export function failedCall(error: unknown, { server, tool, signal, timeoutMs }: FailedCall): ToolResult {
  const { cause, connection } = error instanceof Unanswered ? error : { cause: error }
  if (error instanceof Refusal) return failure('not_available', error.message)
  if (signal.aborted) return failure('cancelled', `the call of "${tool}" was cancelled`)
  if (error instanceof Unanswered && !connection) {
    const reason = `server "${server}" is disconnected: ${describeError(cause)}`
    return failure('not_available', `${reason}. Use another tool, or try again later`)
  }
  if (isTooLate(cause)) {
    const waitedMs = (cause instanceof TooLateError ? cause.afterMs : undefined) ?? timeoutMs
    const next = 'request less data, or try again later'
    return failure(
      'timeout',
      `"${tool}" of server "${server}" did not respond within ${waitedMs} ms; ${next}`,
    )
  }
  if (connection?.isClosed) {
    const reason = `server "${server}" disconnected during the call: ${connection.closedBecause}`
    const next = `"${tool}" may or may not have taken effect; check before calling it again`
    return failure('execution_failed', `${reason}. ${next}`)
  }
  if (error instanceof ServerError) {
    const code = error.code === INVALID_PARAMS ? 'input_invalid' : 'execution_failed'
    return failure(code, `server "${server}" did not respond to "${tool}": ${describeError(error)}`)
  }
  const why = isHttpFailure(cause) ? describeHttpError(cause) : describeError(cause)
  return failure('execution_failed', `the call of "${tool}" on server "${server}" failed: ${why}`)
}

/** Why a raw request got no response. */
export function describeUnanswered({ method, cause, connection }: Unanswered, server: string): string {
  // A request that is nested too deep cannot be serialized, so it was never sent.
  if (cause instanceof RangeError) return `the request to server "${server}" is nested too deep to be sent`
  const reason = isHttpFailure(cause) ? describeHttpError(cause) : describeError(cause)
  if (!connection) return `server "${server}" is disconnected: ${reason}`
  if (connection.isClosed) return `server "${server}" disconnected: ${connection.closedBecause}`
  if (!isTooLate(cause)) return `server "${server}" cannot be reached: ${reason}`
  const waited = cause instanceof TooLateError && cause.afterMs ? ` within ${cause.afterMs} ms` : ' in time'
  return `server "${server}" did not respond to "${method}"${waited}`
}

function failure(code: string, error: string): ToolResult {
  return { ok: false, code, error }
}
