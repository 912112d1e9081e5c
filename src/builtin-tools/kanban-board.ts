import type { StorageAccess } from '../capability.ts'

export const STATUSES = ['todo', 'doing', 'blocked', 'done'] as const
export const PRIORITIES = ['urgent', 'high', 'medium', 'low'] as const

type Status = (typeof STATUSES)[number]
type Priority = (typeof PRIORITIES)[number]

export interface Ticket {
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

export async function readTickets(storage: StorageAccess): Promise<readonly Ticket[]> {
  return parseBoard(await storage.get(KEY)).tickets
}

/** Adds a ticket under the next free number. */
export async function addTicket(storage: StorageAccess, draft: Omit<Ticket, 'id'>): Promise<Ticket> {
  let added: Ticket = { id: '', ...draft }
  await storage.update(KEY, (text) => {
    const { nextId, tickets } = parseBoard(text)
    added = { id: `T${nextId}`, ...draft }
    return JSON.stringify({ nextId: nextId + 1, tickets: [...tickets, added] } satisfies Board)
  })
  return added
}

/** Changes a ticket; returns undefined if no ticket has that id. */
export async function changeTicket(
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
