import { createHash } from 'node:crypto'
import type { ToolcribEvent } from '@toolcrib/core'
import type { Totals } from './activity.ts'
import { SessionRecord, type SessionStep, type SessionSummary, type SessionTurn } from './session-record.ts'

const MAX_SESSIONS = 200

/** One conversation with all its recorded steps. */
interface SessionDetails extends SessionSummary {
  readonly steps: readonly SessionStep[]
  readonly turns: readonly SessionTurn[]
}

/** The sessions of this process, the most recent ones, step by step. */
export class SessionLog {
  readonly #records = new Map<string, SessionRecord>()

  /** Records an event of the session with this alias; returns what it adds to the totals. */
  note(event: ToolcribEvent, id: string, tokensPerTool: () => number): Partial<Totals> {
    const record = this.#records.get(id) ?? new SessionRecord(id, event.at)
    // Kept in the order of their last event, so that the least recent one is removed first.
    this.#records.delete(id)
    this.#records.set(id, record)
    const oldest = this.#records.size > MAX_SESSIONS ? this.#records.keys().next().value : undefined
    if (oldest !== undefined) this.#records.delete(oldest)
    return record.note(event, tokensPerTool)
  }

  /** The most recent first. */
  list(): readonly SessionSummary[] {
    return [...this.#records.values()].map((record) => record.summary()).reverse()
  }

  find(id: string): SessionDetails | undefined {
    const record = this.#records.get(id)
    return record && { ...record.summary(), steps: record.steps, turns: record.turns }
  }
}

/** A short name for a session that does not reveal its id. Gateways name the sessions of their clients the same way. */
export function aliasOf(sessionId: string): string {
  return createHash('sha256').update(sessionId).digest('hex').slice(0, 8)
}
