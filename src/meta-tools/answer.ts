import { ToolcribError } from '../errors.ts'
import { clipText } from '../text.ts'
import type { ToolResult } from '../tool.ts'

/** A meta-tool's answer: JSON for the model, and the same object for the host. */
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

/** As many of these texts as an answer has room for, each within reason. */
export function clipList(texts: readonly string[]): readonly string[] {
  return texts.slice(0, MAX_LISTED).map((text) => clipText(text, MAX_ECHO))
}

/** What the model wrote, said back to it within reason. */
export function echo(text: string): string {
  return clipText(text, MAX_ECHO)
}

const MAX_LISTED = 25
const MAX_ECHO = 200
