import { CapabilityError } from './capability.ts'
import { describeError } from './errors.ts'
import { isRecord } from './json.ts'
import type { CallErrorCode, ToolResult } from './tool.ts'

/** The result of a call that failed. */
export function failure(code: CallErrorCode, error: string): ToolResult {
  return { ok: false, code, error }
}

/** The result of a call whose tool, hook or backend threw. A `CapabilityError` keeps its code. */
export function failedWith(thrown: unknown): ToolResult {
  const code = isA(CapabilityError, thrown) ? thrown.code : 'execution_failed'
  return failure(code, describeError(thrown))
}

/** The result that a returned value means; see `Returned`. A malformed result is `execution_failed`, with the reason. */
export function toResult(returned: unknown): ToolResult {
  const read = readReturned(returned)
  return typeof read === 'string' ? failure('execution_failed', read) : read
}

/** The same for a result of the host itself, which may have a server's raw answer. */
export function toForwardedResult(returned: unknown): ToolResult {
  const result = toResult(returned)
  if (isRecord(returned) && returned.raw !== undefined) result.raw = returned.raw
  return result
}

/** The result that a returned value means, or what is wrong with a malformed one as text. Never throws. */
export function readReturned(returned: unknown): ToolResult | string {
  try {
    if (typeof returned === 'string') return { ok: true, value: returned }
    if (returned === undefined || returned === null) return { ok: true, value: '' }
    // JSON has no such numbers.
    if (typeof returned === 'bigint') return { ok: true, value: String(returned) }
    if (isA(Error, returned)) return failedWith(returned)
    const ok = isRecord(returned) ? returned.ok : undefined
    if (ok === true) return readSuccess(returned as Fields)
    if (ok === false) return readFailure(returned as Fields)
    return written(returned)
  } catch (thrown) {
    return `it returned something that cannot be read: ${describeError(thrown)}`
  }
}

type Fields = Readonly<Record<string, unknown>>

function readSuccess(returned: Fields): ToolResult | string {
  const { value, content, structured, costUsd, meta } = returned
  if (content !== undefined && !Array.isArray(content))
    return 'it returned a result whose "content" is not an array'
  if (costUsd !== undefined && typeof costUsd !== 'number')
    return 'it returned a result whose "costUsd" is not a number'
  // Without a value and content, all that it says is in its other fields.
  const isBare = value === undefined && content === undefined && structured === undefined
  const result = isBare ? written(returned) : readValue(value)
  if (content !== undefined) result.content = [...content]
  if (structured !== undefined) result.structured = structured
  if (costUsd !== undefined) result.costUsd = costUsd
  if (isRecord(meta)) result.meta = meta
  return result
}

function readFailure(returned: Fields): ToolResult {
  const { error, code, structured, meta } = returned
  const result: Failure = {
    ok: false,
    // The model needs the reason: a malformed one must not lose it.
    error: typeof error === 'string' ? error : describeError(error ?? returned),
    code: typeof code === 'string' && code !== '' ? code : 'execution_failed',
  }
  if (structured !== undefined) result.structured = structured
  if (isRecord(meta)) result.meta = meta
  return result
}

type Success = Extract<ToolResult, { ok: true }>
type Failure = Extract<ToolResult, { ok: false }>

function readValue(value: unknown): Success {
  if (typeof value === 'string') return { ok: true, value }
  return value === undefined || value === null ? { ok: true, value: '' } : written(value)
}

function written(value: unknown): Success {
  return { ok: true, value: JSON.stringify(value) ?? String(value), structured: value }
}

// Reading the prototype of an untrusted proxy may throw.
function isA<Class extends abstract new (...args: never[]) => object>(
  type: Class,
  value: unknown,
): value is InstanceType<Class> {
  try {
    return value instanceof type
  } catch {
    return false
  }
}

/** What a model reads of a result. */
export function textOf(result: ToolResult): string {
  return result.ok ? result.value : result.error
}
