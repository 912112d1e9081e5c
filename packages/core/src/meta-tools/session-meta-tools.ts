import type { Spill } from '../call/spill.ts'
import { isSearchTool, META_TOOL_NAMES, sourceLabel, splitName } from '../names.ts'
import { Entry } from '../registry/entry.ts'
import type { CompiledPolicy } from '../registry/policy.ts'
import type { ServerDirectory } from '../registry/server-directory.ts'
import type { View } from '../registry/view.ts'
import { estimateTokens } from '../text.ts'
import { type Tool, UNTRUSTED_NOTE } from '../tool.ts'
import { HOW_TO_ASK, howToCall } from './answer.ts'
import { callReadTool, callTool } from './call-tool.ts'
import { readResult } from './read-result.ts'
import type { SearchSession, SearchStyle, SearchToolName } from './search-session.ts'
import type { SessionSkills } from './skills.ts'
import { toolSearch } from './tool-search.ts'
import { toolSearchRegex } from './tool-search-regex.ts'
import { toolSearchSelect } from './tool-search-select.ts'
import { waitForServers } from './wait-for-servers.ts'

export interface MetaToolOptions {
  readonly searchTool: SearchToolName
  readonly searchStyle: SearchStyle
  /** True when found tools are called through `call_tool`. */
  readonly isDispatch: boolean
  /** True when tools that only read have a dispatch tool of their own. */
  readonly callReadTool: boolean
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
  /** For `load_skill`; undefined when there are none. */
  readonly skills?: SessionSkills | undefined
  /** For `run_script`; undefined when it is not shown. */
  readonly scripts?: { readonly tool: Tool } | undefined
}

type MakeMetaTool = (session: SearchSession, options: MetaToolOptions) => Tool | undefined

/** Every meta-tool, in the order they are shown. Each returns undefined where it is not shown. */
const META_TOOLS: Readonly<Record<(typeof META_TOOL_NAMES)[number], MakeMetaTool>> = {
  tool_search(session, { skills, ...options }) {
    const search = toolSearch(session, { ...options, style: options.searchStyle }) as Tool
    return skills?.searching(search) ?? search
  },
  tool_search_regex: (session, options) => toolSearchRegex(session, options) as Tool,
  ToolSearch: (session, options) => toolSearchSelect(session, options) as Tool,
  call_tool(session, { behind, isDispatch, dispatchesLateTools = false, searchTool }) {
    if (behind === '' || !(isDispatch || dispatchesLateTools)) return undefined
    return callTool(session, { searchTool, isForLateTools: !isDispatch }) as Tool
  },
  call_read_tool(session, { behind, isDispatch, callReadTool: isWanted, policy }) {
    const isShown =
      isWanted && isDispatch && behind !== '' && policy.denialOfMetaTool('call_tool') === undefined
    return isShown ? (callReadTool(session) as Tool) : undefined
  },
  read_result: ({ sessionId }, { spill }) => spill && (readResult({ spill, sessionId }) as Tool),
  load_skill: (_session, { skills, searchTool }) => skills?.loadSkill(searchTool),
  read_skill_file: (_session, { skills }) => skills?.readSkillFile(),
  run_script: (_session, { scripts }) => scripts?.tool,
  wait_for_servers: (_session, { behind, servers }) =>
    servers && behind === '' ? (waitForServers(servers) as Tool) : undefined,
}

/** The meta-tools of one session and view, in the order they are shown. */
export function sessionMetaTools(session: SearchSession, options: MetaToolOptions): readonly Entry[] {
  return META_TOOL_NAMES.flatMap((name) => {
    if (options.policy.denialOfMetaTool(name) !== undefined) return []
    if (!isSearchTool(name)) return META_TOOLS[name](session, options) ?? []
    if (name !== options.searchTool || options.behind === '') return []
    const search = META_TOOLS[name](session, options)
    return search ? options.searchLimit.wrap(search) : []
  }).map(metaToolEntry)
}

/** A meta-tool as an entry: always shown, and never trimmed, except what a script returns. */
export function metaToolEntry(tool: Tool): Entry {
  const { name } = tool
  const source = { kind: 'builtin' } as const
  return new Entry(tool, {
    name,
    ownName: name,
    source,
    deferral: 'pinned',
    trust: 0,
    isSelfLimiting: name !== 'run_script',
  })
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
        const waitMs = this.take()
        if (waitMs === 0) return tool.execute(input, ctx)
        const seconds = Math.ceil(waitMs / 1000)
        const error = `${this.#perMinute} searches per minute is the limit; use the tools you have, or search again in ${seconds} s`
        return { ok: false, code: 'denied', error }
      },
    }
  }

  /** Counts a search, and returns 0 if it may go ahead now, else how long until the next one may. */
  take(): number {
    if (this.#perMinute === 0) return 0
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
  /** Those that are written out. */
  readonly shown: string[]
}

function* linesOf(view: View): Generator<Line> {
  for (const { source, ownNames } of view.deferredSources())
    yield { label: sourceLabel(source), names: ownNames, shown: [] }
}

/** First every source with its count, then typical names of each in turn, as far as the budget goes. */
function withinBudget(sources: Iterable<Line>, maxTokens: number): readonly Line[] {
  let left = maxTokens
  const lines: Line[] = []
  for (const line of sources) {
    left -= estimateTokens(writeLine(line)) + 1
    if (left < 0 && lines.length > 0) return lines
    lines.push(line)
  }
  const perSource = Math.max(NAMES_PER_SOURCE, Math.floor(NAMES_OF_ALL / lines.length))
  const typical = lines.map(({ names }) => typicalNames(names, perSource))
  for (let round = 0; round < perSource; round++) {
    for (const [at, line] of lines.entries()) {
      const name = typical[at]?.[round]
      if (name === undefined) continue
      left -= estimateTokens(name) + 2
      // One name of each source, also of the last ones.
      if (left < 0 && (round > 0 || name.length > LONG_NAME)) continue
      line.shown.push(name)
    }
  }
  return lines
}

/** How many names tell what a source is for, and how many there are at least in all. */
const NAMES_PER_SOURCE = 3
const NAMES_OF_ALL = 24
const LONG_NAME = 40
/** The work limit for a source; the names of a large one are alike. */
const COMPARED_NAMES = 500

/** The names whose words are the most frequent among them, each time of other words than those before. */
function typicalNames(names: readonly string[], most: number): readonly string[] {
  if (names.length <= most) return names
  const left = new Map(names.slice(0, COMPARED_NAMES).map((name) => [name, splitName(name)]))
  const weights = new Map<string, number>()
  for (const word of [...left.values()].flat()) weights.set(word, (weights.get(word) ?? 0) + 1)
  // A verb and an object rather than one word.
  const weightOf = (words: readonly string[]) =>
    words.reduce((sum, word) => sum + (weights.get(word) ?? 0), 0) / Math.max(words.length, 2)
  const typical: string[] = []
  while (typical.length < most && left.size > 0) {
    const [name, words] = [...left].reduce((best, next) =>
      weightOf(next[1]) > weightOf(best[1]) ? next : best,
    )
    typical.push(name)
    left.delete(name)
    for (const word of words) weights.set(word, (weights.get(word) ?? 0) / 4)
  }
  return typical
}

function writeLine({ label, names, shown }: Line): string {
  const count = `- ${label} (${names.length})`
  if (shown.length === 0) return count
  return `${count}: ${shown.join(', ')}${shown.length < names.length ? ', …' : ''}`
}
