/**
 * What went wrong outside a call. Inside a call a failure is a `ToolResult`, for the model; everywhere else it is
 * a `ToolcribError` with one of these codes, for the host.
 */
export type ToolcribErrorCode =
  | 'tool-duplicate'
  | 'name-invalid'
  | 'pattern-invalid'
  | 'query-invalid'
  | 'source-unavailable'
  | 'config-invalid'
  | 'definition-changed'
  | 'store-unavailable'

/** The one error class. Tell errors apart by `code`; `message` names the next step; `cause` holds what led to it. */
export class ToolcribError extends Error {
  override readonly name = 'ToolcribError'
  readonly code: ToolcribErrorCode

  constructor(code: ToolcribErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** A thrown value as one line of text, whatever was thrown. */
export function describeError(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.message || thrown.name
    if (typeof thrown === 'string') return thrown
    return JSON.stringify(thrown) ?? String(thrown)
  } catch {
    return 'an error that cannot be described'
  }
}
