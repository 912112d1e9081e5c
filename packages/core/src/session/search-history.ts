import type { CallScope } from '../call/call-scope.ts'
import { describeError } from '../errors.ts'
import type { Emit } from '../events.ts'
import type { DeferredResult } from '../meta-tools/search-session.ts'
import { sourceKey } from '../names.ts'
import type { Entry } from '../registry/entry.ts'
import type { ContextMemory } from '../search/memory/usage-memory.ts'
import { isPoor, type SearchMatch, type SearchOptions, type SearchResult } from '../search/search-result.ts'
import { type FindRequest, SessionAudience, type ToolFinder } from '../search/tool-finder.ts'
import { type Schedule, within } from '../time.ts'
import type { CallResult, ToolCall } from '../tool.ts'
import type { ActiveTools } from './active-tools.ts'
import { asksTheSame, union } from './search-again.ts'
import type { SessionViews } from './session-views.ts'
import type { SessionSettings } from './settings.ts'

/** What a session searches with. */
export interface SessionSearchOptions {
  readonly sessionId: string
  readonly settings: SessionSettings
  readonly views: SessionViews
  readonly active: ActiveTools
  readonly finder: ToolFinder
  readonly now: () => number
  /** Timers that do not keep the process alive. */
  readonly background: Schedule
  readonly emit: Emit
}

/** The maximum number of already shown tools that a search names. */
const MAX_ALREADY_VISIBLE = 5

/** Searches that a call or a further search may refer to, and for how long. */
const MAX_RECENT = 8
const RECENT_MS = 30 * 60_000

/** How long writing to memory may delay the end of a session. */
const LEARN_MS = 5_000

/** A search of this session, and which of its tools were called since. */
interface Searched {
  readonly query: string
  readonly vector: Float32Array | undefined
  readonly names: readonly string[]
  readonly at: number
  /** Whether the model read the answer. It did not search for a hint, or when the host searched. */
  readonly isRead: boolean
  /** The tools that were called with success since. */
  readonly succeeded: Set<string>
}

/**
 * The searches of one session. A call that succeeds after a search returned its tool teaches memory, if there is one. A
 * second search for the same thing in other words returns what the first one did not.
 */
export class SearchHistory {
  readonly options: SessionSearchOptions
  readonly #memory: ContextMemory | undefined
  #recent: readonly Searched[] = []

  constructor(options: SessionSearchOptions, memory: ContextMemory | undefined) {
    this.options = options
    this.#memory = memory
  }

  /** Finds tools the session may use, shown or not. */
  async all(query: string, options: SearchOptions): Promise<SearchResult> {
    const { result, vector } = await this.options.finder.find(this.request(query, options, 'all'))
    this.note({ query, vector, matches: result.matches, isRead: false })
    return result
  }

  /** Finds deferred tools, and names shown ones that fit as well. */
  async deferred(query: string, options: SearchOptions): Promise<DeferredResult> {
    const { views, finder } = this.options
    const request = this.request(query, options, 'deferred')
    const { result, vector, leaders = [] } = await finder.find(request)
    const earlier = this.#earlier(query, vector, options)
    const found = { ...(await this.#further(result, request, earlier)), leaders }
    this.note({ query, vector, matches: found.matches, isRead: true })
    if (views.current().shown.length === 0) return { ...found, alreadyVisible: [] }
    const shown = await finder.rank({
      ...request,
      offset: 0,
      limit: MAX_ALREADY_VISIBLE,
      audience: new SessionAudience(views, 'shown'),
    })
    return withVisible(found, shown.result)
  }

  /** Whether there are searches that calls may have served. */
  get isLearning(): boolean {
    return this.#current().length > 0
  }

  /** Notes which calls were ok, and teaches memory. Never rejects. */
  async called(
    calls: readonly ToolCall[],
    results: readonly CallResult[],
    scope: Pick<CallScope, 'resolve'>,
  ): Promise<void> {
    const targets = results.map(({ result }, at) => {
      const call = calls[at]
      return result.ok && call ? scope.resolve(call) : undefined
    })
    await Promise.all(targets.map((target) => target && this.#succeeded(target.entry)))
  }

  async #succeeded({ name, source }: Pick<Entry, 'name' | 'source'>): Promise<void> {
    const searches = this.#current().filter(({ names }) => names.includes(name))
    const search = searches.at(-1)
    if (search === undefined || search.succeeded.has(name)) return
    for (const each of searches) each.succeeded.add(name)
    const { emit, background, sessionId } = this.options
    const { query, vector, names, succeeded } = search
    if (this.#memory === undefined || vector === undefined) return
    const passedOver = names.slice(0, names.indexOf(name)).filter((other) => !succeeded.has(other))
    const lesson = { tool: name, source: sourceKey(source), vector, text: query, passedOver }
    try {
      await within(LEARN_MS, this.#memory.learn(lesson), background)
    } catch (error) {
      const text = `the memory of past use: ${describeError(error)}`
      emit({ type: 'save-failed', error: text, sessionId })
    }
  }

  /** A search from this session's point of view. */
  request(query: string, options: SearchOptions, among: 'all' | 'deferred'): FindRequest {
    const { views, settings, sessionId } = this.options
    const audience = new SessionAudience(views, among)
    return { ...options, query, searcher: settings.searcher, sessionId, audience, memory: this.#memory }
  }

  /** Earlier searches of the model for the same thing in other words whose tools were not used. */
  #earlier(
    query: string,
    vector: Float32Array | undefined,
    { offset = 0, server }: SearchOptions,
  ): readonly Searched[] {
    if (this.options.settings.searchAgain === 'all' || offset > 0 || server !== undefined) return []
    return this.#current().filter(
      (search) => search.isRead && search.succeeded.size === 0 && asksTheSame({ query, vector }, search),
    )
  }

  /**
   * What fits this request or the earlier ones, without active tools that those returned, each as likely as with them. If
   * nothing else fits, those are returned again. Total and unmatched words are those of all that fits.
   */
  async #further(
    result: SearchResult,
    request: FindRequest,
    earlier: readonly Searched[],
  ): Promise<SearchResult & Pick<DeferredResult, 'alreadyFound'>> {
    if (earlier.length === 0 || result.kind !== 'keyword') return result
    const { active, finder } = this.options
    // What is not active cannot be called: it was evicted, or too weak to be activated.
    const seen = new Set(earlier.flatMap(({ names }) => names).filter((name) => active.has(name)))
    if (seen.size === 0 || isAnotherRequest(result, seen, earlier)) return result
    const { limit = 5 } = request
    const queries = [request.query, ...earlier.map(({ query }) => query)]
    const lists: (readonly SearchMatch[])[] = []
    for (const query of new Set(queries)) {
      const found = await finder.rank({ ...request, query, limit: limit + seen.size })
      lists.push(found.result.matches.filter(({ name }) => !seen.has(name)))
    }
    const matches = union(lists).slice(0, limit)
    if (matches.length === 0) return result
    const alreadyFound = result.matches.map(({ name }) => name).filter((name) => seen.has(name))
    const total = Math.max(result.total, matches.length + alreadyFound.length)
    const others = { ...result, total, matches, alreadyFound }
    if (result.answerable === undefined) return others
    const answerable = matches.reduce((sum, { score }) => sum + score, 0)
    return { ...others, confidence: matches[0]?.score ?? 0, answerable }
  }

  /** Records a search that calls may serve. */
  note({
    matches,
    ...search
  }: Pick<Searched, 'query' | 'vector' | 'isRead'> & { readonly matches: readonly SearchMatch[] }): void {
    if (matches.length === 0) return
    const names = matches.map(({ name }) => name)
    const at = this.options.now()
    this.#recent = [...this.#current(), { ...search, names, at, succeeded: new Set<string>() }].slice(
      -MAX_RECENT,
    )
  }

  #current(): readonly Searched[] {
    const now = this.options.now()
    return this.#recent.filter(({ at }) => now - at < RECENT_MS)
  }
}

/**
 * Whether a request that sounds like earlier ones asks for something else, as "close a ticket" does after "open a ticket": the
 * tool that fits it best was found before, and for none of those as the best.
 */
function isAnotherRequest(
  { matches: [best] }: SearchResult,
  seen: ReadonlySet<string>,
  earlier: readonly Searched[],
): boolean {
  return best !== undefined && seen.has(best.name) && earlier.every(({ names }) => names[0] !== best.name)
}

/** What a search among the deferred found, with what the surface shows anyway. */
function withVisible(
  { missing, unmatchedTerms, ...found }: Omit<DeferredResult, 'alreadyVisible'>,
  shown: SearchResult,
): DeferredResult {
  // What only one of the two searches misses was found by the other.
  const stillMissing = missing?.filter((name) => shown.missing?.includes(name))
  const stillUnmatched = unmatchedTerms?.filter((term) => shown.unmatchedTerms?.includes(term))
  const best = Math.max(0, ...found.matches.map(({ score }) => score))
  // Shown tools fit the query as well as what was found, or better; a stray word in common is not worth naming.
  const fitting = isPoor(shown) ? [] : shown.matches.filter(({ score }) => score >= best / 2)
  return {
    ...found,
    ...(stillMissing?.length ? { missing: stillMissing } : {}),
    ...(stillUnmatched?.length ? { unmatchedTerms: stillUnmatched } : {}),
    alreadyVisible: fitting.map(({ name }) => name),
  }
}
