import type { Tool } from '../tool.ts'
import { ToolRegistry } from '../tool-registry.ts'
import type { AgentEvent } from './agent-event.ts'
import type { ScriptedModel } from './scripted-model.ts'
import type { Timing } from './timing.ts'

/** A tool that returns its name and its input. */
export function tool(name: string, more: Partial<Tool> = {}): Tool {
  return {
    name,
    description: `Does ${name}.`,
    inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
    execute: (input) => ({ ok: true, value: `${name} ${JSON.stringify(input)}` }),
    ...more,
  }
}

export async function open(
  tools: readonly Tool[],
  options: ConstructorParameters<typeof ToolRegistry>[0] = {},
) {
  const registry = new ToolRegistry(options)
  registry.registerAll(tools)
  return { registry, session: await registry.openSession() }
}

/** A clock whose sleeps end at once and are recorded. */
export function fakeTiming(): Timing & { slept: number[] } {
  const slept: number[] = []
  return {
    slept,
    now: () => 0,
    random: () => 0.5,
    sleep: async (delayMs) => {
      slept.push(delayMs)
    },
  }
}

export function log() {
  const events: AgentEvent[] = []
  return {
    onEvent: (event: AgentEvent) => void events.push(event),
    of: <Type extends AgentEvent['type']>(type: Type) =>
      events.filter((event): event is Extract<AgentEvent, { type: Type }> => event.type === type),
  }
}

/** The tool results in the last request, as the model read them. */
export function toldTo(model: ScriptedModel): string[] {
  const messages = model.requests.at(-1)?.messages ?? []
  return messages.flatMap((message) => (message.role === 'tool' ? [String(message.content)] : []))
}
