/**
 * Adds a next step to the message of a rejected request (400 or 422) that matches all patterns; other errors are
 * returned unchanged. The SDKs distinguish errors by class, so the error itself is modified.
 */
export function withHint(error: unknown, patterns: readonly RegExp[], hint: string): unknown {
  if (!(error instanceof Error) || !('status' in error)) return error
  if (error.status !== 400 && error.status !== 422) return error
  if (patterns.every((pattern) => pattern.test(error.message))) error.message += `; ${hint}`
  return error
}

/** How servers describe a field, tool or model that they do not support. */
export const UNSUPPORTED = /support|permitted|allowed|unknown|unrecognized|unexpected|invalid/i

/** For models and servers without native deferral. */
export const USE_DISPATCH =
  'this model or server has no tool search: open the session with strategy "dispatch"'
