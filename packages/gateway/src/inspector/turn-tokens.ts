import { type SessionStep, type SessionTurn, shownText } from './record/session-record.ts'
import type { ToolBook } from './tool-book.ts'

/** The tools of a surface. */
interface KnownSurface {
  readonly fingerprint: string
  readonly tools: readonly object[]
}

interface Counted {
  readonly steps: readonly SessionStep[]
  readonly turns: readonly SessionTurn[]
}

/** What a surface costs. */
interface SurfaceCost {
  readonly tools: number
  readonly tokens: number
}

/** Far more than are in use at once. */
const MAX_COUNTED = 500

/**
 * What models read of tools, in exact tokens: events have estimates, since counting takes long. A surface is counted
 * when the page shows it, as the gateway listed it or as it was recorded here; an unknown one stays an estimate.
 */
export class TurnTokens {
  readonly #book: ToolBook
  readonly #listed: (fingerprint: string) => readonly object[] | undefined
  readonly #counted = new Map<string, Promise<SurfaceCost>>()

  constructor(book: ToolBook, listed: (fingerprint: string) => readonly object[] | undefined) {
    this.#book = book
    this.#listed = listed
  }

  /** Counts a surface that no gateway lists. */
  note({ fingerprint, tools }: KnownSurface): Promise<SurfaceCost> {
    const known = this.#counted.get(fingerprint)
    if (known) return known
    if (this.#counted.size >= MAX_COUNTED) this.#counted.clear()
    const cost = this.#book.tokensOf(tools).then((tokens) => ({ tools: tools.length, tokens }))
    this.#counted.set(fingerprint, cost)
    // The next request tries again.
    cost.catch(() => this.#counted.delete(fingerprint))
    return cost
  }

  /** Replaces the estimates of a session with exact tokens, if its tools are known. */
  async exactly<Session extends Counted>(session: Session): Promise<Session> {
    const rows = await this.#book.rows()
    const byName = new Map(rows.map(({ name, tokens }) => [name, tokens]))
    const steps = session.steps.map((step) =>
      step.kind === 'surface' ? this.#surface(step) : withTokens(step, byName),
    )
    const turns = session.turns.map((turn) => this.#turn(turn, byName))
    return { ...session, steps: await Promise.all(steps), turns: await Promise.all(turns) }
  }

  async #surface(step: SessionStep): Promise<SessionStep> {
    const cost = await this.#costOf(step.fingerprint ?? '')
    return cost ? { ...step, text: shownText(cost.tools), tokens: cost.tokens, isExact: true } : step
  }

  async #turn(turn: SessionTurn, byName: ReadonlyMap<string, number>): Promise<SessionTurn> {
    const cost = await this.#costOf(turn.fingerprint)
    const inAnswers = sumOf(turn.answered, byName)
    if (!cost || inAnswers === undefined) return turn
    return { ...turn, tokens: cost.tokens, inAnswers, isExact: true }
  }

  #costOf(fingerprint: string): Promise<SurfaceCost> | undefined {
    const known = this.#counted.get(fingerprint)
    if (known) return known
    const tools = this.#listed(fingerprint)
    return tools && this.note({ fingerprint, tools })
  }
}

function withTokens(step: SessionStep, byName: ReadonlyMap<string, number>): SessionStep {
  const tokens = step.tokens === undefined ? undefined : sumOf(step.names ?? [], byName)
  return tokens === undefined ? step : { ...step, tokens, isExact: true }
}

/** The tokens of these tools; undefined if one of them is gone. */
function sumOf(names: readonly string[], byName: ReadonlyMap<string, number>): number | undefined {
  let sum = 0
  for (const name of names) {
    const tokens = byName.get(name)
    if (tokens === undefined) return undefined
    sum += tokens
  }
  return sum
}
