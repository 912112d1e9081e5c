import { defineTool } from '../authoring/define-tool.ts'
import { type Clock, readClock } from '../time.ts'
import type { Tool } from '../tool.ts'
import { answering, granted, success } from './answering.ts'
import { saveMemory } from './memories.ts'

/** `memory_save`: saves a note for later conversations. */
export function memorySaveTool({ clock = Date }: { clock?: Clock } = {}): Tool {
  const now = readClock(clock)
  return defineTool({
    name: 'memory_save',
    title: 'Remember something',
    description:
      'Saves a fact, preference or decision for later conversations. Write it so that it can be understood without context. Find it again with memory_search.',
    inputSchema: {
      type: 'object',
      properties: {
        text: { type: 'string', minLength: 1, maxLength: 10_000, description: 'What to remember' },
        tags: {
          type: 'array',
          items: { type: 'string', minLength: 1 },
          maxItems: 20,
          description: 'Extra words to find it by',
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
