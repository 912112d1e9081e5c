import { compilePattern } from '../bounded-pattern.ts'
import { describeError } from '../errors.ts'
import { sharedSlices } from '../slices.ts'
import { clamp } from '../text.ts'
import { WorkBudget } from '../time.ts'
import type { ToolResult } from '../tool.ts'
import { answer, inputInvalid } from './answer.ts'

/** What to read of a text that was cut. */
export interface ReadRequest {
  readonly handle: string
  readonly offset?: number
  readonly limit?: number
  readonly pattern?: string
}

const MAX_LINE_CHARS = 400
/** How many lines are read between looks at the clock. */
const LINES_OF_SLICE = 200

/** A piece of a text, as much as an answer holds. */
export function readPiece(
  text: string,
  { handle, offset, limit }: ReadRequest,
  maxChars: number,
): ToolResult {
  const start = boundary(text, clamp(offset, { min: 0, max: text.length, otherwise: 0 }))
  let length = clamp(limit, { min: 1, max: 20_000, otherwise: 8_000 })
  while (true) {
    // A piece holds at least one whole character, or reading on would never end.
    const end = Math.max(boundary(text, Math.min(start + length, text.length)), nextBoundary(text, start))
    const piece = { handle, total_chars: text.length, offset: start, text: text.slice(start, end) }
    const result = answer(end < text.length ? { ...piece, next_offset: end } : piece)
    // Escapes make JSON longer than its text.
    if (!result.ok || result.value.length <= maxChars || length === 1) return result
    length = Math.max(1, Math.floor((length * maxChars) / result.value.length) - 50)
  }
}

/** The index itself, or the one before it when it would tear a surrogate pair. */
function boundary(text: string, index: number): number {
  const code = text.charCodeAt(index)
  const before = text.charCodeAt(index - 1)
  const isTorn = code >= 0xdc00 && code <= 0xdfff && before >= 0xd800 && before <= 0xdbff
  return isTorn ? index - 1 : index
}

function nextBoundary(text: string, start: number): number {
  return Math.min(text.length, boundary(text, start + 1) === start ? start + 2 : start + 1)
}

/** The lines of a text that match a pattern. */
export async function findLines(
  text: string,
  { handle, offset, limit }: ReadRequest,
  pattern: string,
  maxChars: number,
): Promise<ToolResult> {
  let matches: readonly { readonly line: number; readonly text: string }[]
  try {
    matches = await matchingLines(text, pattern)
  } catch (thrown) {
    return inputInvalid(`pattern: ${describeError(thrown)}; correct it, or search for plain words`)
  }
  const skipped = clamp(offset, { min: 0, max: matches.length, otherwise: 0 })
  const wanted = matches.slice(skipped, skipped + clamp(limit, { min: 1, max: 500, otherwise: 50 }))
  const lines: { line: number; text: string }[] = []
  let chars = 200
  for (const { line, text } of wanted) {
    const shown = { line, text: clipLine(text) }
    chars += JSON.stringify(shown).length + 1
    if (chars > maxChars && lines.length > 0) break
    lines.push(shown)
  }
  const next = skipped + lines.length
  return answer({
    handle,
    total_chars: text.length,
    pattern,
    total_matches: matches.length,
    lines,
    ...(next < matches.length && lines.length > 0 ? { next_offset: next } : {}),
  })
}

/** Throws `pattern-invalid` for a pattern that cannot be used, or costs too much on this text. */
async function matchingLines(text: string, source: string): Promise<{ line: number; text: string }[]> {
  const pattern = compilePattern(source)
  const budget = new WorkBudget()
  const found: { line: number; text: string }[] = []
  let start = 0
  for (let line = 1; start <= text.length; line++) {
    if (line % LINES_OF_SLICE === 0 && sharedSlices.isOver) await sharedSlices.pause()
    const end = text.indexOf('\n', start)
    const content = text.slice(start, end < 0 ? text.length : end)
    if (pattern.test(content, budget)) found.push({ line, text: content })
    start = end < 0 ? text.length + 1 : end + 1
  }
  return found
}

function clipLine(line: string): string {
  if (line.length <= MAX_LINE_CHARS) return line
  return `${line.slice(0, boundary(line, MAX_LINE_CHARS))}… [${line.length} chars]`
}
