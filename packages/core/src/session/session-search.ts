import type { CallScope } from '../call/call-scope.ts'
import type { DeferredResult } from '../meta-tools/search-session.ts'
import type { ContextMemory } from '../search/memory/usage-memory.ts'
import type { SearchOptions, SearchResult } from '../search/search-result.ts'
import type { CallResult, ToolCall } from '../tool.ts'
import type { SearchHistory, SessionSearchOptions } from './search-history.ts'
import type { SessionSettings } from './settings.ts'
import type { TurnHints } from './turn-hints.ts'

/** The searches of one session. What they need is loaded with the first one. */
export class SessionSearch {
  readonly #options: SessionSearchOptions
  #history: SearchHistory | undefined
  #hints: Promise<TurnHints> | undefined

  constructor(options: SessionSearchOptions) {
    this.#options = options
  }

  /** The messages with the hints of this conversation. */
  async hinted<Message>(messages: readonly Message[]): Promise<readonly Message[]> {
    this.#hints ??= this.#openHints()
    return (await this.#hints).added(messages)
  }

  /** Finds tools the session may use, shown or not. */
  async all(query: string, options: SearchOptions): Promise<SearchResult> {
    return (await this.#open()).all(query, options)
  }

  /** Finds deferred tools, and names shown ones that fit as well. */
  async deferred(query: string, options: SearchOptions): Promise<DeferredResult> {
    return (await this.#open()).deferred(query, options)
  }

  /** Whether there are searches that calls may have served. */
  get isLearning(): boolean {
    return this.#history?.isLearning === true
  }

  /** Notes which calls were ok, and teaches memory. Never rejects. */
  async called(
    calls: readonly ToolCall[],
    results: readonly CallResult[],
    scope: Pick<CallScope, 'resolve'>,
  ): Promise<void> {
    await this.#history?.called(calls, results, scope)
  }

  async #openHints(): Promise<TurnHints> {
    const { SessionHints, TurnHints } = await import('./turn-hints.ts')
    return new TurnHints(new SessionHints(await this.#open()))
  }

  async #open(): Promise<SearchHistory> {
    const { SearchHistory } = await import('./search-history.ts')
    const memory = await memoryOf(this.#options.settings)
    this.#history ??= new SearchHistory(this.#options, memory)
    return this.#history
  }
}

/** What searches with these settings may learn from. */
export async function memoryOf(settings: SessionSettings): Promise<ContextMemory | undefined> {
  const { memory } = settings
  return memory ? (await import('./memory-part.ts')).memoryPart({ ...settings, memory }) : undefined
}
