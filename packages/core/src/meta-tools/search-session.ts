import type { SEARCH_TOOL_NAMES } from '../names.ts'
import type { ServerStatus } from '../registry/server-directory.ts'
import type { SearchMatch, SearchOptions, SearchResult } from '../search/search-result.ts'
import type { ToolDefinition } from '../tool.ts'
import type { ToolTypes } from './tool-types.ts'

/** Which of the three search meta-tools a session shows. */
export type SearchToolName = (typeof SEARCH_TOOL_NAMES)[number]

/** one-step: a query activates what it finds. two-step: a query lists, a name activates. */
export type SearchStyle = 'one-step' | 'two-step'

/** The outcome of activating: what is callable now, what was evicted, and which names are unknown or not permitted. */
export interface ActivationReport {
  readonly activated: readonly string[]
  readonly evicted: readonly string[]
  readonly missing: readonly string[]
}

/** What a search among deferred tools found. */
export interface DeferredResult extends Omit<SearchResult, 'advice'> {
  /** The first matches of all, if `matches` are a later page. */
  readonly leaders: readonly SearchMatch[]
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

/** Where a tool comes from. */
export interface Origin {
  /** The key of its source. */
  readonly source: string
  /** Whether somebody chose to trust that source. */
  readonly isApproved: boolean
}

/** The part of a session that its meta-tools use. Implemented by `SearchScope`. */
export interface SearchSession {
  readonly sessionId: string
  /** Searches what is deferred: what the surface shows anyway takes no place among the matches. */
  searchDeferred(query: string, options: SearchOptions): Promise<DeferredResult>
  activate(names: readonly string[]): Promise<ActivationReport>
  /** Returns the definition a name means, however it is written; undefined when it is unknown, denied or unavailable. */
  describe(name: string): ToolDefinition | undefined
  /** The types of tools as scripts call them, by name; empty where there are no scripts. */
  typesOf(names: readonly string[]): Promise<ReadonlyMap<string, ToolTypes>>
  /** Records that the answer shows these definitions as a whole: from then on, the schema decides which arguments pass. */
  noteSeen(definitions: readonly ToolDefinition[]): void
  /** Returns about how many tokens the definition of a registered tool takes, counted once per tool. */
  tokensOf(name: string): number
  isActive(name: string): boolean
  /** Whether the next request of this conversation declares the tool with its whole schema. */
  isDeclared(name: string): boolean
  /** Where a tool comes from; undefined when it is unknown. */
  originOf(name: string): Origin | undefined
  /** Whether the model was shown a tool of this name that no longer exists. */
  isGone(name: string): boolean
  /** Returns all tools that share a bare name; else a few names close to an unknown one. */
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
