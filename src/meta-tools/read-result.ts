import type { Spill } from '../call/spill.ts'
import { describeError } from '../errors.ts'
import { clamp } from '../text.ts'
import { WorkBudget } from '../time.ts'
import type { Tool, ToolContext, ToolResult } from '../tool.ts'
import { answer, echo, inputInvalid } from './answer.ts'

interface Input {
  readonly handle: string
  readonly offset?: number
  readonly limit?: number
  readonly pattern?: string
}

const MAX_ANSWER_CHARS = 24_000
const MAX_LINE_CHARS = 400

/** `read_result`: reads on where a trimmed result was cut, or finds lines in it. */
export function readResult({ spill, sessionId }: { spill: Spill; sessionId: string }): Tool<Input> {
  return {
    name: 'read_result',
    description:
      'Reads the full text of a result that was truncated, by the handle its last line names: a piece of it, or the lines that match a pattern.',
    inputSchema: {
      type: 'object',
      properties: {
        handle: { type: 'string', description: 'The handle that the truncated result names.' },
        offset: {
          type: 'integer',
          description: 'Characters to skip; with a pattern, matching lines to skip.',
        },
        limit: {
          type: 'integer',
          description: 'Characters to read (8000, at most 20000); with a pattern, lines (50, at most 500).',
        },
        pattern: {
          type: 'string',
          description: 'A regular expression: returns the matching lines with their numbers.',
        },
      },
      required: ['handle'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    async execute(input, { resultLimitChars }: ToolContext) {
      const text = await spill.get(sessionId, input.handle)
      if (text === undefined) return expired(input.handle)
      const maxChars = Math.min(MAX_ANSWER_CHARS, Math.max(resultLimitChars, 500))
      return input.pattern === undefined || input.pattern === ''
        ? readPiece(text, input, maxChars)
        : findLines(text, input, input.pattern, maxChars)
    },
  }
}

function expired(given: string): ToolResult {
  const handle = echo(given)
  return answer({
    handle,
    found: false,
    error: `Nothing is kept under "${handle}": it has expired, or the handle is wrong. Make the call again, and ask for less.`,
  })
}

function readPiece(text: string, { handle, offset, limit }: Input, maxChars: number): ToolResult {
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

async function findLines(
  text: string,
  { handle, offset, limit }: Input,
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

/** Rejects with `pattern-invalid` for a pattern that cannot be used, or costs too much on this text. */
async function matchingLines(text: string, source: string): Promise<{ line: number; text: string }[]> {
  const { compilePattern } = await import('../bounded-pattern.ts')
  const pattern = compilePattern(source)
  const budget = new WorkBudget()
  return text
    .split('\n')
    .map((line, index) => ({ line: index + 1, text: line }))
    .filter((line) => pattern.test(line.text, budget))
}

function clipLine(line: string): string {
  if (line.length <= MAX_LINE_CHARS) return line
  return `${line.slice(0, boundary(line, MAX_LINE_CHARS))}… [${line.length} chars]`
}
