import type { ToolcribEvent } from 'toolcrib'
import { aliasOf } from './session-log.ts'

/** An event as the page shows it: with a number, and a name for its session that opens nothing. */
export interface LiveEvent {
  readonly number: number
  readonly at: number
  readonly type: string
  readonly session?: string
  readonly server?: string
  /** Everything else in the event. */
  readonly details: Readonly<Record<string, unknown>>
}

const KEPT_EVENTS = 1_000
const MAX_DETAIL_CHARACTERS = 4_000

/** The latest events, and those who follow them. */
export class EventLog {
  readonly #events: LiveEvent[] = []
  readonly #followers = new Set<(event: LiveEvent) => void>()
  #count = 0

  note(event: ToolcribEvent): void {
    const live = toLive(event, ++this.#count)
    this.#events.push(live)
    if (this.#events.length > KEPT_EVENTS) this.#events.shift()
    for (const follow of this.#followers) follow(live)
  }

  /** The events after a number, oldest first. */
  after(number: number): readonly LiveEvent[] {
    return this.#events.filter((event) => event.number > number)
  }

  /** Calls `follow` with every event from now on. Returns how to stop. */
  follow(follow: (event: LiveEvent) => void): () => void {
    this.#followers.add(follow)
    return () => void this.#followers.delete(follow)
  }
}

function toLive(event: ToolcribEvent, number: number): LiveEvent {
  const { at, type, sessionId, ...details } = event
  const server = 'server' in details && typeof details.server === 'string' ? details.server : undefined
  return {
    number,
    at,
    type,
    ...(sessionId === undefined ? {} : { session: aliasOf(sessionId) }),
    ...(server === undefined ? {} : { server }),
    details: bounded(details),
  }
}

/** A server may put a lot into one event; a thousand of them are kept. */
function bounded(details: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const text = JSON.stringify(details)
  return text.length <= MAX_DETAIL_CHARACTERS
    ? details
    : { cut: `${text.slice(0, MAX_DETAIL_CHARACTERS)} … (${text.length} characters)` }
}
