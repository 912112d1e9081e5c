import type { Usage } from '../dialects/dialect.ts'
import type { Session } from '../session/session.ts'
import type { Surface } from '../session/surface.ts'
import { estimateTokens } from '../tokens.ts'

/** US dollars for a million tokens of each kind. */
export interface Prices {
  readonly input: number
  readonly cachedInput: number
  /** Where writing the cache has its own price; that of `input` when absent. */
  readonly cacheWrite?: number
  readonly output: number
}

/** What was spent. The three kinds of input add up to all input. */
export interface LedgerTotals extends Usage {
  readonly requests: number
  /** What the models cost; there when their prices are known. */
  readonly costUsd?: number
  /** What the tools said they cost. */
  readonly toolCostUsd: number
  /**
   * What the same requests would have taken with every tool's definition in each. An estimate: it leaves out that
   * full mode needs no searches.
   */
  readonly fullMode: { readonly inputTokens: number; readonly costUsd?: number }
}

/** Counts tokens and money. One ledger may serve several runs, and their sub-agents. */
export class Ledger {
  #requests = 0
  #usage = { inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 }
  #toolCostUsd = 0
  #costUsd = 0
  #fullModeCostUsd = 0
  #hiddenTokens = 0
  #isPriced = true

  /** Notes one answer; `hiddenTokens` are those that full mode would have sent and this request did not. */
  addReply(usage: Usage, hiddenTokens: number, prices: Prices | undefined): void {
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
}

const KINDS = ['inputTokens', 'cachedInputTokens', 'cacheWriteTokens', 'outputTokens'] as const

/**
 * About how many tokens of definitions a turn is spared: those deferred and not active, less the meta-tools that
 * stand in for them. What is active is paid for either way.
 */
export function hiddenTokens(session: Session, surface: Surface): number {
  const { deferred, shown } = session.view()
  if (deferred.size === 0) return 0
  let hidden = 0
  for (const entry of deferred.values()) if (!session.isActive(entry.name)) hidden += entry.tokens
  const own = new Set([...shown.map(({ name }) => name), ...deferred.keys()])
  const metaTools = surface.tools.filter(({ name }) => !own.has(name))
  return Math.max(0, hidden - metaTools.reduce((sum, tool) => sum + estimateTokens(JSON.stringify(tool)), 0))
}

function costOf(usage: Usage, prices: Prices): number {
  const dollars =
    usage.inputTokens * prices.input +
    usage.cachedInputTokens * prices.cachedInput +
    usage.cacheWriteTokens * (prices.cacheWrite ?? prices.input) +
    usage.outputTokens * prices.output
  return dollars / 1e6
}
