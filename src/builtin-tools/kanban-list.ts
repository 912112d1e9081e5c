import { defineTool } from '../authoring/define-tool.ts'
import { kanbanList } from '../reduce/kanban-list.ts'
import type { Tool } from '../tool.ts'
import { answering, granted, success } from './answering.ts'
import { readTickets, STATUSES } from './kanban-board.ts'

/** `kanban_list`: lists the board's tickets. */
export function kanbanListTool(): Tool {
  return defineTool({
    name: 'kanban_list',
    title: 'List tickets',
    description:
      'Lists the tickets on the task board as a JSON array of { id, title, status, priority, createdAt }. Can filter by status.',
    inputSchema: {
      type: 'object',
      properties: { status: { enum: STATUSES, description: 'Only tickets with this status' } },
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    toolset: 'kanban',
    searchHint: 'todo tasks board backlog what is open in progress',
    capabilities: { storage: true },
    reduce: kanbanList().reduce,
    execute: answering(async ({ status }, ctx) => {
      const all = await readTickets(granted(ctx, 'storage'))
      const tickets = status === undefined ? [...all] : all.filter((ticket) => ticket.status === status)
      return success(JSON.stringify(tickets), tickets)
    }),
  })
}
