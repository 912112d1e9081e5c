import { sourceKey } from '../../names.ts'
import type { Listing } from '../../tool.ts'
import { parameterTexts } from '../lexical/listing-terms.ts'
import { STOP_WORDS } from '../lexical/text-words.ts'
import type { WordMatch, WordScan } from '../lexical/word-scan.ts'
import type { Request } from '../query/request.ts'
import type { ListingVectors } from '../vectors/listing-vectors.ts'
import { Centre } from './centre.ts'
import { type Features, fitOf } from './ranker.ts'

/** Parameters that count: more of them say nothing, and a server could add any number. */
const MAX_PARAMETERS = 8

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
}

/** The vectors of a request's texts. */
export interface RequestVectors {
  readonly whole: Float32Array
  /** Of the request without its values. */
  readonly plain: Float32Array
  readonly parts: readonly Float32Array[]
}

/** One part of a request, and the listings that match it. */
export interface PartView {
  readonly text: string
  readonly vector: Float32Array | undefined
  /** By listing: its score by words, relative to the best. */
  readonly scores: ReadonlyMap<Listing, number>
  readonly candidates: readonly Listing[]
}

/** What both indexes found for a request. */
export interface Found {
  readonly request: Request
  readonly vectors: RequestVectors
  /** The candidates, with their numbers in the scan. */
  readonly numbers: ReadonlyMap<Listing, number>
  readonly byWords: readonly WordMatch[]
  readonly scan: WordScan
  readonly parts: readonly PartView[]
}

/** The candidates of a request with their features. */
export function describeCandidates(found: Found, vectors: ListingVectors): Candidate[] {
  const { request, byWords, scan, numbers } = found
  const { whole, plain } = found.vectors
  const length = lengthOf(request)
  const topScore = byWords[0]?.score || 1
  const rows = Array.from(numbers, ([listing, number]) => {
    const similarity = vectors.similarity(whole, listing)
    const plainSimilarity = plain === whole ? similarity : vectors.similarity(plain, listing)
    return { listing, number, similarity, plainSimilarity }
  })
  const best = Math.max(LEAST_UNIT, ...rows.map(({ similarity }) => similarity))
  const plainBest = Math.max(LEAST_UNIT, ...rows.map(({ plainSimilarity }) => plainSimilarity))
  const meanings = found.parts.length === 0 ? centredMeanings(rows, found.vectors, vectors) : undefined
  const parts = found.parts.map((part) => new PartPlaces(part, [...numbers.keys()], vectors))
  const drafts = rows.map(({ listing, number, similarity, plainSimilarity }, row): Candidate => {
    // If nothing is similar in meaning, the words are all there is.
    const meaning = Math.max(similarity / best, plainSimilarity / plainBest)
    const agreement = best > LEAST_UNIT ? agreementOf(meaning) : 1
    const { score, coverage } = scan.rate(number)
    const words = (agreement * score) / topScore
    let partWords = parts.length === 0 ? words : 0
    let partMeaning = meanings?.part[row] ?? 0
    let partPlace = 0
    let part: string | undefined
    let partFit = 0
    for (const { text, words: scores, cosines, places } of parts) {
      const partScore = agreement * (scores[row] ?? 0)
      const cosine = cosines[row] ?? 0
      partWords = Math.max(partWords, partScore)
      partMeaning = Math.max(partMeaning, cosine)
      partPlace = Math.max(partPlace, 1 / (places[row] ?? Number.POSITIVE_INFINITY))
      if (partScore + cosine <= partFit) continue
      partFit = partScore + cosine
      part = text
    }
    const features: Features = {
      coverage: agreement * coverage,
      longWords: words * length,
      partWords,
      plainMeaning: meanings?.plain[row] ?? plainSimilarity / plainBest,
      partMeaning,
      partPlace,
      parameters: parametersOf(listing),
      server: 0,
    }
    return { listing, number, similarity, hasWords: score > 0 || partWords > 0, part, features }
  })
  return withServers(drafts)
}

/** How similar a candidate is to a request. */
interface Nearness {
  readonly listing: Listing
  readonly similarity: number
  readonly plainSimilarity: number
}

/** The meaning of a request for one thing, as its features have it, by row. */
function centredMeanings(
  rows: readonly Nearness[],
  { whole, plain }: RequestVectors,
  vectors: ListingVectors,
): { readonly part: readonly number[]; readonly plain: readonly number[] } {
  const centre = new Centre(
    vectors,
    rows.map(({ listing }) => listing),
  )
  const similarities = rows.map(({ similarity }) => similarity)
  const wholes = centre.cosines(whole, similarities)
  const plainSimilarities = rows.map(({ plainSimilarity }) => plainSimilarity)
  const plains = plain === whole ? wholes : centre.cosines(plain, plainSimilarities)
  const unit = Math.max(LEAST_UNIT, ...plains)
  return {
    part: wholes.map((cosine, row) => Math.max(0, (cosine + (plains[row] ?? 0)) / 2)),
    plain: plains.map((cosine) => cosine / unit),
  }
}

/** How much meaning and words count for the order of the listings within one part. */
const PART_MEANING = 0.6
const PART_WORDS = 0.4

/** What one part of a request says about each candidate, by row. */
class PartPlaces {
  readonly text: string
  readonly words: readonly number[]
  readonly cosines: readonly number[]
  /** From 1, the best. */
  readonly places: readonly number[]

  constructor({ text, vector, scores }: PartView, listings: readonly Listing[], vectors: ListingVectors) {
    this.text = text
    this.words = listings.map((listing) => scores.get(listing) ?? 0)
    this.cosines = listings.map((listing) => (vector === undefined ? 0 : vectors.similarity(vector, listing)))
    const unit = PART_MEANING / Math.max(LEAST_UNIT, ...this.cosines)
    const fits = this.cosines.map((cosine, row) => unit * cosine + PART_WORDS * (this.words[row] ?? 0))
    const places: number[] = []
    for (const [at, row] of [...fits.keys()].sort((a, b) => (fits[b] ?? 0) - (fits[a] ?? 0)).entries())
      places[row] = at + 1
    this.places = places
  }
}

/** Adds what the best match of a candidate's server says about it. */
function withServers(drafts: readonly Candidate[]): Candidate[] {
  const bests = new Map<string, number>()
  let top = 0
  for (const { listing, features } of drafts) {
    const fit = fitOf(features)
    top = Math.max(top, fit)
    if (listing.source.kind === 'builtin') continue
    const source = sourceKey(listing.source)
    bests.set(source, Math.max(bests.get(source) ?? 0, fit))
  }
  if (top === 0) return [...drafts]
  return drafts.map((draft) => {
    const best = bests.get(sourceKey(draft.listing.source)) ?? 0
    return { ...draft, features: { ...draft.features, server: best / top } }
  })
}

/** A listing that no ranking put forward. */
export function rememberedCandidate(listing: Listing, number: number): Candidate {
  const features: Features = { ...NO_FEATURES, parameters: parametersOf(listing) }
  return { listing, number, features, similarity: 0, hasWords: false, part: undefined }
}

const NO_FEATURES: Features = {
  coverage: 0,
  longWords: 0,
  partWords: 0,
  plainMeaning: 0,
  partMeaning: 0,
  partPlace: 0,
  parameters: 0,
  server: 0,
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

const PARAMETERS = new WeakMap<Listing, number>()

/** How many parameters a listing has, up to eight, on a logarithmic scale. */
function parametersOf(listing: Listing): number {
  const known = PARAMETERS.get(listing)
  if (known !== undefined) return known
  const count = Math.min(MAX_PARAMETERS, parameterTexts(listing.inputSchema).names.length)
  const parameters = Math.log(1 + count) / Math.log(1 + MAX_PARAMETERS)
  PARAMETERS.set(listing, parameters)
  return parameters
}
