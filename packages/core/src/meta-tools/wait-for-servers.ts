import type { ServerDirectory } from '../registry/server-directory.ts'
import type { Tool } from '../tool.ts'

interface Input {
  readonly servers?: readonly string[]
  readonly timeout_ms?: number
}

/** `wait_for_servers`: waits until MCP servers have connected, and returns the state of each. */
export function waitForServers(directory: ServerDirectory): Tool<Input> {
  return {
    name: 'wait_for_servers',
    description: 'Waits until MCP servers have connected, so that their tools are there on your next turn.',
    inputSchema: {
      type: 'object',
      properties: {
        servers: { type: 'array', items: { type: 'string' }, description: 'Which servers; all when absent.' },
        timeout_ms: {
          type: 'integer',
          description: 'How long to wait at most, up to 60000.',
          default: 10000,
        },
      },
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    async execute({ servers, timeout_ms }) {
      return (await import('./answer-wait.ts')).answerWait(directory, { servers, timeout_ms })
    },
  }
}
