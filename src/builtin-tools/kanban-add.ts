import { defineTool } from '../authoring/define-tool.ts'
import { type Clock, readClock } from '../time.ts'
import type { Tool } from '../tool.ts'
import { answering, granted, success } from './answering.ts'
import { addTicket, PRIORITIES, STATUSES } from './kanban-board.ts'

/** `kanban_add`: adds a ticket to the board. */
export function kanbanAddTool({ clock = Date }: { clock?: Clock } = {}): Tool {
  const now = readClock(clock)
  return defineTool({
    name: 'kanban_add',
    title: 'Add a ticket',
    description: 'Adds a ticket to the task board and returns it with its id.',
    inputSchema: {
      type: 'object',
      properties: {
        title: {
          type: 'string',
          minLength: 1,
          maxLength: 500,
          description: 'The task, in one line',
        },
        status: { enum: STATUSES, description: 'Initial status; todo by default' },
        priority: { enum: PRIORITIES, description: 'Priority of the ticket' },
      },
      required: ['title'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    toolset: 'kanban',
    searchHint: 'create new todo task ticket item on the board',
    capabilities: { storage: true },
    execute: answering(async ({ title, status = 'todo', priority }, ctx) => {
      const ticket = await addTicket(granted(ctx, 'storage'), {
        title,
        status,
        ...(priority === undefined ? {} : { priority }),
        createdAt: new Date(now()).toISOString(),
      })
      return success(JSON.stringify(ticket), ticket)
    }),
  })
}
