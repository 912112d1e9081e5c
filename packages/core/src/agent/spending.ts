import { ToolcribError } from '../errors.ts'
import type { View } from '../registry/view.ts'
import type { Reply } from '../reply.ts'
import type { Session } from '../session/session.ts'
import type { Surface } from '../session/surface.ts'
import { estimateTokens } from '../text.ts'
import type { CallResult } from '../tool.ts'
import {
  type LedgerTotals,
  type Meter,
  NO_USAGE,
  type Prices,
  type SpendLimit,
  type SpendLimits,
  type Usage,
} from '../usage.ts'
import { Ledger, type PriceList } from './ledger.ts'

interface SpendingOptions extends SpendLimits {
  readonly session: Session
  readonly modelId: string
  /** The host's ledger. */
  readonly ledger?: Ledger | undefined
  readonly prices?: PriceList | undefined
}

/** Counts what one run spends: once each in its own ledger, the host's, and those of its calling runs. */
export class Spending {
  /** Passed to the calls of the run, so that sub-agents count here as well. */
  readonly meters: readonly Meter[]
  readonly #session: Session
  readonly #ledger: Ledger
  readonly #prices: Prices | undefined
  readonly #isLimited: boolean
  readonly #hidden = new HiddenTokens()

  /** Throws `config-invalid` if the cost is limited and the model has no known price. */
  constructor({ session, modelId, ledger, prices, ...limits }: SpendingOptions) {
    const own = new Ledger(limits, prices && priceFinder(prices, modelId))
    this.meters = [...new Set([...session.meters, ...(ledger ? [ledger] : []), own])]
    this.#session = session
    this.#ledger = ledger ?? own
    this.#isLimited = this.meters.some(({ limits }) => (limits.maxCostUsd ?? limits.maxTokens) !== undefined)
    // The run's own prices first, then those of its nearest caller.
    this.#prices = this.meters.toReversed().flatMap((meter) => meter.pricesOf(modelId) ?? [])[0]
    if (this.#prices === undefined && this.meters.some(({ limits }) => limits.maxCostUsd !== undefined)) {
      const problem = `maxCostUsd cannot be kept: no price is known for the model "${modelId}"`
      throw new ToolcribError('config-invalid', `${problem}; give it in prices`)
    }
  }

  /** Counts an answer. While a limit is set, an answer without reported usage is estimated. */
  addReply(reply: Reply, request: unknown, surface: Surface): void {
    const usage = this.#isLimited && isUnreported(reply.usage) ? estimateUsage(reply, request) : reply.usage
    const hiddenTokens = this.#hidden.of(this.#session, surface)
    for (const meter of this.meters) meter.addReply({ usage, prices: this.#prices, hiddenTokens })
  }

  addToolCosts(results: readonly CallResult[]): void {
    for (const { result } of results)
      if (result.ok && result.costUsd !== undefined)
        for (const meter of this.meters) meter.addToolCost(result.costUsd)
  }

  /** Returns the limit that is reached, of this run or of a calling run. */
  limitReached(): SpendLimit | undefined {
    for (const meter of this.meters) {
      const limit = meter.limitReached()
      if (limit) return limit
    }
    return undefined
  }

  /** The totals of the host's ledger, or else of the run's own. */
  totals(): LedgerTotals {
    return this.#ledger.totals()
  }
}

function isUnreported({ inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens }: Usage): boolean {
  return inputTokens + cachedInputTokens + cacheWriteTokens + outputTokens === 0
}

/** Some servers report no usage, and most report none for an answer that was cut off. */
function estimateUsage({ text, calls }: Reply, request: unknown): Usage {
  const input = estimateTokens(JSON.stringify(request))
  const output = estimateTokens(text) + (calls.length > 0 ? estimateTokens(JSON.stringify(calls)) : 0)
  return { ...NO_USAGE, inputTokens: input, outputTokens: output }
}

/** Plain prices are those of the run's model: a sub-agent on another model needs its own price. */
export function priceFinder(prices: PriceList, modelId: string): (id: string) => Prices | undefined {
  return typeof prices === 'function' ? prices : (id) => (id === modelId ? prices : undefined)
}

type Deferred = View['deferred']

/** Estimates what full mode would have sent in addition. */
class HiddenTokens {
  /** By the map of deferred tools of a view, which is a new object whenever the catalogue changes. */
  readonly #deferredTokens = new WeakMap<Deferred, number>()

  /**
   * About how many tokens of definitions a turn saved: those of deferred, inactive tools, minus the meta-tools that
   * replace them. Active tools cost the same in both modes.
   */
  of(session: Session, surface: Surface): number {
    const { deferred, shown } = session.scope().view
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

/** Counting every definition of a huge catalogue would delay the first turn by most of a second. */
const MAX_COUNTED = 1000

/** About how many tokens all definitions take; for a large catalogue, from an even sample. */
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
