import type { Tool } from '../tool.ts'
import { answerLimit, howToCall, inputInvalid } from './answer.ts'
import type { SearchSession, SearchToolOptions } from './search-session.ts'

interface Input {
  readonly pattern: string
  readonly limit?: number | undefined
}

/** `tool_search_regex`: loads the tools whose name or description matches a pattern. */
export function toolSearchRegex(session: SearchSession, options: SearchToolOptions): Tool<Input> {
  return {
    name: 'tool_search_regex',
    description: `Finds tools that are not shown to you by a regular expression over names and descriptions, and loads them: ${howToCall(options)}. Search before you conclude that something cannot be done.\nBehind it:\n${options.behind}`,
    inputSchema: {
      type: 'object',
      properties: {
        pattern: {
          type: 'string',
          description:
            'A regular expression, matched against names and descriptions; case does not matter. At most 200 characters.',
        },
        limit: { type: 'integer', description: 'How many tools, 1 to 50.', default: 10 },
      },
      required: ['pattern'],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    async execute({ pattern, limit }, ctx) {
      if (pattern.trim() === '')
        return inputInvalid('pattern is empty; give a regular expression such as "github.*issue"')
      const { answerPattern } = await import('./answer-pattern.ts')
      const maxAnswerTokens = answerLimit(options, ctx)
      return answerPattern(session, { pattern, limit }, { ...options, maxAnswerTokens })
    },
  }
}
