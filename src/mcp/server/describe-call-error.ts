import { ProtocolError, SdkHttpError } from '@modelcontextprotocol/client'
import { describeError } from '../../errors.ts'
import type { ToolResult } from '../../tool.ts'
import { TotalTimeoutError } from '../connection/connection.ts'
import { isTooLate } from '../connection/deadline.ts'
import { describeHttpError } from '../connection/http/describe-http-error.ts'
import { PROGRESS_FACTOR, type ServerCall } from './call-server-tool.ts'

/** The answer for the model when a call got none. */
export function describeCallError(
  error: unknown,
  call: ServerCall,
  closedBecause: string | undefined,
): ToolResult {
  const { server, tool, ctx, timeoutMs } = call
  const fail = (code: string, reason: string): ToolResult => ({ ok: false, code, error: reason })
  if (ctx.signal.aborted) return fail('cancelled', `the call of "${tool.name}" was cancelled`)
  if (isTooLate(error)) {
    const waitedMs = error instanceof TotalTimeoutError ? timeoutMs * PROGRESS_FACTOR : timeoutMs
    return fail(
      'timeout',
      `"${tool.name}" of server "${server}" did not answer within ${waitedMs} ms; ask it for less, or try later`,
    )
  }
  if (closedBecause !== undefined)
    return fail(
      'execution_failed',
      `server "${server}" went away during the call: ${closedBecause}. Whether "${tool.name}" took effect is not known; check before calling it again`,
    )
  if (error instanceof ProtocolError) {
    const code = error.code === INVALID_PARAMS ? 'input_invalid' : 'execution_failed'
    return fail(code, `server "${server}" did not answer "${tool.name}": ${describeError(error)}`)
  }
  const reason = error instanceof SdkHttpError ? describeHttpError(error) : describeError(error)
  return fail('execution_failed', `the call of "${tool.name}" on server "${server}" failed: ${reason}`)
}

const INVALID_PARAMS = -32_602

/** True when the server no longer knows the session, so that it cannot have looked at the call. */
export function isSessionLost(error: unknown): boolean {
  return error instanceof SdkHttpError && error.status === 404
}

/** True when the server did answer, if only that it cannot do what it was asked. */
export function isAnswer(error: unknown): boolean {
  return error instanceof ProtocolError
}
