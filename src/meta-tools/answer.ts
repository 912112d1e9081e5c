import { ToolcribError } from '../errors.ts'
import type { ToolResult } from '../tool.ts'

/** A meta-tool's answer: JSON for the model to read, and the same object for whoever runs it. */
export function answer(structured: object): ToolResult {
  return { ok: true, value: JSON.stringify(structured), structured }
}

export function inputInvalid(error: string): ToolResult {
  return { ok: false, code: 'input_invalid', error }
}

/** Runs a search; a query or pattern that cannot be understood is the model's to mend, so it becomes an answer. */
export async function answerSearch(search: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await search()
  } catch (error) {
    if (isBadQuery(error)) return inputInvalid(error.message)
    throw error
  }
}

export function isBadQuery(error: unknown): error is ToolcribError {
  return (
    error instanceof ToolcribError && (error.code === 'query-invalid' || error.code === 'pattern-invalid')
  )
}

/** A limit within its range, whatever was asked for. */
export function clamp(
  value: number | undefined,
  range: { min: number; max: number; otherwise: number },
): number {
  if (value === undefined || !Number.isFinite(value)) return range.otherwise
  return Math.min(range.max, Math.max(range.min, Math.trunc(value)))
}
