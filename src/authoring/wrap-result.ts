import { CapabilityError } from '../capability.ts'
import { describeError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { ToolResult } from '../tool.ts'

/**
 * Runs a tool's code and converts its return value to a `ToolResult`. Strings and `ToolResult`s are kept, undefined
 * and null become an empty string, a bigint its digits, and other values JSON plus `structured`. A returned or thrown `Error` is a
 * failure: `execution_failed`, or the code of a `CapabilityError`.
 */
export function wrapResult(run: () => unknown): ToolResult | Promise<ToolResult> {
  try {
    const returned = run()
    return isThenable(returned) ? Promise.resolve(returned).then(wrap).catch(failed) : wrap(returned)
  } catch (thrown) {
    return failed(thrown)
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

function wrap(returned: unknown): ToolResult {
  if (typeof returned === 'string') return { ok: true, value: returned }
  if (returned === undefined || returned === null) return { ok: true, value: '' }
  // JSON has no such numbers.
  if (typeof returned === 'bigint') return { ok: true, value: String(returned) }
  if (returned instanceof Error) return failed(returned)
  if (isToolResult(returned)) return returned
  return { ok: true, value: JSON.stringify(returned) ?? String(returned), structured: returned }
}

function failed(thrown: unknown): ToolResult {
  const code = thrown instanceof CapabilityError ? thrown.code : 'execution_failed'
  return { ok: false, code, error: describeError(thrown) }
}

function isToolResult(value: unknown): value is ToolResult {
  if (!isRecord(value)) return false
  if (value.ok === true) return typeof value.value === 'string'
  return value.ok === false && typeof value.error === 'string' && typeof value.code === 'string'
}
