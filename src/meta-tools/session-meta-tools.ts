import type { Spill } from '../call/spill.ts'
import type { CompiledPolicy } from '../registry/policy.ts'
import type { ServerDirectory } from '../registry/server-directory.ts'
import type { Tool } from '../tool.ts'
import { callTool } from './call-tool.ts'
import { readResult } from './read-result.ts'
import type { SearchStyle, SearchToolName } from './search-powers.ts'
import { howToCall, type SearchPowers, type SearchToolOptions } from './search-powers.ts'
import { toolSearch } from './tool-search.ts'
import { toolSearchRegex } from './tool-search-regex.ts'
import { toolSearchSelect } from './tool-search-select.ts'
import { waitForServers } from './wait-for-servers.ts'

/** Names no other tool may have. */
export const META_TOOL_NAMES = [
  'tool_search',
  'tool_search_regex',
  'ToolSearch',
  'call_tool',
  'read_result',
  'wait_for_servers',
] as const

export interface MetaToolOptions {
  readonly powers: SearchPowers
  readonly sessionId: string
  readonly searchTool: SearchToolName
  readonly searchStyle: SearchStyle
  /** True when found tools are called through `call_tool`. */
  readonly isDispatch: boolean
  readonly policy: CompiledPolicy
  /** What lies behind the search, in a few lines; '' when nothing is deferred. */
  readonly behind: string
  readonly maxAnswerTokens: number
  readonly spill?: Spill | undefined
  readonly servers?: ServerDirectory | undefined
  /** Wraps the search tool, to limit how often it is used. */
  limit(tool: Tool): Tool
}

/** The meta-tools of one session and view, in the order they are shown. */
export function sessionMetaTools(options: MetaToolOptions): readonly Tool[] {
  const { behind, isDispatch, powers, searchTool, spill, servers, policy, sessionId } = options
  const hasSearch = behind !== ''
  const tools: Tool[] = []
  if (hasSearch) tools.push(options.limit(searchToolOf(options)))
  if (hasSearch && isDispatch) tools.push(callTool(powers, searchTool))
  if (spill) tools.push(readResult({ spill, sessionId }))
  if (servers && !hasSearch) tools.push(waitForServers(servers))
  return tools.filter(({ name }) => policy.denialOfMetaTool(name) === undefined)
}

/** A paragraph for the system prompt; '' when nothing is deferred. */
export function promptNote({
  behind,
  searchTool,
  searchStyle,
  isDispatch,
}: Pick<MetaToolOptions, 'behind' | 'searchTool' | 'searchStyle' | 'isDispatch'>): string {
  if (behind === '') return ''
  const call = howToCall({ isDispatch })
  const isTwoStep = searchTool === 'tool_search' && searchStyle === 'two-step'
  const how = isTwoStep ? `load it with ${searchTool} { name } and ${call}` : call
  return `You have more tools than are shown to you. When none of those shown does what you need, search with ${searchTool} before you say that it cannot be done; then ${how}. Waiting behind ${searchTool}:\n${behind}`
}

function searchToolOf({
  powers,
  behind,
  isDispatch,
  maxAnswerTokens,
  searchTool,
  searchStyle,
}: MetaToolOptions): Tool {
  const options: SearchToolOptions = { behind, isDispatch, maxAnswerTokens }
  if (searchTool === 'tool_search_regex') return toolSearchRegex(powers, options)
  if (searchTool === 'ToolSearch') return toolSearchSelect(powers, options)
  return toolSearch(powers, { ...options, style: searchStyle })
}
