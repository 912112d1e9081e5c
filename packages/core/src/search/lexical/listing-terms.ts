import { isRecord } from '../../json.ts'
import { sourceName } from '../../names.ts'
import type { JsonSchema, Listing } from '../../tool.ts'
import { charactersOf, eachWord, STOP_WORDS } from './text-words.ts'

/** Maximum times that a repeated word counts per field, so that stuffing gains little. */
const MAX_REPEATS = 5

/** The weighted words of one listing: each word's sum over the fields, and a bit per field that contains it. */
export type ListingTerms = ReadonlyMap<string, { frequency: number; fields: number }>

/**
 * Reads a listing into weighted words: each occurrence counts its field's weight, less in an unusually long field.
 * Equal listings give equal words, so that what was added can be removed again.
 */
export function listingTerms(listing: Listing): ListingTerms {
  const terms = new Map<string, { frequency: number; fields: number }>()
  const texts = fieldTexts(listing)
  for (const [at, field] of FIELDS.entries()) {
    const text = texts[at] ?? ''
    if (text === '') continue
    const counts = new Map<string, number>()
    let length = 0
    eachWord(text, (word) => {
      if (!field.keepsStopWords && STOP_WORDS.has(word)) return true
      counts.set(word, (counts.get(word) ?? 0) + 1)
      for (const character of charactersOf(word)) counts.set(character, 1)
      return ++length < field.maxWords
    })
    const unit = field.weight / (1 - field.dilution + (field.dilution * length) / field.usualWords)
    for (const [word, count] of counts) {
      const frequency = unit * Math.min(count, MAX_REPEATS)
      const term = terms.get(word)
      if (term === undefined) terms.set(word, { frequency, fields: 1 << at })
      else {
        term.frequency += frequency
        term.fields |= 1 << at
      }
    }
  }
  return terms
}

/** How the lexical index weights one field of a listing. */
export interface Field {
  /** The field's name in reasons. */
  readonly label: string
  /** The weight of one occurrence, relative to one in a description. */
  readonly weight: number
  /** How much a long field dilutes its words: 0 not at all, 1 proportionally. */
  readonly dilution: number
  /**
   * The length at which an occurrence has its full weight. Constant, so that no tool's score depends on others'
   * lengths.
   */
  readonly usualWords: number
  /** Further words are not indexed, so that longer texts gain nothing. */
  readonly maxWords: number
  readonly keepsStopWords: boolean
}

/**
 * The fields, in the order of `fieldTexts`. The values were tuned together on labelled sets (bench/recall.ts); recall
 * is flat around them, so they are round numbers.
 */
export const FIELDS: readonly Field[] = [
  // Authors put the most telling words in the name.
  { label: 'name', weight: 2.5, dilution: 0.4, usualWords: 3, maxWords: 40, keepsStopWords: true },
  // Curated for search by the host, so it weighs as much as a name.
  { label: 'hint', weight: 2.5, dilution: 0.4, usualWords: 5, maxWords: 40, keepsStopWords: true },
  { label: 'description', weight: 1, dilution: 0.5, usualWords: 15, maxWords: 200, keepsStopWords: false },
  // Short and repeated all over a server (`id`, `query`), so they only break near-ties.
  {
    label: 'parameter names',
    weight: 0.5,
    dilution: 0.5,
    usualWords: 4,
    maxWords: 100,
    keepsStopWords: false,
  },
  { label: 'parameters', weight: 0.3, dilution: 0.5, usualWords: 20, maxWords: 200, keepsStopWords: false },
  // Shared by all tools of a server: enough to select the server, and equal within it.
  { label: 'server', weight: 1.5, dilution: 0.3, usualWords: 2, maxWords: 20, keepsStopWords: true },
]

/** The texts of a listing, one per entry of `FIELDS`. */
export function fieldTexts(listing: Listing): string[] {
  const parameters = parameterTexts(listing.inputSchema)
  return [
    listing.title === undefined ? listing.ownName : `${listing.ownName} ${listing.title}`,
    listing.searchHint ?? '',
    listing.description,
    parameters.names.join(' '),
    parameters.texts.join(' '),
    sourceName(listing.source),
  ]
}

/** Limits of the walk: real schemas have up to 84,000 characters, and a schema object may contain itself. */
const MAX_DEPTH = 6
const MAX_NODES = 400

const BRANCHES = ['anyOf', 'oneOf', 'allOf']

/** A schema's parameter names and the texts that explain them. */
export interface ParameterTexts {
  readonly names: readonly string[]
  readonly texts: readonly string[]
}

export function parameterTexts(schema: JsonSchema): ParameterTexts {
  const names: string[] = []
  const texts: string[] = []
  new ParameterWalk(
    (name) => names.push(name),
    (text) => texts.push(text),
  ).visit(schema, 0)
  return { names, texts }
}

/**
 * Visits parameter names, descriptions and allowed values, including nested ones. The walk is bounded and tolerates
 * any shape, since servers' schemas are not always valid.
 */
export class ParameterWalk {
  readonly #onName: (name: string) => void
  readonly #onText: (text: string) => void
  #nodesLeft = MAX_NODES

  constructor(onName: (name: string) => void, onText: (text: string) => void) {
    this.#onName = onName
    this.#onText = onText
  }

  visit(node: unknown, depth: number): void {
    if (!isRecord(node) || depth > MAX_DEPTH || this.#nodesLeft-- <= 0) return
    const properties = objectOf(node.properties)
    for (const name of Object.keys(properties)) {
      if (this.#nodesLeft <= 0) return
      this.#onName(name)
      this.#visitParameter(properties[name], depth)
    }
    this.visit(node.items, depth + 1)
    for (const keyword of BRANCHES) {
      const branches = node[keyword]
      if (Array.isArray(branches)) for (const branch of branches) this.visit(branch, depth + 1)
    }
  }

  #visitParameter(parameter: unknown, depth: number): void {
    if (!isRecord(parameter)) {
      this.#nodesLeft--
      return
    }
    if (typeof parameter.description === 'string') this.#onText(parameter.description)
    if (Array.isArray(parameter.enum)) {
      for (const value of parameter.enum.slice(0, MAX_NODES))
        if (typeof value === 'string') this.#onText(value)
    }
    this.visit(parameter, depth + 1)
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {}
}
