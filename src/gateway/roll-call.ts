import type { Schedule } from 'toolcrib/mcp'
import type { Json } from './client-line.ts'

/** What the other replicas say about a session: one has it open, all said no, or some said nothing in time. */
export type Held = 'held' | 'none' | 'unknown'

/** How long a replica may take to say whether it has a session. */
const PATIENCE_MS = 500
/** How long after it has asked who is there a replica can miss others that are. */
const ARRIVAL_MS = 2_000

interface Question {
  /** Replicas that have not answered yet. */
  readonly silent: Set<string>
  readonly answer: Promise<Held>
  settle(held: Held): void
}

/** Announces something to the other replicas. Returns false when that was not possible. */
type Announce = (topic: string, message: Json) => Promise<boolean>

/**
 * Asks the other replicas whether one of them has a session open. Each answers with yes or no, so that nobody waits longer
 * than they take. A replica that does not answer is asked, but no longer waited for, until it is heard again.
 */
export class RollCall {
  readonly #announce: Announce
  readonly #schedule: Schedule
  readonly #present = new Set<string>()
  /** Replicas that missed a deadline, and have said nothing since. */
  readonly #overdue = new Set<string>()
  readonly #questions = new Map<string, Question>()
  /** Whether the others were asked who is there, and whether they have had the time to say so. */
  #isBegun = false
  #isComplete = false
  #stop = () => {}

  constructor(announce: Announce, schedule: Schedule) {
    this.#announce = announce
    this.#schedule = schedule
  }

  /** Finds out who is there. */
  async begin(): Promise<void> {
    this.#stop()
    this.#isComplete = false
    this.#isBegun = true
    this.#isBegun = await this.#announce('joined', {})
    if (!this.#isBegun) return
    this.#stop = this.#schedule(ARRIVAL_MS, () => {
      this.#isComplete = true
      // Whoever is still there has said so by now.
      this.#overdue.clear()
    })
  }

  /** Notes that a replica is there. */
  heard(replica: string): void {
    this.#present.add(replica)
    this.#overdue.delete(replica)
  }

  left(replica: string): void {
    this.#present.delete(replica)
    this.#overdue.delete(replica)
    for (const session of this.#questions.keys()) this.answered(session, replica, false)
  }

  /** Asks for a session. Requests for the same one share the question. */
  ask(session: string): Promise<Held> {
    const known = this.#questions.get(session)
    if (known) return known.answer
    const isAlone = this.#present.size === 0 && this.#overdue.size === 0
    if (this.#isComplete && isAlone) return Promise.resolve('none')
    return this.#ask(session)
  }

  answered(session: string, replica: string, isHeld: boolean): void {
    const question = this.#questions.get(session)
    if (!question) return
    question.silent.delete(replica)
    if (isHeld) question.settle('held')
    else if (this.#isComplete && question.silent.size === 0) question.settle('none')
  }

  close(): void {
    this.#stop()
    for (const { settle } of this.#questions.values()) settle('unknown')
  }

  async #ask(session: string): Promise<Held> {
    const silent = new Set(this.#present)
    const isAwaited = !this.#isComplete || silent.size > 0
    let settle: (held: Held) => void = () => {}
    const answer = new Promise<Held>((resolve) => {
      settle = resolve
    })
    this.#questions.set(session, { silent, answer, settle })
    const stop = this.#schedule(PATIENCE_MS, () => {
      for (const replica of silent) {
        this.#present.delete(replica)
        this.#overdue.add(replica)
      }
      settle('unknown')
    })
    try {
      if (!this.#isBegun) void this.begin()
      const isAsked = await this.#announce('session-wanted', { session })
      if (!isAsked || !isAwaited) settle('unknown')
      return await answer
    } finally {
      stop()
      this.#questions.delete(session)
    }
  }
}
