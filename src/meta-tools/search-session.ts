import type { ServerStatus } from '../registry/server-directory.ts'
import type { SearchMatch, SearchOptions, SearchResult } from '../search/search-result.ts'
import { clipText } from '../text.ts'
import type { Tool, ToolDefinition } from '../tool.ts'
import { clipList } from './answer.ts'

/** Which of the three search meta-tools a session shows. */
export type SearchToolName = 'tool_search' | 'tool_search_regex' | 'ToolSearch'

/** one-step: a query activates what it finds. two-step: a query lists, a name activates. */
export type SearchStyle = 'one-step' | 'two-step'

/** The outcome of activating: what is callable now, what was evicted, and which names are unknown or not permitted. */
export interface ActivationReport {
  readonly activated: readonly string[]
  readonly evicted: readonly string[]
  readonly missing: readonly string[]
}

/** What a search among deferred tools found. */
export interface DeferredResult extends SearchResult {
  /** Tools that fit and that the surface shows anyway. */
  readonly alreadyVisible: readonly string[]
  /** Tools that fit, are active and were returned by an earlier search for the same thing; absent if `matches` has all that fit. */
  readonly alreadyFound?: readonly string[]
}

/** Servers that came or went while a conversation is under way whose first request names the old ones. */
export interface ServerChanges {
  readonly joined: readonly string[]
  readonly left: readonly string[]
}

/** The part of a session that its meta-tools use. Implemented by `Turn`. */
export interface SearchSession {
  readonly sessionId: string
  /** Searches what is deferred: what the surface shows anyway takes no place among the matches. */
  searchDeferred(query: string, options: SearchOptions): Promise<DeferredResult>
  activate(names: readonly string[]): Promise<ActivationReport>
  /** Returns the definition a name means, however it is written; undefined when it is unknown, denied or unavailable. */
  describe(name: string): ToolDefinition | undefined
  /** Returns about how many tokens the definition of a registered tool takes, counted once per tool. */
  tokensOf(name: string): number
  isActive(name: string): boolean
  /** Whether the model was shown a tool of this name that no longer exists. */
  isGone(name: string): boolean
  /** Returns names close to one that is not there. */
  suggest(name: string): readonly string[]
  /** The MCP servers this session may use. */
  serverNames(): readonly string[]
  /** How many deferrable tools this session may use, active or not. */
  deferrableCount(): number
  /** Takes the servers that joined or left and that no answer has named yet. */
  takeServerChanges(): ServerChanges
  /** Takes the evictions that no answer has named yet. */
  takeEvictions(): readonly string[]
  /** Waits a little for servers that are connecting; returns those that still are, and those that failed. */
  waitForServers(): Promise<readonly ServerStatus[]>
}

/** What shapes a search tool besides the session. */
export interface SearchToolOptions {
  /** What lies behind the search, for the tool's description. */
  readonly behind: string
  /** True when found tools are called through `call_tool`. */
  readonly isDispatch: boolean
  /** The size limit of an answer. */
  readonly maxAnswerTokens: number
}

/** How the model goes on once it has found a tool. */
export function howToCall({ isDispatch }: Pick<SearchToolOptions, 'isDispatch'>): string {
  return isDispatch ? 'call it with call_tool { name, arguments }' : 'call it directly by its name'
}

/** How to ask, for every search tool's description and the prompt note. */
export const HOW_TO_ASK = 'Ask in English, with a verb and an object: "create issue", "read spreadsheet".'

/** The part of a match needed to compare it. */
type ScoredMatch = Pick<SearchMatch, 'name' | 'score' | 'fit'>

/** A match below this share of the best score matched only an incidental word. */
const FAR_WEAKER = 0.1

/**
 * The names of the matches worth activating: not those that are far weaker than the best. A tool that passes `+word` and
 * matches nothing else (score 0) is always far weaker than one that matches, but never than another such tool.
 */
export function worthActivating(matches: readonly ScoredMatch[]): readonly string[] {
  const best = Math.max(...matches.map(fitOf))
  const isFarWeaker = (match: ScoredMatch) => fitOf(match) < FAR_WEAKER * best
  return matches.filter((match) => !isFarWeaker(match)).map(({ name }) => name)
}

function fitOf({ fit, score }: ScoredMatch): number {
  return fit ?? score
}

/** Limits the searches per minute of one session; 0 = no limit. */
export class SearchLimit {
  readonly #perMinute: number
  readonly #now: () => number
  #times: number[] = []

  constructor(perMinute: number, now: () => number) {
    this.#perMinute = perMinute
    this.#now = now
  }

  /** The same tool, refusing calls beyond the limit. */
  wrap<Input>(tool: Tool<Input>): Tool<Input> {
    if (this.#perMinute === 0) return tool
    return {
      ...tool,
      execute: (input, ctx) => {
        const waitMs = this.#take()
        if (waitMs === 0) return tool.execute(input, ctx)
        const seconds = Math.ceil(waitMs / 1000)
        const error = `${this.#perMinute} searches a minute is the limit; use the tools you have, or search again in ${seconds} s`
        return { ok: false, code: 'denied', error }
      },
    }
  }

  /** 0 when a search may go ahead now, else how long until the next one may. */
  #take(): number {
    const now = this.#now()
    this.#times = this.#times.filter((time) => now - time < 60_000)
    const [oldest] = this.#times
    if (oldest !== undefined && this.#times.length >= this.#perMinute) return oldest + 60_000 - now
    this.#times.push(now)
    return 0
  }
}

/** The top of a search answer: that no tool fits well, and what an earlier search for the same thing returned. */
export function answerHead({ advice, alreadyFound = [] }: DeferredResult): object {
  return {
    ...(advice === undefined ? {} : { note: clipText(advice, 400) }),
    ...(alreadyFound.length > 0 ? { already_found: clipList(alreadyFound) } : {}),
  }
}

/** The servers that joined or left since the conversation began, as every search answer names them. */
export function serverChanges(session: SearchSession): object {
  const { joined, left } = session.takeServerChanges()
  return {
    ...(joined.length > 0 ? { servers_joined: clipList(joined) } : {}),
    ...(left.length > 0 ? { servers_left: clipList(left) } : {}),
  }
}

/** What a search among the deferred found, with what the surface shows anyway. */
export function withVisible(
  { missing, unmatchedTerms, ...found }: Omit<DeferredResult, 'alreadyVisible'>,
  shown: SearchResult,
): DeferredResult {
  // What only one of the two searches misses, the other has found.
  const stillMissing = missing?.filter((name) => shown.missing?.includes(name))
  const stillUnmatched = unmatchedTerms?.filter((term) => shown.unmatchedTerms?.includes(term))
  const best = Math.max(0, ...found.matches.map(({ score }) => score))
  // Shown tools fit the query as well as what was found, or better; a stray word in common is not worth naming.
  const fitting = shown.matches.filter(({ score }) => score >= best / 2)
  return {
    ...found,
    ...(stillMissing?.length ? { missing: stillMissing } : {}),
    ...(stillUnmatched?.length ? { unmatchedTerms: stillUnmatched } : {}),
    alreadyVisible: fitting.map(({ name }) => name),
  }
}
