import { clipText } from '../text.ts'
import type { Tool } from '../tool.ts'
import { inputInvalid } from './answer.ts'
import type { SearchPowers } from './search-powers.ts'

interface Input {
  readonly name: string
  readonly arguments?: unknown
}

/**
 * `call_tool`: calls a tool that the surface does not show. A session resolves such a call to its target before
 * the pipeline sees it; what reaches `execute` named no tool that is there.
 */
export function callTool(session: Pick<SearchPowers, 'suggest'>, searchTool: string): Tool<Input> {
  return {
    name: 'call_tool',
    description: `Calls a tool found with ${searchTool}, by its name and with arguments that fit its parameters.`,
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', description: 'The name of the tool, as the search gave it.' },
        arguments: { type: 'object', description: 'The arguments of that tool.', additionalProperties: true },
      },
      required: ['name'],
    },
    execute({ name }) {
      if (name === 'call_tool')
        return inputInvalid('call_tool cannot call itself; give the name of another tool')
      const close = session.suggest(name)
      const next = close.length > 0 ? `did you mean ${close.join(' or ')}?` : `find it with ${searchTool}`
      return { ok: false, code: 'not_available', error: `Unknown tool: ${clipText(name, 200)}; ${next}` }
    },
  }
}
