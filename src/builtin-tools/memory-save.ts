import { defineTool } from '../authoring/define-tool.ts'
import { type Clock, readClock } from '../time.ts'
import type { Tool } from '../tool.ts'
import { answering, granted, success } from './answering.ts'
import { saveMemory } from './memories.ts'

/** `memory_save`: keeps a note for later conversations. */
export function memorySaveTool({ clock = Date }: { clock?: Clock } = {}): Tool {
  const now = readClock(clock)
  return defineTool({
    name: 'memory_save',
    title: 'Remember something',
    description:
      'Remembers a fact, preference or decision beyond this conversation. Write it so that it makes sense on its own; memory_search finds it again.',
    inputSchema: {
      type: 'object',
      properties: {
        text: { type: 'string', minLength: 1, maxLength: 10_000, description: 'What to remember' },
        tags: {
          type: 'array',
          items: { type: 'string', minLength: 1 },
          maxItems: 20,
          description: 'Words it can be found by besides its own',
        },
      },
      required: ['text'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    toolset: 'memory',
    searchHint: 'remember note store keep for later preference fact',
    capabilities: { storage: true },
    execute: answering(async ({ text, tags = [] }, ctx) => {
      const createdAt = new Date(now()).toISOString()
      const memory = await saveMemory(granted(ctx, 'storage'), { text, tags, createdAt })
      return success(`Remembered as ${memory.id}.`, memory)
    }),
  })
}
