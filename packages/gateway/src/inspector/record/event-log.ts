import type { ToolcribEvent } from '@toolcrib/core'
import { beginningOf } from './beginning-of.ts'

/** An event as the page shows it: with a number, and an alias for its session that grants no access. */
export interface LiveEvent {
  readonly number: number
  readonly at: number
  readonly type: string
  /** `page` for the searches and calls of the page itself, which Sessions does not list. */
  readonly session?: string
  readonly server?: string
  /** Everything else in the event. */
  readonly details: Readonly<Record<string, unknown>>
}

const KEPT_EVENTS = 1_000
const MAX_DETAIL_CHARACTERS = 4_000

/** The latest events, and their followers. */
export class EventLog {
  readonly #events: LiveEvent[] = []
  readonly #followers = new Set<(event: LiveEvent) => void>()
  /** Queries that are searched a second time, for a comparison. */
  readonly #compared = new Map<string, number>()
  #count = 0

  /** Adds an event; `session` is the alias of its session, which grants no access. */
  note(event: ToolcribEvent, session: string | undefined): void {
    if (this.#isComparison(event)) return
    const live = toLive(event, { number: ++this.#count, session })
    this.#events.push(live)
    if (this.#events.length > KEPT_EVENTS) this.#events.shift()
    for (const follow of this.#followers) follow(live)
  }

  /** Runs a second search for a comparison, without a second pair of events for the same query. */
  async comparing<Result>(query: string, search: () => Promise<Result>): Promise<Result> {
    this.#compared.set(query, (this.#compared.get(query) ?? 0) + 1)
    try {
      return await search()
    } finally {
      const left = (this.#compared.get(query) ?? 1) - 1
      if (left === 0) this.#compared.delete(query)
      else this.#compared.set(query, left)
    }
  }

  #isComparison(event: ToolcribEvent): boolean {
    if (event.sessionId !== undefined) return false
    if (event.type === 'searched') return this.#compared.has(event.query)
    return event.type === 'missed' && this.#compared.has(event.text)
  }

  /** The events after a number, oldest first. */
  after(number: number): readonly LiveEvent[] {
    return this.#events.filter((event) => event.number > number)
  }

  /** Calls `follow` with every event from now on. Returns a function that stops it. */
  follow(follow: (event: LiveEvent) => void): () => void {
    this.#followers.add(follow)
    return () => void this.#followers.delete(follow)
  }
}

function toLive(
  event: ToolcribEvent,
  { number, session }: { readonly number: number; readonly session: string | undefined },
): LiveEvent {
  const { at, type, sessionId, ...details } = event
  const server = 'server' in details && typeof details.server === 'string' ? details.server : undefined
  return {
    number,
    at,
    type,
    ...(session === undefined ? {} : { session }),
    ...(server === undefined ? {} : { server }),
    details: bounded(details),
  }
}

/** A server may put a lot of text into one event; a thousand events are kept. */
function bounded(details: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (areShort(details)) return details
  const text = JSON.stringify(details)
  return text.length <= MAX_DETAIL_CHARACTERS
    ? details
    : { cut: `${beginningOf(text, MAX_DETAIL_CHARACTERS)} … (${text.length} characters)` }
}

/** Whether details are certainly short, without serializing them: most are a few plain values. */
function areShort(details: Readonly<Record<string, unknown>>): boolean {
  let characters = 0
  for (const value of Object.values(details)) {
    if (typeof value === 'object' && value !== null) return false
    characters += typeof value === 'string' ? value.length : 0
  }
  // A character takes at most six.
  return characters <= MAX_DETAIL_CHARACTERS / 10
}
