import type { Spill } from '../call/spill.ts'
import { sourceLabel } from '../names.ts'
import { Entry } from '../registry/entry.ts'
import type { CompiledPolicy } from '../registry/policy.ts'
import type { ServerDirectory } from '../registry/server-directory.ts'
import type { View } from '../registry/view.ts'
import { estimateTokens } from '../text.ts'
import { type Tool, UNTRUSTED_NOTE } from '../tool.ts'
import { HOW_TO_ASK, howToCall } from './answer.ts'
import { callTool } from './call-tool.ts'
import { readResult } from './read-result.ts'
import type { SearchSession, SearchStyle, SearchToolName, SearchToolOptions } from './search-session.ts'
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
  /** True when only tools that join after the first request are. */
  readonly dispatchesLateTools?: boolean
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
  const { behind, isDispatch, dispatchesLateTools = false, searchTool, spill, servers } = options
  const hasSearch = behind !== ''
  const tools: Tool[] = []
  if (hasSearch) tools.push(options.searchLimit.wrap(searchToolOf(session, options)))
  if (hasSearch && (isDispatch || dispatchesLateTools))
    tools.push(callTool(session, { searchTool, isForLateTools: !isDispatch }) as Tool)
  if (spill) tools.push(readResult({ spill, sessionId: session.sessionId }) as Tool)
  if (servers && !hasSearch) tools.push(waitForServers(servers) as Tool)
  return tools.filter(({ name }) => options.policy.denialOfMetaTool(name) === undefined).map(metaToolEntry)
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
 * A paragraph for the system prompt; '' when nothing is deferred. Only the description of the
 * search tool lists what lies behind the search.
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
        const error = `${this.#perMinute} searches per minute is the limit; use the tools you have, or search again in ${seconds} s`
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

/** What lies behind the search, described once per view, which many sessions share. */
export class DeferredNotes {
  readonly #maxTokens: number
  readonly #notes = new WeakMap<View, string>()

  constructor(maxTokens: number) {
    this.#maxTokens = maxTokens
  }

  /** '' when nothing is deferred. Names servers without `trust` as such. */
  of(view: View): string {
    const known = this.#notes.get(view)
    if (known !== undefined) return known
    const note = describeBehind(view, this.#maxTokens)
    this.#notes.set(view, note)
    return note
  }
}

/**
 * Says what lies behind the search: each source with its count, then names as far as the token budget goes. It
 * depends on the catalogue alone, never on what is activated, so it does not disturb a prompt cache.
 */
function describeBehind(view: View, maxTokens: number): string {
  if (view.deferred.size === 0) return ''
  const warning = view.untrustedServers.length === 0 ? [] : [UNTRUSTED_NOTE]
  const kept = withinBudget(linesOf(view), maxTokens - estimateTokens(warning.join('')))
  const left = view.deferredSourceCount - kept.length
  const more = left > 0 ? [`- and ${left} more ${left === 1 ? 'source' : 'sources'}`] : []
  return [...kept.map(writeLine), ...more, ...warning].join('\n')
}

interface Line {
  readonly label: string
  readonly names: readonly string[]
  /** How many of the names are written out. */
  shown: number
}

function* linesOf(view: View): Generator<Line> {
  for (const { source, entries } of view.deferredSources())
    yield { label: sourceLabel(source), names: entries.map(({ listing }) => listing.ownName), shown: 0 }
}

/** First every source with its count, then one name of each in turn, until the budget is spent. */
function withinBudget(lines: Iterable<Line>, maxTokens: number): readonly Line[] {
  let left = maxTokens
  const kept: Line[] = []
  for (const line of lines) {
    left -= estimateTokens(writeLine(line)) + 1
    if (left < 0 && kept.length > 0) return kept
    kept.push(line)
  }
  for (let round = 0; kept.some(({ names }) => names.length > round); round++) {
    for (const line of kept) {
      const name = line.names[round]
      if (name === undefined) continue
      left -= estimateTokens(name) + 2
      if (left < 0) return kept
      line.shown = round + 1
    }
  }
  return kept
}

function writeLine({ label, names, shown }: Line): string {
  const count = `- ${label} (${names.length})`
  if (shown === 0) return count
  const rest = shown < names.length ? ', …' : ''
  return `${count}: ${names.slice(0, shown).join(', ')}${rest}`
}
