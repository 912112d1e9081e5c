import { CapabilityError } from '../capability.ts'
import { describeError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { CallErrorCode, ToolResult } from '../tool.ts'

/** The result of a call that failed. */
export function failure(code: CallErrorCode, error: string): ToolResult {
  return { ok: false, code, error }
}

/** The result of a call whose tool, hook or backend threw. A `CapabilityError` keeps its code. */
export function failedWith(thrown: unknown): ToolResult {
  const code = isCapabilityError(thrown) ? thrown.code : 'execution_failed'
  return failure(code, describeError(thrown))
}

// Reading the prototype of an untrusted proxy may throw.
function isCapabilityError(thrown: unknown): thrown is CapabilityError {
  try {
    return thrown instanceof CapabilityError
  } catch {
    return false
  }
}

/**
 * Copies what a tool or a hook returned into a plain result. Anything but a `ToolResult` becomes `execution_failed`,
 * with the reason.
 */
export function toResult(returned: unknown): ToolResult {
  const read = readResult(returned)
  return typeof read === 'string' ? failure('execution_failed', `not a tool result: ${read}`) : read
}

/** Returns a plain copy of a result, or what is wrong with it as text. Never throws. */
export function readResult(returned: unknown): ToolResult | string {
  try {
    if (typeof returned !== 'object' || returned === null) return `it is ${nameOf(returned)}`
    const { ok } = returned as { ok?: unknown }
    if (ok === true) return readSuccess(returned)
    if (ok === false) return readFailure(returned)
    return '"ok" is neither true nor false'
  } catch (thrown) {
    return `it cannot be read (${describeError(thrown)})`
  }
}

function readSuccess(returned: object): ToolResult | string {
  const { value, content, structured, costUsd, meta } = returned as { [key: string]: unknown }
  if (typeof value !== 'string') return `"value" is ${nameOf(value)} instead of a string`
  if (content !== undefined && !Array.isArray(content)) return '"content" is not an array'
  if (costUsd !== undefined && typeof costUsd !== 'number') return '"costUsd" is not a number'
  const result: ToolResult = { ok: true, value }
  if (content !== undefined) result.content = [...content]
  if (structured !== undefined) result.structured = structured
  if (costUsd !== undefined) result.costUsd = costUsd
  if (isRecord(meta)) result.meta = meta
  return result
}

function readFailure(returned: object): ToolResult | string {
  const { error, code, structured, meta } = returned as { [key: string]: unknown }
  if (typeof error !== 'string') return `"error" is ${nameOf(error)} instead of a string`
  // The model needs the reason: an invalid code must not lose it.
  const known = typeof code === 'string' && code !== '' ? code : 'execution_failed'
  const result: ToolResult = { ok: false, error, code: known }
  if (structured !== undefined) result.structured = structured
  if (isRecord(meta)) result.meta = meta
  return result
}

function nameOf(value: unknown): string {
  if (value === null) return 'null'
  if (value === undefined) return 'missing'
  return Array.isArray(value) ? 'an array' : `of type ${typeof value}`
}
