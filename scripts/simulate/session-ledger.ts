import { TOPICS } from './sim-server.ts'
import { Violation } from './world.ts'

/** What the ledger knows about the scenario. */
interface LedgerSettings {
  /** How many tools a session may have checked out. */
  readonly maxActive: number
  /** Whether nothing goes wrong in this scenario. */
  readonly isCalm: boolean
}

/** What a session is stored as. */
type Activations = readonly { readonly name: string; readonly isKept: boolean }[]

/** What clients were told about their sessions, and what must be true of it ever after. */
export class SessionLedger {
  readonly #settings: LedgerSettings
  /** What each session was told is checked out, by a replica whose store did its part. */
  readonly #kept = new Map<string, Set<string>>()
  /** Sessions that were opened by a replica whose store did its part. */
  readonly #durable = new Set<string>()
  /** Every state that was ever stored, of each session. */
  readonly #history = new Map<string, Set<string>>()

  constructor(settings: LedgerSettings) {
    this.#settings = settings
  }

  /** The sessions that were told something. */
  get sessions(): readonly string[] {
    return [...this.#kept.keys()]
  }

  /** Whether tools have to make room for others. */
  get isTight(): boolean {
    return this.#settings.maxActive <= TOPICS.length
  }

  /** The store lost its data: nothing that was told has to be true any more. */
  forgive(): void {
    this.#kept.clear()
    this.#durable.clear()
  }

  opened(session: string): void {
    this.#durable.add(session)
  }

  isDurable(session: string): boolean {
    return this.#durable.has(session)
  }

  /** Takes note of a state that is written; `isCurrent` is false where another one may be written in its place. */
  wrote(session: string, text: string, isCurrent: boolean): void {
    const { maxActive } = this.#settings
    const { activations } = JSON.parse(text) as { activations: Activations }
    const counted = activations.filter(({ isKept }) => !isKept)
    if (counted.length > maxActive)
      throw new Violation(`${counted.length} tools are checked out; the cap is ${maxActive}`)
    const known = this.#history.get(session) ?? new Set()
    this.#history.set(session, known.add(JSON.stringify(activations)))
    if (!isCurrent || this.isTight) return
    // Where nothing has to make room, whatever a client was told is checked out stays so, with every single write.
    const [lost] = this.#lostFrom(session, activations)
    if (lost !== undefined) throw new Violation(`the session ${session} was written without ${lost}`)
  }

  /** Takes note of what the answer to a search says; `isCertain` where the store did its part. */
  searched(session: string, text: string | undefined, isCertain: boolean): void {
    const { maxActive } = this.#settings
    const answer = text?.startsWith('{')
      ? (JSON.parse(text) as { activated?: string[]; evicted?: string[] })
      : {}
    const { activated = [], evicted = [] } = answer
    if (activated.length > maxActive)
      throw new Violation(`a search checked ${activated.length} tools out; the cap is ${maxActive}`)
    const kept = this.#kept.get(session) ?? new Set()
    this.#kept.set(session, kept)
    if (isCertain) for (const name of activated) kept.add(name)
    for (const name of evicted) kept.delete(name)
  }

  /** Takes note of the tools that a client is shown. */
  listed(names: readonly string[]): void {
    const { maxActive } = this.#settings
    if (new Set(names).size !== names.length)
      throw new Violation(`a list names a tool twice: ${names.join(', ')}`)
    const active = names.filter((name) => name.startsWith('sim__'))
    if (active.length > maxActive)
      throw new Violation(`a list shows ${active.length} tools; the cap is ${maxActive}`)
  }

  /** A session as it comes from the store at the end is one that was saved, with everything that was told. */
  restored(session: string, activations: Activations): void {
    if (activations.length > 0 && !this.#history.get(session)?.has(JSON.stringify(activations)))
      throw new Violation(
        `the session ${session} was restored as it never was: ${JSON.stringify(activations)}`,
      )
    const lost = this.#lostFrom(session, activations)
    // Where replicas died, what was evicted may be untold; what was kept is not.
    if (lost.length > 0 && (!this.isTight || this.#settings.isCalm))
      throw new Violation(
        `the session ${session} lost ${lost.join(', ')}; it has ${JSON.stringify(activations)}`,
      )
  }

  #lostFrom(session: string, activations: Activations): readonly string[] {
    const names = new Set(activations.map(({ name }) => name.replace(/^mcp__/, '')))
    const kept = this.#kept.get(session.replace(/^gateway:/, '')) ?? []
    return [...kept].filter((name) => !names.has(name))
  }
}
