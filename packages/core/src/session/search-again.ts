import { cosine } from '../search/memory/episodes.ts'
import type { SearchMatch } from '../search/search-result.ts'

/** From this cosine on, two requests ask for the same thing in other words. */
const SAME_REQUEST_FROM = 0.6

/** From this number of shared words and this share of the shorter one's words on, where there are no vectors. */
const SHARED_FROM = 2
const SAME_WORDS_FROM = 0.5

interface EmbeddedQuery {
  readonly query: string
  readonly vector: Float32Array | undefined
}

/** Whether two requests ask for the same thing in other words; false for the same words. */
export function asksTheSame(one: EmbeddedQuery, other: EmbeddedQuery): boolean {
  const words = wordsOf(one.query)
  const others = wordsOf(other.query)
  if (sameWords(words, others)) return false
  return one.vector !== undefined && other.vector !== undefined
    ? cosine(one.vector, other.vector) >= SAME_REQUEST_FROM
    : sharedCount(words, others) >= SHARED_FROM && overlap(words, others) >= SAME_WORDS_FROM
}

/** Matches of several searches, best first; a tool that several found counts with its best match. */
export function union(lists: readonly (readonly SearchMatch[])[]): readonly SearchMatch[] {
  const best = new Map<string, SearchMatch>()
  for (const match of lists.flat()) {
    const known = best.get(match.name)
    if (known === undefined || known.score < match.score) best.set(match.name, match)
  }
  return [...best.values()].sort((a, b) => b.score - a.score)
}

function wordsOf(query: string): ReadonlySet<string> {
  return new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])
}

function sameWords(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && overlap(a, b) === 1
}

/** The share of the smaller set that is in the other. */
function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  return sharedCount(a, b) / Math.max(1, Math.min(a.size, b.size))
}

function sharedCount(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  return [...a].filter((word) => b.has(word)).length
}
