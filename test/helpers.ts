import { type Session, type Tool, type ToolcribEvent, ToolRegistry, type ToolResult } from 'toolcrib'

/** A tool that returns its name and its input. */
export function tool(name: string, more: Partial<Tool> = {}): Tool {
  return {
    name,
    description: `Does ${name.replaceAll('_', ' ')}.`,
    inputSchema: { type: 'object', properties: {} },
    execute: (input) => ({ ok: true, value: `${name} ${JSON.stringify(input)}` }),
    ...more,
  }
}

/** A catalogue of a few servers with real-looking tools: enough for auto mode to turn lazy. */
export function registerServers(registry: ToolRegistry): void {
  registry.syncMcp('github', [
    tool('search_issues', {
      description: 'Search issues and pull requests in a repository.',
      inputSchema: queryInput,
    }),
    tool('create_issue', { description: 'Open a new issue in a repository.' }),
    tool('list_branches', { description: 'List the branches of a repository.' }),
    tool('merge_pull_request', { description: 'Merge a pull request.' }),
    tool('get_file', { description: 'Get the contents of a file in a repository.' }),
  ])
  registry.syncMcp('slack', [
    tool('send_message', { description: 'Send a message to a channel.', inputSchema: messageInput }),
    tool('list_channels', { description: 'List the channels of a workspace.' }),
    tool('add_reaction', { description: 'Add an emoji reaction to a message.' }),
    tool('search_messages', { description: 'Search the messages of a workspace.' }),
    tool('upload_file', { description: 'Upload a file to a channel.' }),
  ])
  registry.syncMcp('weather', [
    tool('get_forecast', { description: 'Get the weather forecast for a city.', inputSchema: cityInput }),
    tool('get_alerts', { description: 'Get severe weather alerts for a region.' }),
    tool('get_history', { description: 'Get past weather observations.' }),
    tool('list_stations', { description: 'List weather stations near a place.' }),
    tool('get_air_quality', { description: 'Get air quality measurements for a city.' }),
  ])
}

const queryInput = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] }
const messageInput = {
  type: 'object',
  properties: { channel: { type: 'string' }, text: { type: 'string' } },
  required: ['channel', 'text'],
}
const cityInput = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

/** Runs one call and returns its result. */
export async function call(session: Session, name: string, args: unknown = {}): Promise<ToolResult> {
  const [answer] = await session.execute([{ toolCallId: 'c1', name, args }])
  if (!answer) throw new Error('no answer')
  return answer.result
}

/** Runs one meta-tool and returns its result object. */
export async function ask(
  session: Session,
  name: string,
  args: unknown = {},
): Promise<Record<string, unknown>> {
  const result = await call(session, name, args)
  if (!result.ok) throw new Error(result.error)
  if (JSON.stringify(result.structured) !== result.value) throw new Error('value and structured differ')
  return result.structured as Record<string, unknown>
}

/** Names on the surface, in order. */
export function shown(session: Session): string[] {
  return session.surface().tools.map(({ name }) => name)
}

/** Collects events of the given types. */
export function eventLog(): {
  onEvent: (event: ToolcribEvent) => void
  of(type: ToolcribEvent['type']): ToolcribEvent[]
} {
  const events: ToolcribEvent[] = []
  return {
    onEvent: (event) => events.push(event),
    of: (type) => events.filter((event) => event.type === type),
  }
}

/** A registry in lazy mode with the catalogue of `registerServers`. */
export function lazyRegistry(): ToolRegistry {
  const registry = new ToolRegistry({ mode: 'lazy' })
  registerServers(registry)
  return registry
}

/** What an action throws or rejects with. */
export async function faultOf(action: () => unknown): Promise<{ code?: string; message: string }> {
  try {
    await action()
  } catch (error) {
    return error as { code?: string; message: string }
  }
  return { message: 'nothing thrown' }
}
