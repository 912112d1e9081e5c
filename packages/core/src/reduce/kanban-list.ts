import { anyText, checkOptions, type OptionRules, wholeNumber } from '../check-options.ts'
import { isRecord, parseJson } from '../json.ts'
import { clipText } from '../text.ts'
import type { ToolResult } from '../tool.ts'
import type { Reducer } from './reducer.ts'

/** Which tool's boards to shorten, and the limits. */
export interface KanbanListOptions {
  /** `kanban_list` by default. */
  readonly toolName?: string
  /** Boards up to this many tickets are unchanged. 10 by default. */
  readonly maxItems?: number
  /** How many open tickets to list. 5 by default. */
  readonly topItems?: number
}

const OPTIONS: OptionRules<KanbanListOptions> = {
  toolName: anyText,
  maxItems: wholeNumber(),
  topItems: wholeNumber(),
}

/**
 * Shows a large board as counts per status and the open tickets with the highest priority. A list is treated as a
 * board only if every item has a title and, unless grouped in columns, a status; other results are unchanged.
 */
export function kanbanList(options: KanbanListOptions = {}): Reducer {
  checkOptions('kanbanList()', options, OPTIONS)
  const { toolName = 'kanban_list', maxItems = 10, topItems = 5 } = options
  return {
    toolName,
    reduce(result, { args }) {
      // A call for one status wants its tickets; it is also how to get the tickets left out here.
      if (isRecord(args) && args.status !== undefined) return undefined
      const tickets = ticketsOf(result)
      if (!result.ok || tickets === undefined || tickets.length <= maxItems) return undefined
      const open = tickets.filter((ticket) => !CLOSED.test(textOf(ticket.status)))
      const top = [...open].sort((a, b) => rankOf(a.priority) - rankOf(b.priority)).slice(0, topItems)
      const value = [
        `${tickets.length} tickets: ${countByStatus(tickets)}`,
        `Top ${top.length} of ${open.length} open:`,
        ...top.map(describe),
        `[${tickets.length - top.length} tickets left out; call ${toolName} with a status to see those]`,
      ].join('\n')
      return { ...result, value }
    },
  }
}

type Ticket = Record<string, unknown>

const CLOSED = /^(?:done|closed|complete[d]?|cancell?ed|archived|resolved|wont[-_ ]?fix)$/i

function ticketsOf(result: ToolResult): readonly Ticket[] | undefined {
  if (!result.ok) return undefined
  const data = result.structured ?? parseJson(result.value)
  return ticketsIn(data) ?? (isRecord(data) ? Object.values(data).map(ticketsIn).find(Boolean) : undefined)
}

/** A list of tickets, one under some key, or the columns of a board. */
function ticketsIn(data: unknown): readonly Ticket[] | undefined {
  if (isTitledList(data)) return data.every(hasStatus) ? data : undefined
  if (!isRecord(data)) return undefined
  const lists = Object.entries(data).flatMap(([key, list]) => (isTitledList(list) ? [{ key, list }] : []))
  const withStatus = lists.filter(({ list }) => list.every(hasStatus))
  // If tickets have a status of their own, other lists (labels, members) are not tickets.
  if (withStatus.length > 0) return withStatus.flatMap(({ list }) => list)
  // Columns of a board: the object contains nothing else, and no ticket's status contradicts its column.
  const isBoard =
    lists.length > 1 && Object.values(data).every((value) => isTitledList(value) || isEmptyList(value))
  if (!isBoard || lists.some(({ list }) => list.some(hasStatus))) return undefined
  return lists.flatMap(({ key, list }) => list.map((ticket) => ({ ...ticket, status: key })))
}

function isTitledList(data: unknown): data is readonly Ticket[] {
  return (
    Array.isArray(data) &&
    data.length > 0 &&
    data.every((item) => isRecord(item) && textOf(item.title) !== '')
  )
}

function isEmptyList(data: unknown): boolean {
  return Array.isArray(data) && data.length === 0
}

function hasStatus(ticket: Ticket): boolean {
  return textOf(ticket.status) !== ''
}

function countByStatus(tickets: readonly Ticket[]): string {
  const counts = new Map<string, number>()
  for (const ticket of tickets) {
    const status = textOf(ticket.status) || 'no status'
    counts.set(status, (counts.get(status) ?? 0) + 1)
  }
  return [...counts].map(([status, count]) => `${status} ${count}`).join(', ')
}

// The first of these that a priority starts with is its rank; a number is its own rank, and no priority ranks last.
const PRIORITIES = ['urgent', 'critical', 'highest', 'high', 'medium', 'normal', 'low', 'lowest']

function rankOf(priority: unknown): number {
  if (typeof priority === 'number') return priority
  const text = textOf(priority).toLowerCase()
  const numbered = /^p?(\d+)$/.exec(text)?.[1]
  if (numbered !== undefined) return Number(numbered)
  const rank = PRIORITIES.indexOf(text)
  return rank < 0 ? PRIORITIES.length : rank
}

function describe(ticket: Ticket): string {
  const priority = textOf(ticket.priority)
  const title = clipText(textOf(ticket.title).replace(/\s+/g, ' '), 120)
  return `- ${textOf(ticket.id)} [${textOf(ticket.status)}${priority ? `, ${priority}` : ''}] ${title}`
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
