import type { Tool } from '../tool.ts'
import { answerLimit, HOW_TO_ASK, howToCall, inputInvalid } from './answer.ts'
import type { SearchSession, SearchToolOptions } from './search-session.ts'

interface Input {
  readonly query: string
  readonly max_results?: number
}

/** `ToolSearch`: `select:A,B` fetches by name, anything else searches; what it returns is checked out. */
export function toolSearchSelect(session: SearchSession, options: SearchToolOptions): Tool<Input> {
  return {
    name: 'ToolSearch',
    description: `Fetches tools that are not shown to you, with their parameters: ${howToCall(options)}. Search before you conclude that something cannot be done. ${HOW_TO_ASK} Queries: "select:A,B" for exact names; "notebook jupyter" for the best matches; "+slack send" to require a word.\nBehind it:\n${options.behind}`,
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'select:<names>, or what you need in a few words.' },
        max_results: { type: 'integer', description: 'How many matches, 1 to 25.', default: 5 },
      },
      required: ['query'],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    async execute({ query, max_results }, ctx) {
      if (query.trim() === '')
        return inputInvalid('ToolSearch needs a query: select:<names>, or what you need in a few words')
      const { answerSelect } = await import('./answer-select.ts')
      return answerSelect(
        session,
        { query, max_results },
        { ...options, maxAnswerTokens: answerLimit(options, ctx) },
      )
    },
  }
}
