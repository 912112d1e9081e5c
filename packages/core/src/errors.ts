/**
 * Error codes for failures outside a call. Inside a call, a failure is a `ToolResult` for the model; everywhere else
 * it is a `ToolcribError` for the host, with one of these codes.
 */
export type ToolcribErrorCode =
  /** A tool, reducer or server with that name, or one that looks like it, already exists. */
  | 'tool-duplicate'
  /** A name has invalid characters or is too long. */
  | 'name-invalid'
  /** A regular expression is invalid, or would take too long. */
  | 'pattern-invalid'
  /** A search query is empty, only excludes, or is not a text. */
  | 'query-invalid'
  /** A server, a package or a file cannot be reached. */
  | 'source-unavailable'
  /** An option, a config file or a lockfile has an unknown key or a value that is not allowed. */
  | 'config-invalid'
  /** A definition differs from the one that was approved. */
  | 'definition-changed'
  /** A store is closed, cannot be reached or refuses a write. */
  | 'store-unavailable'

/**
 * The only error class. Distinguish errors by `code`; `message` names the next step; `cause` is the underlying error.
 */
export class ToolcribError extends Error {
  /** Always `ToolcribError`. */
  override readonly name = 'ToolcribError'
  /** The reason, for programs. */
  readonly code: ToolcribErrorCode

  constructor(code: ToolcribErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** Describes any thrown value in one line. */
export function describeError(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return withoutIssues(thrown.message) || thrown.name
    if (typeof thrown === 'string') return thrown
    return JSON.stringify(thrown) ?? String(thrown)
  } catch {
    return 'an error that cannot be described'
  }
}

/** Validation libraries append their issues as JSON, which nobody reads; the first few are put into words. */
function withoutIssues(message: string): string {
  const at = message.endsWith(']') && message.length <= MAX_ISSUES_CHARS ? message.search(/\[\s*\{/) : -1
  if (at < 0) return message
  try {
    const issues: { readonly path: readonly unknown[]; readonly message: string }[] = JSON.parse(
      message.slice(at),
    )
    const faults = issues.map(({ path, message: fault }) =>
      path.length > 0 ? `${path.join('.')}: ${fault.trim()}` : fault.trim(),
    )
    const more = faults.length > MAX_ISSUES ? `; and ${faults.length - MAX_ISSUES} more` : ''
    return message.slice(0, at) + faults.slice(0, MAX_ISSUES).join('; ') + more
  } catch {
    // It only looks like issues.
    return message
  }
}

const MAX_ISSUES = 5
const MAX_ISSUES_CHARS = 100_000
