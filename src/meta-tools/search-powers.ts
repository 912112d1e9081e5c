import type { ServerStatus } from '../registry/server-directory.ts'
import type { SearchOptions, SearchResult } from '../search/search-result.ts'
import type { ToolDefinition } from '../tool.ts'

/** Which of the three search meta-tools a session shows. */
export type SearchToolName = 'tool_search' | 'tool_search_regex' | 'ToolSearch'

/** one-step: a query activates what it finds. two-step: a query lists, a name activates. */
export type SearchStyle = 'one-step' | 'two-step'

/** What came of activating: what is callable now, what had to go, and which names are not there or not permitted. */
export interface ActivationReport {
  readonly activated: readonly string[]
  readonly evicted: readonly string[]
  readonly missing: readonly string[]
}

/** What a search tool may do: the part of a session that it is bound to. */
export interface SearchPowers {
  search(query: string, options: SearchOptions): Promise<SearchResult>
  activate(names: readonly string[]): Promise<ActivationReport>
  /** The definition a name means, however it is written; undefined when it is not there for this session. */
  describe(name: string): ToolDefinition | undefined
  isActive(name: string): boolean
  /** Names close to one that is not there. */
  suggest(name: string): readonly string[]
  /** MCP servers this session may use. */
  servers(): readonly string[]
  /** Deferrable tools permitted to this session, active or not. */
  deferrableCount(): number
  /** Evictions the model has not been told of yet. */
  takeEvictions(): readonly string[]
  /** Waits a little for servers that are connecting; answers those that still are, and those that failed. */
  waitForServers(): Promise<readonly ServerStatus[]>
}

/** What shapes a search tool besides the session. */
export interface SearchToolOptions {
  /** What lies behind the search, for the tool's description. */
  readonly behind: string
  /** True when found tools are called through `call_tool`. */
  readonly isDispatch: boolean
  /** What an answer may take. */
  readonly maxAnswerTokens: number
}

/** How the model goes on once it has found a tool. */
export function howToCall({ isDispatch }: Pick<SearchToolOptions, 'isDispatch'>): string {
  return isDispatch ? 'call it with call_tool { name, arguments }' : 'call it directly by its name'
}
