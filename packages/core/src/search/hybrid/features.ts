import type { Listing } from '../../tool.ts'
import { STOP_WORDS } from '../lexical/text-words.ts'
import type { WordScan } from '../lexical/word-scan.ts'
import type { Request } from '../query/request.ts'
import { placesOf } from '../top-matches.ts'
import type { ListingVectors } from '../vectors/listing-vectors.ts'
import { Centre } from './centre.ts'
import type { ParameterCounts } from './parameter-counts.ts'
import type { Features } from './ranker.ts'
import type { RequestVectors, SourceMeans } from './source-means.ts'

/** Cosines below this are noise, so the best one is not taken as a unit below it. */
const LEAST_UNIT = 0.05

/** The lengths, in words besides stop words, between which a request becomes a long one. */
const SHORT_REQUEST = 4
const LONG_REQUEST = 16

/** A listing that may match, and what the ranker knows about it. */
export interface Candidate {
  readonly listing: Listing
  readonly number: number
  readonly features: Features
  /** Similarity to the whole request. */
  readonly similarity: number
  readonly hasWords: boolean
  /** The part of the request that it matches best, if there are several. */
  readonly part: string | undefined
  /** How much its source as a whole is about the request, or about a part of it: up to 1. */
  readonly sourceAgreement: number
}

/** One part of a request, and the listings that match it. */
export interface PartView {
  readonly text: string
  /** By number of a listing: its score by words, relative to the best. */
  readonly scores: ReadonlyMap<number, number>
  /** Numbers of listings. */
  readonly candidates: readonly number[]
}

/** What both indexes found for a request. */
export interface CandidatePool {
  readonly request: Request
  readonly vectors: RequestVectors
  /** The candidates, by their numbers. A row is a place in this list. */
  readonly numbers: readonly number[]
  /** The best score by words. */
  readonly topScore: number
  readonly scan: WordScan
  readonly parts: readonly PartView[]
}

/** The candidates of a request with their features. */
export function describeCandidates(
  found: CandidatePool,
  vectors: ListingVectors,
  parameters: ParameterCounts,
  sources: SourceMeans,
): Candidate[] {
  const { request, scan, numbers, topScore } = found
  const { listings } = vectors.numbers
  const similarities = new Similarities(found, vectors)
  const { whole, plain, best, plainBest } = similarities
  const meanings = found.parts.length === 0 ? similarities.meanings() : undefined
  const rowOf = new Map(found.parts.length === 0 ? [] : numbers.map((number, row) => [number, row]))
  const parts = found.parts.map(
    (part, at) => new PartPlaces(part, rowOf, similarities.parts[at] ?? new Float64Array(numbers.length)),
  )
  const length = lengthOf(request)
  const agreements = sources.agreements(found.vectors, numbers)
  return numbers.map((number, row): Candidate => {
    const similarity = whole[row] ?? 0
    const plainMeaning = (plain[row] ?? 0) / plainBest
    // If nothing is similar in meaning, the words are all there is.
    const agreement = best > LEAST_UNIT ? agreementOf(Math.max(similarity / best, plainMeaning)) : 1
    const { score, coverage } = scan.rate(number)
    const words = (agreement * score) / topScore
    const part = parts.length === 0 ? undefined : bestPart(parts, row, agreement)
    const partWords = part?.words ?? words
    const listing = listings[number] as Listing
    return {
      listing,
      number,
      similarity,
      hasWords: score > 0 || partWords > 0,
      part: part?.text,
      sourceAgreement: agreements[row] ?? 1,
      features: {
        coverage: agreement * coverage,
        longWords: words * length,
        partWords,
        plainMeaning: meanings?.plain[row] ?? plainMeaning,
        partMeaning: meanings?.part[row] ?? part?.meaning ?? 0,
        partPlace: part?.place ?? 0,
        parameters: parameters.of(listing),
      },
    }
  })
}

/** How similar the candidates are to the texts of a request, by row. */
class Similarities {
  readonly whole: Float64Array
  readonly plain: Float64Array
  readonly parts: readonly Float64Array[]
  /** The similarities of the nearest. */
  readonly best: number
  readonly plainBest: number
  readonly #request: RequestVectors
  readonly #centre: Centre

  constructor({ vectors: request, numbers }: CandidatePool, vectors: ListingVectors) {
    const { centre } = vectors
    const texts = request.plain === request.whole ? [request.whole] : [request.whole, request.plain]
    const compared = vectors.similarities([...texts, ...request.parts, centre.mean], numbers)
    this.whole = compared[0] as Float64Array
    this.plain = compared[texts.length - 1] as Float64Array
    this.parts = compared.slice(texts.length, -1)
    this.best = unitOf(this.whole)
    this.plainBest = unitOf(this.plain)
    this.#request = request
    this.#centre = new Centre(centre, compared.at(-1) as Float64Array)
  }

  /** The meaning of a request for one thing, as its features have it, by row. */
  meanings(): { readonly part: Float64Array; readonly plain: Float64Array } {
    const { whole, plain } = this.#request
    const wholes = this.#centre.cosines(whole, this.whole)
    const plains = plain === whole ? wholes : this.#centre.cosines(plain, this.plain)
    const unit = unitOf(plains)
    return {
      part: wholes.map((cosine, row) => Math.max(0, (cosine + (plains[row] ?? 0)) / 2)),
      plain: plains.map((cosine) => cosine / unit),
    }
  }
}

/** The highest cosine, by which the others are divided. */
function unitOf(cosines: Float64Array): number {
  let unit = LEAST_UNIT
  for (let row = 0; row < cosines.length; row++) unit = Math.max(unit, cosines[row] as number)
  return unit
}

/** How much meaning and words count for the order of the listings within one part. */
const PART_MEANING = 0.6
const PART_WORDS = 0.4

/** What one part of a request says about each candidate, by row. */
class PartPlaces {
  readonly text: string
  readonly words: Float64Array
  readonly cosines: Float64Array
  /** From 1, the best. */
  readonly places: Uint32Array

  constructor({ text, scores }: PartView, rowOf: ReadonlyMap<number, number>, cosines: Float64Array) {
    this.text = text
    this.cosines = cosines
    this.words = new Float64Array(cosines.length)
    for (const [number, score] of scores) {
      const row = rowOf.get(number)
      if (row !== undefined) this.words[row] = score
    }
    const unit = PART_MEANING / unitOf(cosines)
    const fits = new Float64Array(cosines.length)
    for (let row = 0; row < fits.length; row++)
      fits[row] = unit * (cosines[row] as number) + PART_WORDS * (this.words[row] as number)
    this.places = placesOf(fits)
  }
}

/** What the parts of a request say about the candidate in a row: the most of each, and which part fits best. */
function bestPart(parts: readonly PartPlaces[], row: number, agreement: number) {
  const best = { text: undefined as string | undefined, words: 0, meaning: 0, place: 0 }
  let fit = 0
  for (const { text, words, cosines, places } of parts) {
    const score = agreement * (words[row] ?? 0)
    const cosine = cosines[row] ?? 0
    best.words = Math.max(best.words, score)
    best.meaning = Math.max(best.meaning, cosine)
    best.place = Math.max(best.place, 1 / (places[row] ?? Number.POSITIVE_INFINITY))
    if (score + cosine <= fit) continue
    fit = score + cosine
    best.text = text
  }
  return best
}

/** A listing that no ranking put forward. */
export function rememberedCandidate(listing: Listing, number: number, parameters: number): Candidate {
  const features: Features = { ...NO_FEATURES, parameters }
  return { listing, number, features, similarity: 0, hasWords: false, part: undefined, sourceAgreement: 1 }
}

/** What is known about a candidate that nothing put forward. */
export const NO_FEATURES: Features = {
  coverage: 0,
  longWords: 0,
  partWords: 0,
  plainMeaning: 0,
  partMeaning: 0,
  partPlace: 0,
  parameters: 0,
}

/**
 * Words count in full from this share of the nearest similarity, and ever less below it: a tool's words may be
 * chosen only to be found.
 */
const WORDS_AGREE_FROM = 0.85

function agreementOf(meaning: number): number {
  return Math.min(1, Math.max(0, meaning / WORDS_AGREE_FROM)) ** 1.5
}

/** 0 for a request of up to four words besides stop words, 1 from sixteen on. */
function lengthOf({ words }: Request): number {
  let count = 0
  for (const { text } of words) if (!STOP_WORDS.has(text.toLowerCase())) count++
  return Math.min(1, Math.max(0, (count - SHORT_REQUEST) / (LONG_REQUEST - SHORT_REQUEST)))
}
