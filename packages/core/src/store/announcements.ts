import {
  anyFunction,
  checkOptions,
  either,
  type OptionRules,
  objectWith,
  wholeNumber,
} from '../check-options.ts'
import { ToolcribError } from '../errors.ts'
import { type Clock, readClock } from '../time.ts'
import type { JsonValue } from './store.ts'
import { encodeValue } from './stored-value.ts'

/** A message from one replica to all. */
export interface Announcement {
  readonly topic: string
  readonly body: JsonValue
  /** Its position in the sequence of all messages; `subscribe()` continues after it. */
  readonly position: string
}

/** Receives messages of replicas. */
export interface AnnouncementListener {
  announced(announcement: Announcement): void
  /** Messages to this replica were lost: whatever they may have announced must be read again. */
  missed(): void
}

/**
 * Messages between replicas. Every subscriber receives every message, including its own replica's, in the same order,
 * once each. A subscriber that was unreachable for a while receives what it missed, or is notified that it missed
 * something.
 */
export interface Announcements {
  /** Sends a message. Rejects with `store-unavailable`, and with `config-invalid` for a body that is too long. */
  publish(topic: string, body: JsonValue): Promise<void>
  /**
   * Receives messages after a position, or from now on. Exceptions of the listener are ignored. Returns a function that
   * stops it.
   */
  subscribe(listener: AnnouncementListener, from?: string): () => void
  /**
   * Records that a replica is alive for this many milliseconds; 0 removes it. Returns whether it was recorded before.
   * Nobody is notified. Rejects with `store-unavailable`.
   */
  noteAlive(replica: string, ttlMs: number): Promise<boolean>
  /** The replicas that are recorded as alive. Rejects with `store-unavailable`. */
  alive(): Promise<readonly string[]>
  close(): Promise<void>
}

/** The longest body of a message, in characters of JSON. */
export const MAX_ANNOUNCEMENT_CHARS = 256_000

/** The body as JSON. Throws `config-invalid` for one that is too long, or not JSON. */
export function encodeAnnouncement(body: JsonValue): string {
  const text = encodeValue(body)
  if (typeof text === 'string' && text.length <= MAX_ANNOUNCEMENT_CHARS) return text
  throw new ToolcribError(
    'config-invalid',
    `an announcement has at most ${MAX_ANNOUNCEMENT_CHARS} characters of JSON; keep more than that in a store`,
  )
}

/** Calls a listener; if it throws, reading continues. */
export function tell(call: () => void): void {
  try {
    call()
  } catch {
    // The listener's own problem.
  }
}

export interface AnnouncementBoardOptions {
  /** How many messages are kept for later subscribers; 1,000 by default. */
  readonly maxKept?: number
  /** Delivers a message. Default: in a microtask. */
  readonly deliver?: (task: () => void) => void
  /** The clock. Default: `Date`. */
  readonly clock?: Clock
}

/** Shared by the replicas of one process. */
export interface AnnouncementBoard {
  /** Opens the announcements of one replica. */
  open(): Announcements
}

/** Announcements between replicas in one process, for tests. */
export function announcementBoard(options: AnnouncementBoardOptions = {}): AnnouncementBoard {
  checkOptions('announcementBoard()', options, BOARD_RULES)
  return new MemoryBoard(options)
}

const BOARD_RULES: OptionRules<AnnouncementBoardOptions> = {
  maxKept: wholeNumber({ from: 1 }),
  deliver: anyFunction,
  clock: either(anyFunction, objectWith('now')),
}

class MemoryBoard implements AnnouncementBoard {
  readonly #maxKept: number
  readonly #deliver: (task: () => void) => void
  readonly #kept: { readonly number: number; readonly topic: string; readonly text: string }[] = []
  readonly #readers = new Set<() => void>()
  readonly #now: () => number
  /** Until when each replica is recorded as alive. */
  readonly #alive = new Map<string, number>()
  #count = 0

  constructor({ maxKept = 1_000, deliver = queueMicrotask, clock = Date }: AnnouncementBoardOptions) {
    this.#maxKept = maxKept
    this.#deliver = deliver
    this.#now = readClock(clock)
  }

  open(): Announcements {
    const stops = new Set<() => void>()
    let isClosed = false
    const checkOpen = () => {
      if (isClosed) throw new ToolcribError('store-unavailable', 'the announcements are closed')
    }
    return {
      publish: async (topic, body) => {
        checkOpen()
        this.#kept.push({ number: ++this.#count, topic, text: encodeAnnouncement(body) })
        if (this.#kept.length > this.#maxKept) this.#kept.shift()
        for (const wake of this.#readers) this.#deliver(wake)
      },
      subscribe: (listener, from) => {
        const stop = this.#read(listener, from === undefined ? this.#count : Number(from))
        stops.add(stop)
        return () => {
          stops.delete(stop)
          stop()
        }
      },
      noteAlive: async (replica, ttlMs) => {
        checkOpen()
        const wasAlive = this.#living().includes(replica)
        this.#alive.set(replica, this.#now() + ttlMs)
        return wasAlive
      },
      alive: async () => {
        checkOpen()
        return this.#living()
      },
      close: async () => {
        isClosed = true
        for (const stop of stops) stop()
      },
    }
  }

  #living(): readonly string[] {
    for (const [replica, until] of this.#alive) if (until <= this.#now()) this.#alive.delete(replica)
    return [...this.#alive.keys()]
  }

  #read(listener: AnnouncementListener, from: number): () => void {
    let last = from
    const wake = () => {
      if (!this.#readers.has(wake)) return
      if (last < this.#count - this.#kept.length) {
        last = this.#count - this.#kept.length
        tell(() => listener.missed())
      }
      for (const { number, topic, text } of this.#kept.filter(({ number }) => number > last)) {
        last = number
        tell(() => listener.announced({ topic, body: JSON.parse(text), position: String(number) }))
      }
    }
    this.#readers.add(wake)
    this.#deliver(wake)
    return () => void this.#readers.delete(wake)
  }
}
