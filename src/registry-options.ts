import type { CallHooks } from './call/call-environment.ts'
import type { Spill } from './call/spill.ts'
import type { CapabilityBackends } from './capability.ts'
import { ToolcribError } from './errors.ts'
import type { ToolcribEvent } from './events.ts'
import { isRecord } from './json.ts'
import type { SearchStyle, SearchToolName } from './meta-tools/search-powers.ts'
import { nearestName } from './nearest-name.ts'
import type { ReducerLookup } from './reduce/reducer.ts'
import type { Defer, Mode } from './registry/mode.ts'
import { checkNames, checkPolicy, type Policy } from './registry/policy.ts'
import type { Searcher, SearcherName } from './search/searcher.ts'
import type { SessionSettings } from './session/settings.ts'
import type { SessionState, SessionStore } from './session/state.ts'
import type { Strategy } from './session/surface.ts'
import type { Clock } from './time.ts'
import type { TokenCounter } from './tokens.ts'

/** What a registry decides for all its sessions, and a session may decide for itself. */
export interface SharedOptions {
  /** full: every schema, every turn; lazy: deferrable tools once activated; auto (default): lazy when there are many. */
  readonly mode?: Mode
  /** What is deferrable: all, mcp (default: MCP tools and flagged ones), flagged (only `deferred: true`). */
  readonly defer?: Defer
  /** Auto mode turns lazy at this many registered tools; 15. */
  readonly toolThreshold?: number
  /** Auto mode turns lazy when definitions take more than this part of `contextWindow`; 10. */
  readonly thresholdPercent?: number
  /** The model's context window in tokens; without it, `thresholdPercent` is not used. */
  readonly contextWindow?: number
  /** Names and globs of tools that are never deferred. */
  readonly pinned?: readonly string[]
  /** How many tools a session keeps active, the least recently used going first; 24, 0 = no cap. */
  readonly maxActive?: number
  /** How many tokens their definitions may take; 0 (default) = no cap. */
  readonly maxActiveTokens?: number
  /** Which search meta-tool the model is shown; `tool_search`. */
  readonly searchTool?: SearchToolName
  /** Whether a query activates what it finds (one-step, default) or a name does (two-step). */
  readonly searchStyle?: SearchStyle
  /** Searches a minute the model may make; 0 (default) = no limit. */
  readonly searchesPerMinute?: number
  /** How tools are ranked; `lexical`. */
  readonly searcher?: SearcherName | Searcher
  /** How a surface grows; `auto` (default) takes what the dialect does best, append without one. */
  readonly strategy?: Strategy | 'auto'
  /** The provider's dialect, for `strategy: 'auto'`. */
  readonly dialect?: { readonly strategy: Strategy }
  /** What may be seen and called; everything, when absent. */
  readonly policy?: Policy
}

/** `new ToolRegistry(options)`. Everything has a default. */
export interface RegistryOptions extends SharedOptions {
  /** What grants capabilities; a tool that declares one without a backend is refused. */
  readonly capabilities?: CapabilityBackends
  /** Shortens results by exact tool name. */
  readonly reducers?: ReducerLookup
  /** Run around each call, in order. */
  readonly hooks?: CallHooks | readonly CallHooks[]
  /** Told of everything that happens. What it throws is ignored. */
  readonly onEvent?: (event: ToolcribEvent) => void
  /** Characters the results of one batch may take together; 80,000. */
  readonly resultBudgetChars?: number
  /** Where the full text of a trimmed result is kept; with it, `read_result` is shown on every surface. */
  readonly spill?: Spill
  /** How often in a row a session may make the same call; 25, 0 = no limit. */
  readonly maxIdenticalCalls?: number
  /** How long a search waits for servers that are connecting; 3,000. */
  readonly serverWaitMs?: number
  /** Exact token counts for `context()`; without it they are estimates, marked `~`. See `exactTokenCounter()`. */
  readonly countTokens?: TokenCounter
  /** What time it is; `Date` when absent. */
  readonly clock?: Clock
  /** Names sessions that were opened without an id; random UUIDs when absent. */
  readonly newId?: () => string
}

/** `registry.openSession(options)`: the shared options, overridden for this session. */
export interface SessionOptions extends SharedOptions {
  /** Unique per conversation; needed with a `store`. */
  readonly id?: string
  /** What `toJSON()` gave, to go on where that session stopped. */
  readonly state?: SessionState
  /** Loads the session by `id`, and saves it after every change. */
  readonly store?: SessionStore
}

const CHOICES = {
  mode: ['full', 'lazy', 'auto'],
  defer: ['all', 'mcp', 'flagged'],
  searchTool: ['tool_search', 'tool_search_regex', 'ToolSearch'],
  searchStyle: ['one-step', 'two-step'],
  strategy: ['append', 'dispatch', 'native', 'auto'],
} as const

const COUNTS = [
  'toolThreshold',
  'thresholdPercent',
  'contextWindow',
  'maxActive',
  'maxActiveTokens',
  'searchesPerMinute',
] as const satisfies readonly (keyof SharedOptions)[]

const SHARED_KEYS: Record<keyof SharedOptions, true> = {
  mode: true,
  defer: true,
  toolThreshold: true,
  thresholdPercent: true,
  contextWindow: true,
  pinned: true,
  maxActive: true,
  maxActiveTokens: true,
  searchTool: true,
  searchStyle: true,
  searchesPerMinute: true,
  searcher: true,
  strategy: true,
  dialect: true,
  policy: true,
}

const REGISTRY_KEYS: Record<keyof RegistryOptions, true> = {
  ...SHARED_KEYS,
  capabilities: true,
  reducers: true,
  hooks: true,
  onEvent: true,
  resultBudgetChars: true,
  spill: true,
  maxIdenticalCalls: true,
  serverWaitMs: true,
  countTokens: true,
  clock: true,
  newId: true,
}

const SESSION_KEYS: Record<keyof SessionOptions, true> = {
  ...SHARED_KEYS,
  id: true,
  state: true,
  store: true,
}

/** Throws `config-invalid` for options of a registry that are none, or that it does not know. */
export function checkRegistryOptions(options: RegistryOptions): void {
  checkKeys(options, 'a registry', Object.keys(REGISTRY_KEYS))
}

/** Throws `config-invalid` for options of a session that are none, or that it does not know. */
export function checkSessionOptions(options: SessionOptions): void {
  checkKeys(options, 'a session', Object.keys(SESSION_KEYS))
}

function checkKeys(options: unknown, what: string, known: readonly string[]): void {
  if (!isRecord(options))
    throw new ToolcribError(
      'config-invalid',
      `${what} takes its options as an object, such as { mode: 'lazy' }`,
    )
  const unknown = Object.keys(options).find((key) => options[key] !== undefined && !known.includes(key))
  if (unknown === undefined) return
  const nearest = nearestName(unknown, known)
  const step = nearest === undefined ? `it takes ${known.join(', ')}` : `did you mean "${nearest}"?`
  throw new ToolcribError('config-invalid', `${what} has no option "${unknown}"; ${step}`)
}

/** Settings with the given options laid over them; an option that makes no sense is `config-invalid`. */
export function overrideSettings(
  settings: SessionSettings,
  options: SharedOptions,
  resolveSearcher: (searcher: SearcherName | Searcher) => Searcher,
): SessionSettings {
  for (const [name, choices] of Object.entries(CHOICES)) {
    const value = options[name as keyof typeof CHOICES]
    if (value !== undefined && !(choices as readonly string[]).includes(value)) {
      throw invalid(name, value, `one of ${choices.join(', ')}`)
    }
  }
  for (const name of COUNTS) {
    const value = options[name]
    if (value !== undefined && !(typeof value === 'number' && value >= 0))
      throw invalid(name, value, 'a number, 0 or more')
  }
  if (options.policy !== undefined) checkPolicy(options.policy)
  checkNames(options.pinned, 'pinned')
  const { searcher, ...rest } = options
  const given = Object.fromEntries(
    Object.entries(rest).filter(([name, value]) => name in settings && value !== undefined),
  )
  return { ...settings, ...given, ...(searcher === undefined ? {} : { searcher: resolveSearcher(searcher) }) }
}

function invalid(name: string, value: unknown, expected: string): ToolcribError {
  return new ToolcribError('config-invalid', `${name} is ${JSON.stringify(value)}; it must be ${expected}`)
}
