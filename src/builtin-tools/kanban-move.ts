import { defineTool } from '../authoring/define-tool.ts'
import type { Tool } from '../tool.ts'
import { answering, failure, granted, success } from './answering.ts'
import { changeTicket, PRIORITIES, STATUSES } from './kanban-board.ts'

/** `kanban_move`: moves a ticket to another status. */
export function kanbanMoveTool(): Tool {
  return defineTool({
    name: 'kanban_move',
    title: 'Move a ticket',
    description:
      'Moves a ticket on the task board to another status, such as doing or done, and can change its priority.',
    inputSchema: {
      type: 'object',
      properties: {
        id: { type: 'string', minLength: 1, description: 'Id of the ticket, e.g. T3' },
        status: { enum: STATUSES, description: 'The new status' },
        priority: { enum: PRIORITIES, description: 'The new priority; unchanged if omitted' },
      },
      required: ['id', 'status'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    toolset: 'kanban',
    searchHint: 'finish complete start close todo task ticket change status',
    capabilities: { storage: true },
    execute: answering(async ({ id, status, priority }, ctx) => {
      const changes = { status, ...(priority === undefined ? {} : { priority }) }
      const change = await changeTicket(granted(ctx, 'storage'), id, changes)
      if (change === undefined)
        return failure(`there is no ticket "${id}"; list the tickets with kanban_list`)
      return success(JSON.stringify(change.after), change.after)
    }),
  })
}
