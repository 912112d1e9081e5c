import type { Spill } from '../call/spill.ts'
import type { Tool, ToolContext, ToolResult } from '../tool.ts'
import { answer, echo } from './answer.ts'
import type { ReadRequest } from './read-text.ts'

const MAX_ANSWER_CHARS = 24_000

/** `read_result`: reads on where a trimmed result was cut, or finds lines in it. */
export function readResult({ spill, sessionId }: { spill: Spill; sessionId: string }): Tool<ReadRequest> {
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
      const { findLines, readPiece } = await import('./read-text.ts')
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
