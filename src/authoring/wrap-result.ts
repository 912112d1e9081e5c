import { CapabilityError } from '../capability.ts'
import { describeError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { ToolResult } from '../tool.ts'

/**
 * Runs a tool's own code and makes a `ToolResult` of what it returns: a text stays as it is, nothing becomes an empty
 * text, a `ToolResult` stays as it is, and anything else becomes JSON and `structured`. An `Error` that is returned or
 * thrown is a failure, `execution_failed` unless it is a `CapabilityError` with a code of its own.
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
