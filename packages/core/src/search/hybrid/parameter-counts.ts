import type { Listing } from '../../tool.ts'
import { parameterTexts } from '../lexical/listing-terms.ts'

/** Parameters that count: more of them say nothing, and a server could add any number. */
const MAX_PARAMETERS = 8

/** How many parameters listings have; counted when first asked for. */
export class ParameterCounts {
  readonly #known = new WeakMap<Listing, number>()

  /** The number of parameters, up to eight, on a logarithmic scale from 0 to 1. */
  of(listing: Listing): number {
    const known = this.#known.get(listing)
    if (known !== undefined) return known
    const count = Math.min(MAX_PARAMETERS, parameterTexts(listing.inputSchema).names.length)
    const share = Math.log(1 + count) / Math.log(1 + MAX_PARAMETERS)
    this.#known.set(listing, share)
    return share
  }
}
