import { defineTool } from '../authoring/define-tool.ts'
import type { Tool } from '../tool.ts'
import { answering, failure, granted, success } from './answering.ts'
import { changeTicket, PRIORITIES, STATUSES } from './kanban-board.ts'

/** `kanban_move`: a ticket to another status. */
export function kanbanMoveTool(): Tool {
  return defineTool({
    name: 'kanban_move',
    title: 'Move a ticket',
    description:
      'Moves a ticket of the task board to another status, for example to doing or done, and may change its priority.',
    inputSchema: {
      type: 'object',
      properties: {
        id: { type: 'string', minLength: 1, description: 'The ticket, e.g. T3' },
        status: { enum: STATUSES, description: 'Where it goes' },
        priority: { enum: PRIORITIES, description: 'Its new priority, if that changes' },
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
        return failure(`there is no ticket "${id}"; kanban_list shows those there are`)
      return success(JSON.stringify(change.after), change.after)
    }),
  })
}
