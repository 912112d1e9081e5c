import type { View } from '../registry/view.ts'
import type { Session } from '../session/session.ts'
import type { Surface } from '../session/surface.ts'
import { estimateTokens } from '../tokens.ts'
import type { LedgerTotals, Usage } from '../usage.ts'

/** US dollars for a million tokens of each kind. */
export interface Prices {
  readonly input: number
  readonly cachedInput: number
  /** Where writing the cache has its own price; that of `input` when absent. */
  readonly cacheWrite?: number
  readonly output: number
}

/** What an answer was given to. */
export interface Asking {
  readonly session: Session
  readonly surface: Surface
  readonly prices?: Prices | undefined
}

type Deferred = View['deferred']

/** Counts tokens and money. One ledger may serve several runs, and their sub-agents. */
export class Ledger {
  #requests = 0
  #usage = { inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 }
  #toolCostUsd = 0
  #costUsd = 0
  #fullModeCostUsd = 0
  #hiddenTokens = 0
  #isPriced = true
  /** By the deferred tools of one view of a catalogue, which is a new map whenever the catalogue changes. */
  readonly #deferredTokens = new WeakMap<Deferred, number>()

  /** Notes one answer, and what full mode would have sent for it beside what was sent. */
  addReply(usage: Usage, { session, surface, prices }: Asking): void {
    const hiddenTokens = this.#hiddenOf(session, surface)
    this.#requests++
    this.#hiddenTokens += hiddenTokens
    for (const kind of KINDS) this.#usage[kind] += usage[kind]
    this.#isPriced &&= prices !== undefined
    if (!prices) return
    const cost = costOf(usage, prices)
    // Definitions stand first, so where anything was read from the cache they would have been too.
    const price = usage.cachedInputTokens > 0 ? prices.cachedInput : prices.input
    this.#costUsd += cost
    this.#fullModeCostUsd += cost + (hiddenTokens * price) / 1e6
  }

  addToolCost(costUsd: number): void {
    if (Number.isFinite(costUsd)) this.#toolCostUsd += costUsd
  }

  totals(): LedgerTotals {
    const usage = { ...this.#usage }
    const inputTokens =
      usage.inputTokens + usage.cachedInputTokens + usage.cacheWriteTokens + this.#hiddenTokens
    return {
      ...usage,
      requests: this.#requests,
      ...(this.#isPriced ? { costUsd: this.#costUsd } : {}),
      toolCostUsd: this.#toolCostUsd,
      fullMode: { inputTokens, ...(this.#isPriced ? { costUsd: this.#fullModeCostUsd } : {}) },
    }
  }

  /**
   * About how many tokens of definitions a turn was spared: those deferred and not active, less the meta-tools that
   * stand in for them. What is active is paid for either way.
   */
  #hiddenOf(session: Session, surface: Surface): number {
    const { deferred, shown } = session.currentTurn().view
    if (deferred.size === 0) return 0
    let hidden = this.#deferredTokens.get(deferred) ?? tokensOf(deferred)
    this.#deferredTokens.set(deferred, hidden)
    for (const { name, tokens } of session.toJSON().activations) if (deferred.has(name)) hidden -= tokens
    const own = new Set(shown.map(({ name }) => name))
    const metaTools = surface.tools.filter(({ name }) => !own.has(name) && !deferred.has(name))
    for (const tool of metaTools) hidden -= estimateTokens(JSON.stringify(tool))
    return Math.max(0, hidden)
  }
}

const KINDS = ['inputTokens', 'cachedInputTokens', 'cacheWriteTokens', 'outputTokens'] as const

/** Counting every definition of a huge catalogue would hold up the first turn for most of a second. */
const MAX_COUNTED = 1000

/** About how many tokens all definitions take; of many, from every so manyth. */
function tokensOf(deferred: Deferred): number {
  const step = Math.ceil(deferred.size / MAX_COUNTED)
  let place = 0
  let counted = 0
  let tokens = 0
  for (const entry of deferred.values()) {
    if (place++ % step !== 0) continue
    counted++
    tokens += entry.tokens
  }
  return Math.round((tokens * deferred.size) / counted)
}

function costOf(usage: Usage, prices: Prices): number {
  const dollars =
    usage.inputTokens * prices.input +
    usage.cachedInputTokens * prices.cachedInput +
    usage.cacheWriteTokens * (prices.cacheWrite ?? prices.input) +
    usage.outputTokens * prices.output
  return dollars / 1e6
}
