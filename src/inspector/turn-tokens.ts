import { type SessionStep, shownText } from './record/session-log.ts'
import type { ToolBook } from './tool-book.ts'

/** A surface, as far as its cost goes. */
interface KnownSurface {
  readonly fingerprint: string
  readonly tools: readonly object[]
}

/** What a surface shows. */
interface SurfaceCost {
  readonly tools: number
  readonly tokens: number
}

/** Far more than are in use at a time. */
const MAX_COUNTED = 500

/**
 * What models read of tools, in exact tokens: events have estimates, since counting takes long. A surface is counted when somebody
 * looks at it, as the gateway lists it or as it was noted here; an unknown one stays an estimate.
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
    // What failed is counted again for whoever asks next.
    cost.catch(() => this.#counted.delete(fingerprint))
    return cost
  }

  /** The steps of a session, with exact tokens where they can be had. */
  async exactly(steps: readonly SessionStep[]): Promise<readonly SessionStep[]> {
    const rows = await this.#book.rows()
    const byName = new Map(rows.map(({ name, tokens }) => [name, tokens]))
    return Promise.all(
      steps.map((step) => (step.kind === 'surface' ? this.#withCost(step) : withTokens(step, byName))),
    )
  }

  async #withCost(step: SessionStep): Promise<SessionStep> {
    const { fingerprint = '' } = step
    const tools = this.#listed(fingerprint)
    const known = this.#counted.get(fingerprint) ?? (tools && this.note({ fingerprint, tools }))
    if (!known) return step
    const cost = await known
    return { ...step, text: shownText(cost.tools), tokens: cost.tokens, isExact: true }
  }
}

/** With the tokens of the tools that a step names, if they are all still there. */
function withTokens(step: SessionStep, byName: ReadonlyMap<string, number>): SessionStep {
  const { tokens, names = [] } = step
  if (tokens === undefined || !names.every((name) => byName.has(name))) return step
  const exact = names.reduce((sum, name) => sum + (byName.get(name) ?? 0), 0)
  return { ...step, tokens: exact, isExact: true }
}
