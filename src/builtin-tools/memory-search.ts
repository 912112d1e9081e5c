import { defineTool } from '../authoring/define-tool.ts'
import { json } from '../reduce/json.ts'
import type { Tool } from '../tool.ts'
import { answering, granted, success } from './answering.ts'
import { searchMemories } from './memories.ts'

/** `memory_search`: finds saved memories. */
export function memorySearchTool(): Tool {
  return defineTool({
    name: 'memory_search',
    title: 'Search memories',
    description:
      'Finds memories saved with memory_save in this or earlier conversations by their words. Without a query, returns the newest. ' +
      'Returns a JSON array of { id, text, tags, createdAt }, best match first.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Words to search for' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: 100,
          description: 'Maximum number of memories to return; 10 by default',
        },
      },
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    toolset: 'memory',
    searchHint: 'recall remembered notes facts preferences from before',
    capabilities: { storage: true },
    reduce: json({ toolName: 'memory_search', maxItems: 20, sampleItems: 20, maxTextChars: 1_000 }).reduce,
    execute: answering(async ({ query = '', limit = 10 }, ctx) => {
      const memories = (await searchMemories(granted(ctx, 'storage'), query)).slice(0, limit)
      return success(JSON.stringify(memories), memories)
    }),
  })
}
