import { checkOptions, numberFrom, type OptionRules, type ValueCheck, wholeNumber } from '../check-options.ts'
import { isRecord } from '../json.ts'
import type { CountedReply, LedgerTotals, Meter, Prices, SpendLimit, SpendLimits, Usage } from '../usage.ts'

/** Prices of the run's only model, or a function that returns them by the model's id. */
export type PriceList = Prices | ((modelId: string) => Prices | undefined)

/** The checks of these limits, for every options object that has them. */
export const LIMIT_RULES: OptionRules<SpendLimits> = { maxCostUsd: numberFrom(0), maxTokens: wholeNumber() }

/** Prices as an object with known keys, or a function. */
export const priceList: ValueCheck = {
  expected: 'an object with input, cachedInput, cacheWrite, output and longContext in dollars, or a function',
  accepts: (value) => typeof value === 'function' || isPrices(value),
}

/**
 * Counts tokens and money. Several runs may share one ledger; their sub-agents are counted too. With limits, every run
 * that counts into it ends with `limit` once one is reached.
 */
export class Ledger implements Meter {
  readonly limits: SpendLimits
  readonly #usage = { inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 }
  readonly #prices: ((modelId: string) => Prices | undefined) | undefined
  #requests = 0
  #unpriced = 0
  #toolCostUsd = 0
  #costUsd = 0
  #fullModeCostUsd = 0
  #hiddenTokens = 0

  /** Throws `config-invalid` for unknown limits. `prices` also apply to sub-agents. */
  constructor(limits: SpendLimits = {}, prices?: (modelId: string) => Prices | undefined) {
    checkOptions<SpendLimits>('a ledger', limits, LIMIT_RULES)
    this.limits = { ...limits }
    this.#prices = prices
  }

  /** Counts one answer, and what full mode would have sent in addition. */
  addReply({ usage, prices, hiddenTokens }: CountedReply): void {
    this.#requests++
    this.#hiddenTokens += hiddenTokens
    for (const kind of KINDS) this.#usage[kind] += usage[kind]
    if (!prices) {
      this.#unpriced++
      return
    }
    const charged = chargedPrices(usage, prices)
    const cost = costOf(usage, charged)
    // Definitions come first in a request, so if anything was read from the cache, they would have been too.
    const price = usage.cachedInputTokens > 0 ? charged.cachedInput : charged.input
    this.#costUsd += cost
    this.#fullModeCostUsd += cost + (hiddenTokens * price) / 1e6
  }

  /** Counts a tool's reported cost; ignores anything but a finite number. */
  addToolCost(costUsd: number): void {
    if (Number.isFinite(costUsd)) this.#toolCostUsd += costUsd
  }

  /** Returns the prices of a model; undefined if they are unknown. */
  pricesOf(modelId: string): Prices | undefined {
    return this.#prices?.(modelId)
  }

  /** Returns the limit that is reached, or undefined. */
  limitReached(): SpendLimit | undefined {
    const { maxCostUsd = Number.POSITIVE_INFINITY, maxTokens = Number.POSITIVE_INFINITY } = this.limits
    if (this.#costUsd + this.#toolCostUsd >= maxCostUsd) return 'maxCostUsd'
    return this.#inputTokens() + this.#usage.outputTokens >= maxTokens ? 'maxTokens' : undefined
  }

  /** Returns the counts so far. */
  totals(): LedgerTotals {
    const isPriced = this.#requests === 0 || this.#unpriced < this.#requests
    return {
      ...this.#usage,
      requests: this.#requests,
      unpriced: this.#unpriced,
      ...(isPriced ? { costUsd: this.#costUsd } : {}),
      toolCostUsd: this.#toolCostUsd,
      fullMode: {
        inputTokens: this.#inputTokens() + this.#hiddenTokens,
        ...(isPriced ? { costUsd: this.#fullModeCostUsd } : {}),
      },
    }
  }

  #inputTokens(): number {
    return allInput(this.#usage)
  }
}

const KINDS = ['inputTokens', 'cachedInputTokens', 'cacheWriteTokens', 'outputTokens'] as const

function isPrices(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { longContext, ...prices } = value
  if (longContext === undefined) return arePlainPrices(prices)
  if (!isRecord(longContext)) return false
  const { aboveTokens, ...others } = longContext
  return arePlainPrices(prices) && isAmount(aboveTokens) && arePlainPrices(others)
}

function arePlainPrices(value: Record<string, unknown>): boolean {
  const { input, cachedInput, cacheWrite = 0, output, ...unknown } = value
  return [input, cachedInput, cacheWrite, output].every(isAmount) && Object.keys(unknown).length === 0
}

function isAmount(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value)
}

function allInput({ inputTokens, cachedInputTokens, cacheWriteTokens }: Usage): number {
  return inputTokens + cachedInputTokens + cacheWriteTokens
}

function chargedPrices(usage: Usage, prices: Prices): Omit<Prices, 'longContext'> {
  const { longContext } = prices
  return longContext && allInput(usage) > longContext.aboveTokens ? longContext : prices
}

function costOf(usage: Usage, prices: Omit<Prices, 'longContext'>): number {
  const dollars =
    usage.inputTokens * prices.input +
    usage.cachedInputTokens * prices.cachedInput +
    usage.cacheWriteTokens * (prices.cacheWrite ?? prices.input) +
    usage.outputTokens * prices.output
  return dollars / 1e6
}
