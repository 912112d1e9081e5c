import { ToolcribError } from '../../errors.ts'
import { isServed, sourceName, withoutHidden } from '../../names.ts'
import { cutText } from '../../text.ts'
import type { Listing } from '../../tool.ts'
import type { ExactNames } from './exact-names.ts'

/** A parsed query. */
export interface Query {
  /** The query as written. */
  readonly text: string
  readonly kind: 'select' | 'keyword' | 'regex'
  /** Names in `select:A,B`. */
  readonly names: readonly string[]
  /** Free words to rank, as written. */
  readonly words: readonly string[]
  /** `+word`: must occur in name, description or hint; a filter only. */
  readonly required: readonly string[]
  /** `-word`: must not occur. */
  readonly excluded: readonly string[]
  /** `server:github` */
  readonly servers: readonly string[]
  /** `"a phrase"`: must occur as written; its words are ranked too. */
  readonly phrases: readonly string[]
  /** `/pattern/` */
  readonly pattern?: string
}

/** Maximum characters read of a query; no real request is longer. */
const MAX_LENGTH = 4_000

/** Hidden characters do not count, but are not read without end either. */
const MAX_WRITTEN = 10 * MAX_LENGTH

/** Maximum words to rank and filters of each kind to apply; further ones are ignored. */
const MAX_WORDS = 256
const MAX_FILTERS = 16

/**
 * With more words than this outside the quotes, the query is a sentence, and its quotes are quotations: "send a
 * message saying "hello" to Ann" does not look for a tool that says hello.
 */
const MAX_WORDS_BESIDE_PHRASE = 4

/** A quoted text with more words than this is a sentence, not a phrase to match. */
const MAX_PHRASE_WORDS = 6

/**
 * Parses the query language: `select:A,B`, words, `+word`, `-word`, `server:github`, `"a phrase"`, `/regex/`. Text
 * that merely contains punctuation stays words: `-` and `+` count only at the start of a word and before a letter.
 *
 * With `as: 'pattern'`, text without slashes is a pattern too; filters at its ends stay filters.
 *
 * Reads the first 4,000 characters and 256 words, and 16 filters of each kind. A filter without a letter or digit
 * (`-_`, `+"-"`) is ignored.
 *
 * Throws `query-invalid` if nothing is left to search for: an empty query, or only `-word`.
 */
export function parseQuery(text: string, options?: { as?: 'words' | 'pattern' }): Query {
  if (typeof text !== 'string') throw invalid('the query is not a string')
  if (options?.as !== 'pattern' && text.length <= MAX_LENGTH && PLAIN_WORDS.test(text)) {
    return { ...EMPTY, text, kind: 'keyword', words: text.trim().split(/\s+/, MAX_WORDS) }
  }
  const readable = readPart(withoutHidden(text.slice(0, MAX_WRITTEN)))
    .replace(/[“”„]/g, '"')
    .trim()
  if (readable === '') throw invalid('the query is empty')

  const names = selectedNames(readable)
  if (names !== undefined) return { ...EMPTY, text, kind: 'select', names }

  const { filters, body } = peelFilters(readable)
  if (isPattern(body) || (options?.as === 'pattern' && body !== '')) {
    const pattern = isPattern(body) ? body.slice(1, body.lastIndexOf('/')) : body
    return { ...EMPTY, ...readWords(filters), text, kind: 'regex', words: [], pattern }
  }

  const query: Query = { ...EMPTY, ...readWords(readable), text, kind: 'keyword' }
  if (query.words.length + query.servers.length + query.required.length > 0) return query
  throw invalid(
    query.excluded.length > 0 ? 'the query only excludes words (-word)' : 'the query contains no word',
  )
}

/** The part of a query that is read: its start. */
export function readPart(text: string): string {
  return cutText(text, MAX_LENGTH)
}

// Most queries contain only words and need no further parsing.
const PLAIN_WORDS = /^\s*[A-Za-z0-9][A-Za-z0-9\s]*$/

const EMPTY = { names: [], words: [], required: [], excluded: [], servers: [], phrases: [] } as const

function invalid(reason: string): ToolcribError {
  return new ToolcribError(
    'query-invalid',
    `${reason}; add words that say what the tool should do, such as "send email", or name tools with select:A,B`,
  )
}

function selectedNames(text: string): string[] | undefined {
  const list = /^select:(.*)$/is.exec(text)?.[1]
  if (list === undefined) return undefined
  const names = list.split(',').map((name) => name.trim())
  const given = [...new Set(names.filter((name) => name !== ''))]
  if (given.length === 0) throw invalid('select: names no tool')
  return given
}

function isPattern(body: string): boolean {
  return /^\/.+\/i?$/s.test(body)
}

// `-5` and `+1` are numbers; `+2fa` is a word.
const FILTER = /^(?:server:[^\s"]|[+-]\p{N}*[\p{L}_])\S*$/iu

/** Separates the filters at both ends of a text from the part between them. */
function peelFilters(text: string): { filters: string; body: string } {
  if (isPattern(text)) return { filters: '', body: text }
  const tokens = text.split(/\s+/)
  let start = 0
  while (start < tokens.length && FILTER.test(tokens[start] ?? '')) start++
  let end = tokens.length
  // `-c/` ends a pattern, not the query.
  while (end > start && FILTER.test(tokens[end - 1] ?? '') && !/\/i?$/.test(tokens[end - 1] ?? '')) end--
  const filters = [...tokens.slice(0, start), ...tokens.slice(end)].join(' ')
  return { filters, body: between(text, tokens, start, end) }
}

/** The text of `tokens[start..end)` with its original spaces, which may matter to a pattern. */
function between(text: string, tokens: readonly string[], start: number, end: number): string {
  let from = 0
  for (const token of tokens.slice(0, start)) from = text.indexOf(token, from) + token.length
  let to = text.length
  for (const token of tokens.slice(end).reverse()) to = text.lastIndexOf(token, to - token.length)
  return text.slice(from, to).trim()
}

// A quoted text with its operator, or any text between two spaces.
const TOKEN = /(server:|[+-])?"([^"]+)"|\S+/giu

function readWords(text: string): Pick<Query, 'words' | 'required' | 'excluded' | 'servers' | 'phrases'> {
  const words: string[] = []
  const required: string[] = []
  const excluded: string[] = []
  const servers: string[] = []
  const phrases: string[] = []
  let quotedWords = 0
  for (const [token, operator, quoted] of text.matchAll(TOKEN)) {
    if (quoted !== undefined) {
      const phrase = quoted.trim()
      if (!isWord(phrase)) continue
      if (operator === '+') required.push(phrase)
      else if (operator === '-') excluded.push(phrase)
      else if (operator !== undefined) servers.push(phrase)
      else {
        const inside = phrase.split(/\s+/).map(trimWord).filter(isWord)
        words.push(...inside)
        quotedWords += inside.length
        if (inside.length > 0 && inside.length <= MAX_PHRASE_WORDS) phrases.push(phrase)
      }
      continue
    }
    if (FILTER.test(token)) {
      const word = trimWord(token.slice(1))
      if (token.startsWith('+')) required.push(...[word].filter(isWord))
      else if (token.startsWith('-')) excluded.push(...[word].filter(isWord))
      else servers.push(...token.slice('server:'.length).split(',').filter(isWord))
      continue
    }
    const word = trimWord(token)
    if (isWord(word)) words.push(word)
  }
  const isSentence = words.length - quotedWords > MAX_WORDS_BESIDE_PHRASE
  return {
    words: words.slice(0, MAX_WORDS),
    required: required.slice(0, MAX_FILTERS),
    excluded: excluded.slice(0, MAX_FILTERS),
    servers: servers.slice(0, MAX_FILTERS),
    phrases: isSentence ? [] : phrases.slice(0, MAX_FILTERS),
  }
}

/** Whether a query has filters beside its words. */
export function hasFilters({ required, excluded, servers, phrases }: Query): boolean {
  return required.length + excluded.length + servers.length + phrases.length > 0
}

/** The text of a query without filters, as far as it is read and without hidden characters; quoted texts stay. */
export function freeText(query: Query): string {
  const text = readPart(withoutHidden(query.text))
  if (!hasFilters(query)) return text
  const free = [...text.matchAll(TOKEN)].filter(([token, operator]) => !operator && !FILTER.test(token))
  return free.map(([token]) => token).join(' ')
}

/** A word without surrounding punctuation. */
function trimWord(token: string): string {
  return token.replace(/^[^\p{L}\p{N}\p{M}\p{S}_/.]+|[^\p{L}\p{N}\p{M}\p{S}_#*]+$/gu, '')
}

function isWord(token: string): boolean {
  return /[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(token)
}

/** Whether a listing may be found. */
export type Accepts = (listing: Listing) => boolean

/** Adds the filters of a query to `accepts`; returns `accepts` itself if there are none. */
export function filtered(query: Query, accepts: Accepts, server?: string): Accepts {
  const filters: Accepts[] = []
  if (server !== undefined) filters.push(isOfServer([server]))
  if (query.servers.length > 0) filters.push(isOfServer(query.servers))
  for (const text of [...query.required, ...query.phrases]) filters.push(holds(text))
  for (const text of query.excluded) {
    const isHeld = holds(text)
    filters.push((listing) => !isHeld(listing))
  }
  if (filters.length === 0) return accepts
  // The caller's check runs last, since it may be expensive.
  return (listing) => filters.every((filter) => filter(listing)) && accepts(listing)
}

/** Listings that a query names: as a whole, in a comma-separated list, or by a word that can only be a name. */
export function namedListings(query: Query, names: ExactNames, accepts: Accepts): ReadonlySet<Listing> {
  // A pattern itself says what matches.
  if (query.kind === 'regex') return new Set()
  const named = new Set(names.find(query.words.join(' '), accepts))
  const text = readPart(query.text)
  if (text.includes(',')) {
    const found = text.split(',').map((piece) => names.find(piece.trim(), accepts))
    if (found.every((listings) => listings.length > 0)) for (const listing of found.flat()) named.add(listing)
  }
  if (!/[_./]/.test(text)) return named
  for (const word of query.words) {
    if (!/\p{L}[_./]+\p{L}/u.test(word)) continue
    for (const listing of names.find(word, accepts)) named.add(listing)
  }
  return named
}

export function isOfServer(servers: readonly string[]): Accepts {
  const wanted = new Set(servers.map((server) => server.toLowerCase()))
  return ({ source }) => isServed(source) && wanted.has(sourceName(source).toLowerCase())
}

/** Whether name, description or hint contain a text, ignoring case; `pull request` matches `pull_request`. */
export function holds(text: string): Accepts {
  const source = text
    .normalize('NFC')
    .split(/[\s_.\-/]+/)
    .filter((part) => part !== '')
    .map(escaped)
    .join('[\\s_.\\-/]+')
  if (source === '') return () => false
  const pattern = new RegExp(source, 'iu')
  return ({ name, description, searchHint }) =>
    pattern.test(name.replace(/^(mcp|openapi)__/, '').normalize('NFC')) ||
    pattern.test(description.normalize('NFC')) ||
    (searchHint !== undefined && pattern.test(searchHint.normalize('NFC')))
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}
