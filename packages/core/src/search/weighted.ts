import { splitName } from '../names.ts'
import type { Listing } from '../tool.ts'
import type { Query } from './query/query.ts'
import type { Ranked, Ranking, RankOptions, Searcher, SearchIndex } from './searcher.ts'
import { topMatches } from './top-matches.ts'

// A full name part is a strong signal, a substring of one a weak one, and a curated hint says more than a
// description. MCP names weigh a little more, since their parts include the server.
const NAME_PART_EQUAL = { mcp: 12, other: 10 }
const NAME_PART_CONTAINS = { mcp: 6, other: 5 }
const HINT_CONTAINS = 4
const DESCRIPTION_CONTAINS = 2

/** Tool names have a handful of words. A name with more parts is a list of search terms and does not count. */
const MAX_NAME_PARTS = 12

/** Maximum words of a query and characters of a description that count. */
const MAX_WORDS = 64
const MAX_DESCRIPTION = 2_000

/**
 * Adds up fixed points: for each word the best name part once (equal 10, substring 5; 12 and 6 for MCP tools), plus 4
 * if the hint contains the word, plus 2 if the description does. Easy to predict; made for small catalogues.
 *
 * A name with more than 12 parts, not counting its server's, is ignored. Only the first 2,000 characters of a
 * description and the first 64 words of a query count.
 */
export function weighted(): Searcher {
  return { name: 'weighted', order: 'fixed', open: () => new WeightedIndex() }
}

interface IndexedListing {
  readonly listing: Listing
  readonly parts: readonly string[]
  readonly hint: string
  readonly description: string
}

class WeightedIndex implements SearchIndex {
  readonly #sources = new Map<string, readonly IndexedListing[]>()

  update(source: string, listings: readonly Listing[]): void {
    if (listings.length === 0) {
      this.#sources.delete(source)
      return
    }
    const known = new Map(this.#sources.get(source)?.map((entry) => [entry.listing, entry]))
    this.#sources.set(
      source,
      listings.map((listing) => known.get(listing) ?? toEntry(listing)),
    )
  }

  rank(query: Query, { limit, accepts }: RankOptions): Ranking {
    const words = query.words.slice(0, MAX_WORDS)
    const terms = words.length === 1 ? words.flatMap(partsOf).slice(0, MAX_WORDS) : words.map(wholeOf)
    const unmatched = new Set(words)
    const matches: { listing: Listing; score: number; entry: IndexedListing }[] = []
    for (const entries of this.#sources.values()) {
      for (const entry of entries) {
        if (!accepts(entry.listing)) continue
        let score = 0
        for (const term of terms) {
          const points = pointsOf(term.needle, entry)
          if (points === 0) continue
          score += points
          unmatched.delete(term.word)
        }
        if (score > 0) matches.push({ listing: entry.listing, score, entry })
      }
    }
    const ranked = topMatches(matches, limit).map(
      ({ listing, score, entry }): Ranked => ({ listing, score, reasons: reasonsOf(terms, entry) }),
    )
    return {
      total: matches.length,
      matches: ranked,
      unmatchedTerms: [...unmatched],
    }
  }
}

interface Term {
  readonly word: string
  readonly needle: string
}

function wholeOf(word: string): Term {
  return { word, needle: word.toLowerCase() }
}

/** A query of one word may be a name shared by several tools, such as `send_message`: its parts count. */
function partsOf(word: string): Term[] {
  const needles = word
    .toLowerCase()
    .replace(/^(mcp|openapi)__/, '')
    .split(/[_.\-/]+/)
  return needles.filter((needle) => needle !== '').map((needle) => ({ word, needle }))
}

function toEntry(listing: Listing): IndexedListing {
  return {
    listing,
    parts: nameParts(listing),
    hint: (listing.searchHint ?? '').toLowerCase(),
    description: listing.description.slice(0, MAX_DESCRIPTION).toLowerCase(),
  }
}

function nameParts({ name, ownName }: Listing): string[] {
  return splitName(ownName).length > MAX_NAME_PARTS ? [] : splitName(name)
}

function pointsOf(needle: string, entry: IndexedListing): number {
  let points = namePoints(needle, entry)
  if (entry.hint.includes(needle)) points += HINT_CONTAINS
  if (entry.description.includes(needle)) points += DESCRIPTION_CONTAINS
  return points
}

function namePoints(needle: string, { listing, parts }: IndexedListing): number {
  const origin = listing.source.kind === 'mcp' ? 'mcp' : 'other'
  if (parts.includes(needle)) return NAME_PART_EQUAL[origin]
  return parts.some((part) => part.includes(needle)) ? NAME_PART_CONTAINS[origin] : 0
}

function reasonsOf(terms: readonly Term[], entry: IndexedListing): string[] {
  const reasons: string[] = []
  for (const { needle } of terms) {
    if (entry.parts.includes(needle)) reasons.push(`name has "${needle}"`)
    else if (entry.parts.some((part) => part.includes(needle))) reasons.push(`name contains "${needle}"`)
    if (entry.hint.includes(needle)) reasons.push(`hint contains "${needle}"`)
    if (entry.description.includes(needle)) reasons.push(`description contains "${needle}"`)
  }
  return reasons
}
