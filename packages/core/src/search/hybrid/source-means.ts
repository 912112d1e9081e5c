import type { Listing } from '../../tool.ts'
import type { ListingVectors } from '../vectors/listing-vectors.ts'
import { VectorIndex } from '../vectors/vector-index.ts'

/** The vectors of a request's texts. */
export interface RequestVectors {
  readonly whole: Float32Array
  /** Of the request without its values. */
  readonly plain: Float32Array
  readonly parts: readonly Float32Array[]
}

/** So many tools from the middle of the catalogue are added to each source: one with a single tool says little about itself. */
const MIDDLE_TOOLS = 1

/** A search compares the means of most sources, not of a few among thousands, so that a kernel pays off early. */
const KERNEL_FROM = 32

/**
 * A source agrees with a request from this share of the nearest source's nearness on, and less below it; not below a half,
 * so that a tool which nothing else comes near stays first.
 */
const AGREES_FROM = 0.4
const LEAST_AGREEMENT = 0.5

/** Nearness below this is noise, so the nearest source is not taken as a unit below it. */
const LEAST_UNIT = 0.05

/**
 * How near a source as a whole is to a request: the mean cosine of its tools. A server is about something, and a request is
 * for something of that kind. A server with a tool for every request is about none of them, and no wording of one tool
 * changes that.
 */
export class SourceMeans {
  readonly #vectors: ListingVectors
  /** By number of a source, like all here: the listings whose mean is kept. */
  #read: (readonly Listing[])[] = []
  readonly #means: VectorIndex
  /** How many tools there are; 0 for builtin tools, which have nothing in common. */
  readonly #counts: number[] = []

  constructor(vectors: ListingVectors, dimensions: number) {
    this.#vectors = vectors
    this.#means = new VectorIndex(dimensions, { kernelFrom: KERNEL_FROM })
  }

  /** Reads all sources anew when they are next asked for. */
  clear(): void {
    this.#read = []
  }

  /** By candidate: how much its source is about the request or, if there are several parts, about one of them; up to 1. */
  agreements({ plain, parts }: RequestVectors, numbers: readonly number[]): Float64Array {
    const placeOf = new Map<number, number>()
    const places = new Uint32Array(numbers.length)
    for (let at = 0; at < numbers.length; at++) {
      const source = this.#vectors.numbers.sourceOf(numbers[at] as number)
      let place = placeOf.get(source)
      if (place === undefined) {
        place = placeOf.size
        placeOf.set(source, place)
      }
      places[at] = place
    }
    const bySource = this.#bySource(parts.length > 0 ? parts : [plain], [...placeOf.keys()])
    const agreements = new Float64Array(numbers.length)
    for (let at = 0; at < agreements.length; at++) agreements[at] = bySource[places[at] as number] as number
    return agreements
  }

  #bySource(vectors: readonly Float32Array[], sources: readonly number[]): Float64Array {
    for (const source of sources) this.#update(source)
    const { mean } = this.#vectors.centre
    const counts = Float64Array.from(sources, (source) => this.#counts[source] as number)
    const agreements = counts.map((count) => (count === 0 ? 1 : LEAST_AGREEMENT))
    for (const [at, nearness] of this.#means.similarities(vectors, sources).entries()) {
      const middle = MIDDLE_TOOLS * product(vectors[at] as Float32Array, mean)
      let unit = LEAST_UNIT
      for (let place = 0; place < sources.length; place++) {
        const count = counts[place] as number
        const near = (count * (nearness[place] as number) + middle) / (count + MIDDLE_TOOLS)
        nearness[place] = near
        if (near > unit) unit = near
      }
      for (let place = 0; place < sources.length; place++) {
        const share = (nearness[place] as number) / (AGREES_FROM * unit)
        if (share <= 0) continue
        agreements[place] = Math.max(agreements[place] as number, Math.sqrt(Math.min(1, share)))
      }
    }
    return agreements
  }

  #update(source: number): void {
    const listings = this.#vectors.numbers.listingsOf(source)
    if (this.#read[source] === listings) return
    this.#read[source] = listings
    const { vector, count } = this.#vectors.sum(listings)
    this.#counts[source] = listings[0]?.source.kind === 'builtin' ? 0 : count
    this.#means.set(
      source,
      vector.map((value) => value / Math.max(1, count)),
    )
  }
}

export function product(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let at = 0; at < a.length; at++) sum += (a[at] as number) * (b[at] as number)
  return sum
}
