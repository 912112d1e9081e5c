/**
 * Error codes for failures outside a call. Inside a call, a failure is a `ToolResult` for the model; everywhere else
 * it is a `ToolcribError` for the host, with one of these codes.
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

/**
 * The only error class. Distinguish errors by `code`; `message` names the next step; `cause` is the underlying error.
 */
export class ToolcribError extends Error {
  override readonly name = 'ToolcribError'
  readonly code: ToolcribErrorCode

  constructor(code: ToolcribErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** Describes any thrown value in one line. */
export function describeError(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.message || thrown.name
    if (typeof thrown === 'string') return thrown
    return JSON.stringify(thrown) ?? String(thrown)
  } catch {
    return 'an error that cannot be described'
  }
}
