import type { Schedule } from '@toolcrib/mcp'
import type { Announcements } from '@toolcrib/mcp/stores'
import type { Json } from '../json-rpc.ts'
import type { ReplicaMessenger } from './replica-messenger.ts'

/** What the other replicas answered about a session: one has it open, none has it, or some did not answer in time. */
export type Held = 'held' | 'none' | 'unknown'

/** How often a replica records that it is alive, and how long that is valid. */
const NOTE_MS = 5_000
const NOTED_MS = 12_000
/** How soon it tries again if that failed: until then, others take it for gone. */
const RETRY_MS = 1_000
/**
 * After a replica was missing from the list itself, for example because Redis lost its data, the list may lack others
 * for this long.
 */
const ARRIVAL_MS = 6_000
/** How long a replica may take to answer whether it has a session. */
const PATIENCE_MS = 500
/** Answers are collected for this long, and sent in one message. */
const GATHER_MS = 10
const MAX_GATHERED = 500
const MAX_GONE = 1_000

/**
 * Asks the other replicas whether one of them has a session open. Each answers yes or no, so that nobody waits longer
 * than necessary. The list of replicas is read with each question: replicas do not announce that they are alive, so
 * that any number can join, or notice that Redis lost its data, without a flood of messages. A replica that does not
 * answer is still asked, but no longer waited for, until it sends something.
 */
export class SessionLocator {
  readonly #messenger: Pick<ReplicaMessenger, 'id' | 'send'>
  readonly #presence: Pick<Announcements, 'noteAlive' | 'alive'>
  readonly #schedule: Schedule
  readonly #onFailure: () => void
  /** Replicas that missed a deadline, and have been silent since. */
  readonly #overdue = new Set<string>()
  /** The latest replicas that announced that they leave. */
  readonly #gone = new Set<string>()
  readonly #questions = new Map<string, Question>()
  #answers: Json[] = []
  /** Whether every live replica has had time to record itself. */
  #isComplete = false
  #isClosed = false
  #reading: Promise<readonly string[]> | undefined
  #noting: Promise<void> | undefined
  #stopNoting = () => {}
  #stopArriving = () => {}
  #stopGathering = () => {}

  constructor(
    messenger: Pick<ReplicaMessenger, 'id' | 'send'>,
    presence: Pick<Announcements, 'noteAlive' | 'alive'>,
    schedule: Schedule,
    /** Called when this replica could not be recorded as alive. */
    onFailure: () => void = () => {},
  ) {
    this.#messenger = messenger
    this.#presence = presence
    this.#schedule = schedule
    this.#onFailure = onFailure
  }

  /** Records that this replica is alive, now and periodically. */
  begin(): Promise<void> {
    this.#noting ??= this.#note().finally(() => {
      this.#noting = undefined
    })
    return this.#noting
  }

  /** Records that a message of a replica arrived. */
  noteMessage(replica: string): void {
    this.#overdue.delete(replica)
  }

  left(replica: string): void {
    this.#overdue.delete(replica)
    this.#gone.add(replica)
    if (this.#gone.size > MAX_GONE) this.#gone.delete(this.#gone.values().next().value ?? '')
    for (const session of this.#questions.keys()) this.answered(session, replica, false)
  }

  /** Whether a replica is alive; undefined while that is unknown. */
  async isAlive(replica: string): Promise<boolean | undefined> {
    if (this.#gone.has(replica)) return false
    const alive = await this.#read().catch((): readonly string[] => [])
    if (alive.includes(replica)) return true
    // If this replica is missing, the list is unreliable: Redis was away, or has lost its data.
    return alive.includes(this.#messenger.id) && this.#isComplete ? false : undefined
  }

  /** Asks for a session. Requests for the same session share one question. */
  ask(session: string): Promise<Held> {
    return this.#questions.get(session)?.answer ?? this.#ask(session)
  }

  /** Answers a question of another replica. */
  reply(to: string, session: string, isHeld: boolean): void {
    this.#answers.push({ to, session, isHeld })
    if (this.#answers.length >= MAX_GATHERED) this.#sendAnswers()
    else if (this.#answers.length === 1)
      this.#stopGathering = this.#schedule(GATHER_MS, () => this.#sendAnswers())
  }

  /** Handles the answer of another replica. */
  answered(session: string, replica: string, isHeld: boolean): void {
    this.#questions.get(session)?.answered(replica, isHeld)
  }

  close(): void {
    this.#isClosed = true
    this.#stopNoting()
    this.#stopArriving()
    this.#stopGathering()
    this.#presence.noteAlive(this.#messenger.id, 0).catch(() => {})
    for (const question of this.#questions.values()) question.settle('unknown')
  }

  async #note(): Promise<void> {
    this.#stopNoting()
    let nextMs = NOTE_MS
    try {
      const wasNoted = await this.#presence.noteAlive(this.#messenger.id, NOTED_MS)
      if (!wasNoted) this.#distrustList()
    } catch {
      // The others may not be recorded either. Replicas that cannot be reached are not waited for.
      this.#distrustList()
      this.#onFailure()
      nextMs = RETRY_MS
    }
    if (!this.#isClosed) this.#stopNoting = this.#schedule(nextMs, () => void this.begin())
  }

  async #ask(session: string): Promise<Held> {
    const question = new Question()
    this.#questions.set(session, question)
    const stop = this.#schedule(PATIENCE_MS, () => {
      for (const replica of question.silent) this.#overdue.add(replica)
      question.settle('unknown')
    })
    try {
      void this.#put(session, question)
      return await question.answer
    } finally {
      stop()
      this.#questions.delete(session)
    }
  }

  /** Settles a question that nobody can answer; announces any other. */
  async #put(session: string, question: Question): Promise<void> {
    const others = await this.#others()
    if (!others) return question.settle('unknown')
    const isComplete = this.#isComplete
    if (isComplete && others.length === 0) return question.settle('none')
    const awaited = others.filter((replica) => !this.#overdue.has(replica))
    question.awaitAnswers(awaited, { isComplete })
    const isSent = await this.#messenger.send('session-wanted', { session })
    // If every replica is overdue, nobody is waited for.
    const isAwaited = !isComplete || awaited.length > 0
    if (!isSent || !isAwaited) question.settle('unknown')
  }

  /** The other live replicas; undefined if they cannot be read. */
  async #others(): Promise<readonly string[] | undefined> {
    const alive = await this.#read().catch(() => undefined)
    if (!alive) return undefined
    const others = alive.filter((replica) => replica !== this.#messenger.id)
    if (!alive.includes(this.#messenger.id)) {
      // If this replica is missing, the list is unreliable: Redis has lost its data.
      this.#distrustList()
      void this.begin()
      return others
    }
    for (const replica of this.#overdue) if (!others.includes(replica)) this.#overdue.delete(replica)
    return others
  }

  /** The live replicas; questions of the same moment share one read. */
  #read(): Promise<readonly string[]> {
    this.#reading ??= this.#presence.alive().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /** The list may lack replicas until each has had time to record itself. */
  #distrustList(): void {
    this.#stopArriving()
    this.#isComplete = false
    if (this.#isClosed) return
    this.#stopArriving = this.#schedule(ARRIVAL_MS, () => {
      this.#isComplete = true
    })
  }

  #sendAnswers(): void {
    this.#stopGathering()
    const answers = this.#answers
    this.#answers = []
    if (answers.length > 0) void this.#messenger.send('sessions-found', { answers })
  }
}

/** The question whether another replica has a session open. */
class Question {
  readonly answer: Promise<Held>
  #settle: (held: Held) => void = () => {}
  /** The replicas that have not answered yet; undefined while it is unknown which are alive. */
  #silent: Set<string> | undefined
  /** Whether the list of replicas is certainly complete. */
  #isComplete = false

  constructor() {
    this.answer = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  /** The replicas that are waited for. */
  get silent(): Iterable<string> {
    return this.#silent ?? []
  }

  /** Waits for these replicas: if the list of them is complete and none has the session, nobody has. */
  awaitAnswers(replicas: readonly string[], { isComplete }: { readonly isComplete: boolean }): void {
    this.#silent = new Set(replicas)
    this.#isComplete = isComplete
  }

  answered(replica: string, isHeld: boolean): void {
    this.#silent?.delete(replica)
    if (isHeld) this.settle('held')
    else if (this.#isComplete && this.#silent?.size === 0) this.settle('none')
  }

  settle(held: Held): void {
    this.#settle(held)
  }
}
