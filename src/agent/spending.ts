import { ToolcribError } from '../errors.ts'
import type { Session } from '../session/session.ts'
import type { Surface } from '../session/surface.ts'
import type { CallResult } from '../tool.ts'
import type { LedgerTotals, Meter, Prices, SpendLimit, Usage } from '../usage.ts'
import { HiddenTokens } from './hidden-tokens.ts'
import { Ledger, type LedgerOptions, type PriceList } from './ledger.ts'

export interface SpendingOptions extends LedgerOptions {
  readonly session: Session
  readonly modelId: string
  /** The host's ledger. */
  readonly ledger?: Ledger | undefined
  readonly prices?: PriceList | undefined
}

/** What one run spends: counted into its own ledger, the host's, and those of the runs it works for, once into each. */
export class Spending {
  /** For the calls of the run, so that sub-agents count here as well. */
  readonly meters: readonly Meter[]
  readonly #session: Session
  readonly #ledger: Ledger
  readonly #prices: Prices | undefined
  readonly #hidden = new HiddenTokens()

  /** Throws `config-invalid` when the cost is limited and no price is known for the model. */
  constructor({ session, modelId, ledger, prices, ...limits }: SpendingOptions) {
    const own = new Ledger(limits, prices && priceFinder(prices, modelId))
    this.meters = [...new Set([...session.meters, ...(ledger ? [ledger] : []), own])]
    this.#session = session
    this.#ledger = ledger ?? own
    // The run's own prices first, then those of its nearest caller.
    this.#prices = this.meters.toReversed().flatMap((meter) => meter.pricesOf(modelId) ?? [])[0]
    if (this.#prices === undefined && this.meters.some(({ maxCostUsd }) => maxCostUsd !== undefined)) {
      const problem = `maxCostUsd cannot be kept: no price is known for the model "${modelId}"`
      throw new ToolcribError('config-invalid', `${problem}; give it in prices`)
    }
  }

  addReply(usage: Usage, surface: Surface): void {
    const hiddenTokens = this.#hidden.of(this.#session, surface)
    for (const meter of this.meters) meter.addReply({ usage, prices: this.#prices, hiddenTokens })
  }

  addToolCosts(results: readonly CallResult[]): void {
    for (const { result } of results)
      if (result.ok && result.costUsd !== undefined)
        for (const meter of this.meters) meter.addToolCost(result.costUsd)
  }

  /** Returns the limit that is used up, of this run or of one it works for. */
  limitReached(): SpendLimit | undefined {
    for (const meter of this.meters) {
      const limit = meter.limitReached()
      if (limit) return limit
    }
    return undefined
  }

  /** What the host's ledger has counted, or the run's own where the host gave none. */
  totals(): LedgerTotals {
    return this.#ledger.totals()
  }
}

/** Plain prices are those of the model that the run asks: a sub-agent on another model has a price of its own. */
export function priceFinder(prices: PriceList, modelId: string): (id: string) => Prices | undefined {
  return typeof prices === 'function' ? prices : (id) => (id === modelId ? prices : undefined)
}
