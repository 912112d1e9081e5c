import { describeError } from '../errors.ts'
import { hashText, isRecord } from '../json.ts'
import { mayBeHinted } from '../search/effects.ts'
import type { SearchHistory } from './search-history.ts'

/**
 * Besides `HINT_LIMITS`: the first match is similar in meaning to this degree, because small talk often shares a word with
 * some tool, and every tool that a hint names has at least this score. Chosen with `npm run bench -- hints`.
 */
export const ALIKE_FROM = 0.45
export const NAMED_FROM = 0.1

/** The characters of a long message that are read: the request is mostly at one of its ends. */
const MAX_START = 600
const MAX_END = 400

/** A message must match this to be searched for. */
const HAS_WORD = /[\p{L}\p{N}]/u

/** How many lines are kept for later requests to repeat byte for byte; the oldest are dropped first. */
const MAX_KEPT = 1_000

/** Finds tools for the words of a user; returns a line that names them, or `''`. */
export interface HintSource {
  hint(text: string): Promise<string>
}

/** Hints from the searches of a session. */
export class SessionHints implements HintSource {
  readonly #history: SearchHistory

  constructor(history: SearchHistory) {
    this.#history = history
  }

  /**
   * Says which deferred tools may fit the words of a user; `''` if none does with some certainty, or if the searcher fails
   * or does not know how certain it is. Never rejects: a turn does not depend on a hint.
   */
  async hint(text: string): Promise<string> {
    const { emit, settings, sessionId } = this.#history.options
    const query = plainRequest(text)
    if (!HAS_WORD.test(query)) return ''
    try {
      return await this.#hintFor(query)
    } catch (error) {
      const { name: searcher } = settings.searcher
      const reason = `no hint: ${describeError(error)}`
      emit({ type: 'search-degraded', searcher, error: reason, sessionId })
      return ''
    }
  }

  async #hintFor(query: string): Promise<string> {
    const { views, active, finder, settings } = this.#history.options
    if (views.current().deferred.size === 0) return ''
    const request = this.#history.request(query, { limit: HINT_LIMITS.most }, 'all')
    const { result, vector, similarity = 0 } = await finder.rank(request)
    const { confidence = 0, matches } = result
    if (confidence < HINT_LIMITS.from || similarity < ALIKE_FROM) return ''
    const { deferred, snapshot } = views.current()
    const fitting = matches.filter(({ name, score }) => {
      const listing = snapshot.get(name)?.listing
      const isNew = score >= NAMED_FROM && deferred.has(name) && !active.has(name)
      return isNew && listing !== undefined && mayBeHinted(listing, query)
    })
    if (fitting.length === 0) return ''
    this.#history.note({ query, vector, matches: fitting, isRead: false })
    const names = fitting.map(({ name }) => name)
    return hintLine(names, settings.searchTool)
  }
}

/**
 * The hints of one conversation: a line after a user's message that names tools which may fit it. A hint is made once,
 * while its message is the newest one, and repeated in every later request: the bytes before the newest message stay as
 * they were, whether the host keeps the message with the line or without it.
 */
export class TurnHints {
  readonly #source: HintSource
  /** By a hash of the message; `''` where there is nothing to say. */
  readonly #lines = new Map<string, string>()

  constructor(source: HintSource) {
    this.#source = source
  }

  /** The messages with their hints. The messages given are not changed. */
  async added<Message>(messages: readonly Message[]): Promise<readonly Message[]> {
    await this.#look(userText(messages.at(-1)))
    return messages.map((message) => {
      const text = userText(message)
      const line = text === undefined ? undefined : this.#lines.get(hashText(text))
      return line ? withLine(message, line) : message
    })
  }

  async #look(text: string | undefined): Promise<void> {
    if (text === undefined || text.includes(HINT_START)) return
    const key = hashText(text)
    if (this.#lines.has(key)) return
    const line = await this.#source.hint(text)
    for (const oldest of this.#lines.keys()) {
      if (this.#lines.size < MAX_KEPT) break
      this.#lines.delete(oldest)
    }
    this.#lines.set(key, line)
  }
}

const HINT_START = 'Tools that may fit: '

/** A hint is given if the first match is right with the probability `from`, and names up to `most` tools. */
export const HINT_LIMITS = { from: 0.4, most: 3 } as const

/** The line that names tools which may fit a request. */
export function hintLine(names: readonly string[], searchTool: string): string {
  return `${HINT_START}${names.join(', ')}; find more with ${searchTool}`
}

/** Marks of a message that contains results of tools. */
const RESULT_KEYS = ['functionResponse', 'toolResult']
const RESULT_TYPES = ['tool_result', 'tool-result', 'function_call_output', 'tool_search_output']

/** The types of parts with a user's text; parts of Gemini and Bedrock have no type. */
const TEXT_TYPES: readonly unknown[] = ['text', 'input_text', undefined]

/**
 * Returns the words of a user's message in the form of any provider: `content` or `parts`, a text or a list of parts.
 * Undefined for other messages, for results of tools, and for a message without words.
 */
export function userText(message: unknown): string | undefined {
  if (!isRecord(message) || message.role !== 'user') return undefined
  const said = message.content ?? message.parts
  if (typeof said === 'string') return said.trim() === '' ? undefined : said
  if (!Array.isArray(said) || said.some(isResult)) return undefined
  const texts = said.filter(isTextPart).map(({ text }) => text)
  return texts.some((text) => text.trim() !== '') ? texts.join('\n') : undefined
}

/** Returns a copy of a user's message with a line after its last words. */
export function withLine<Message>(message: Message, line: string): Message {
  if (!isRecord(message)) return message
  const key = message.content === undefined ? 'parts' : 'content'
  const said = message[key]
  if (typeof said === 'string') return { ...message, [key]: `${said}\n\n${line}` }
  if (!Array.isArray(said)) return message
  const last = said.findLastIndex(isTextPart)
  const parts = said.map((part, at) => (at === last ? { ...part, text: `${part.text}\n\n${line}` } : part))
  return { ...message, [key]: parts }
}

function isTextPart(part: unknown): part is { readonly text: string } {
  return isRecord(part) && typeof part.text === 'string' && TEXT_TYPES.includes(part.type)
}

function isResult(part: unknown): boolean {
  if (!isRecord(part)) return false
  return RESULT_TYPES.includes(String(part.type)) || RESULT_KEYS.some((key) => part[key] !== undefined)
}

/** The words of a message as a query without operators: nobody who writes to a model uses the query language. */
export function plainRequest(text: string): string {
  const start = text.slice(0, MAX_START)
  const end = text.length > MAX_START ? text.slice(Math.max(MAX_START, text.length - MAX_END)) : ''
  return `${start} ${end}`
    .replace(/(^|\s)[+\-/"“„]+/g, '$1')
    .replace(/\b(select|server):/gi, '$1 ')
    .replace(/\p{Surrogate}/gu, '')
    .trim()
}
