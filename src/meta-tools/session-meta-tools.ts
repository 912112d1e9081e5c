import type { Spill } from '../call/spill.ts'
import { Entry } from '../registry/entry.ts'
import type { CompiledPolicy } from '../registry/policy.ts'
import type { ServerDirectory } from '../registry/server-directory.ts'
import type { Tool } from '../tool.ts'
import { callTool } from './call-tool.ts'
import { readResult } from './read-result.ts'
import type { SearchLimit } from './search-limit.ts'
import {
  HOW_TO_ASK,
  howToCall,
  type SearchSession,
  type SearchStyle,
  type SearchToolName,
  type SearchToolOptions,
} from './search-session.ts'
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
  readonly searchTool: SearchToolName
  readonly searchStyle: SearchStyle
  /** True when found tools are called through `call_tool`. */
  readonly isDispatch: boolean
  readonly policy: CompiledPolicy
  /** What lies behind the search, in a few lines; '' when nothing is deferred. */
  readonly behind: string
  readonly maxAnswerTokens: number
  readonly spill?: Spill | undefined
  /** For `wait_for_servers`; undefined when it is not shown. */
  readonly servers?: ServerDirectory | undefined
  readonly searchLimit: SearchLimit
}

/** The meta-tools of one session and view, in the order they are shown. */
export function sessionMetaTools(session: SearchSession, options: MetaToolOptions): readonly Entry[] {
  const { behind, isDispatch, searchTool, spill, servers, policy, searchLimit } = options
  const hasSearch = behind !== ''
  const tools: Tool[] = []
  if (hasSearch) tools.push(searchLimit.wrap(searchToolOf(session, options)))
  if (hasSearch && isDispatch) tools.push(callTool(session, searchTool) as Tool)
  if (spill) tools.push(readResult({ spill, sessionId: session.sessionId }) as Tool)
  if (servers && !hasSearch) tools.push(waitForServers(servers) as Tool)
  return tools.filter(({ name }) => policy.denialOfMetaTool(name) === undefined).map(metaToolEntry)
}

/** A meta-tool as an entry: always shown, and never trimmed. */
export function metaToolEntry(tool: Tool): Entry {
  const { name } = tool
  const source = { kind: 'builtin' } as const
  return new Entry(tool, { name, ownName: name, source, deferral: 'pinned', trust: 0, isSelfLimiting: true })
}

/** Whether a name is reserved for a meta-tool. */
export function isMetaToolName(name: string): boolean {
  return (META_TOOL_NAMES as readonly string[]).includes(name)
}

/**
 * A paragraph for the system prompt; '' when nothing is deferred. What lies behind the search stands in the description
 * of the search tool, and only there.
 */
export function promptNote(
  deferredCount: number,
  { searchTool, searchStyle, isDispatch }: Pick<MetaToolOptions, 'searchTool' | 'searchStyle' | 'isDispatch'>,
): string {
  if (deferredCount === 0) return ''
  const call = howToCall({ isDispatch })
  const isTwoStep = searchTool === 'tool_search' && searchStyle === 'two-step'
  const how = isTwoStep ? `load it with ${searchTool} { name } and ${call}` : call
  const more = deferredCount === 1 ? '1 more tool is' : `${deferredCount} more tools are`
  return `${more} available behind ${searchTool}, whose description lists where they come from. When none of the tools shown to you does what you need, search with ${searchTool} before you say that it cannot be done; then ${how}. ${HOW_TO_ASK}`
}

function searchToolOf(
  session: SearchSession,
  { behind, isDispatch, maxAnswerTokens, searchTool, searchStyle }: MetaToolOptions,
): Tool {
  const options: SearchToolOptions = { behind, isDispatch, maxAnswerTokens }
  if (searchTool === 'tool_search_regex') return toolSearchRegex(session, options) as Tool
  if (searchTool === 'ToolSearch') return toolSearchSelect(session, options) as Tool
  return toolSearch(session, { ...options, style: searchStyle }) as Tool
}
