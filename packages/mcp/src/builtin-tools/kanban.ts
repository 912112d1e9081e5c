import type { Clock, StorageAccess, Tool } from '@toolcrib/core'
import { defineTool, kanbanList } from '@toolcrib/core'
import { readClock } from '@toolcrib/core/internal'
import { answering, failure, granted, success } from './answering.ts'

const STATUSES = ['todo', 'doing', 'blocked', 'done'] as const
const PRIORITIES = ['urgent', 'high', 'medium', 'low'] as const

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

type Status = (typeof STATUSES)[number]
type Priority = (typeof PRIORITIES)[number]

interface Ticket {
  readonly id: string
  readonly title: string
  readonly status: Status
  readonly priority?: Priority
  /** ISO 8601. */
  readonly createdAt: string
}

interface Board {
  readonly nextId: number
  readonly tickets: readonly Ticket[]
}

const KEY = 'board'

async function readTickets(storage: StorageAccess): Promise<readonly Ticket[]> {
  return parseBoard(await storage.get(KEY)).tickets
}

/** Adds a ticket under the next free number. */
async function addTicket(storage: StorageAccess, draft: Omit<Ticket, 'id'>): Promise<Ticket> {
  let added: Ticket = { id: '', ...draft }
  await storage.update(KEY, (text) => {
    const { nextId, tickets } = parseBoard(text)
    added = { id: `T${nextId}`, ...draft }
    return JSON.stringify({ nextId: nextId + 1, tickets: [...tickets, added] } satisfies Board)
  })
  return added
}

/** Changes a ticket; returns undefined if no ticket has that id. */
async function changeTicket(
  storage: StorageAccess,
  id: string,
  changes: Partial<Pick<Ticket, 'status' | 'priority'>>,
): Promise<{ before: Ticket; after: Ticket } | undefined> {
  let change: { before: Ticket; after: Ticket } | undefined
  await storage.update(KEY, (text) => {
    const board = parseBoard(text)
    const before = board.tickets.find((ticket) => ticket.id.toLowerCase() === id.toLowerCase())
    change = before && { before, after: { ...before, ...changes } }
    if (change === undefined) return text
    const { after } = change
    return JSON.stringify({
      ...board,
      tickets: board.tickets.map((ticket) => (ticket === before ? after : ticket)),
    })
  })
  return change
}

// Only these tools write here, so the text has the expected form.
function parseBoard(text: string | undefined): Board {
  return text === undefined ? { nextId: 1, tickets: [] } : JSON.parse(text)
}
