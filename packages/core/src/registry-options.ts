import type { AskHandler } from './call/ask.ts'
import { callHooks, checkHooks, hooksOf } from './call/call-runner.ts'
import type { CallHooks } from './call/call-scope.ts'
import type { Spill } from './call/spill.ts'
import { BACKEND_RULES, type CapabilityBackends } from './capability.ts'
import {
  anyFunction,
  anyText,
  anyValue,
  checkOptions,
  either,
  listOf,
  milliseconds,
  numberFrom,
  type OptionRules,
  objectWith,
  oneOf,
  optionsWith,
  textList,
  trueOrFalse,
  wholeNumber,
} from './check-options.ts'
import { ToolcribError } from './errors.ts'
import type { ToolcribEvent } from './events.ts'
import type { SearchStyle, SearchToolName } from './meta-tools/search-session.ts'
import { SEARCH_TOOL_NAMES } from './names.ts'
import type { ReducerLookup } from './reduce/reducer.ts'
import type { Defer, Mode } from './registry/mode.ts'
import { bothAsks, checkPolicy, copyPolicy, type Policy } from './registry/policy.ts'
import type { UsageMemory } from './search/memory/usage-memory.ts'
import type { SearcherName } from './search/named-searchers.ts'
import { SEARCH_RULES, type SearchOptions } from './search/search-result.ts'
import type { Searcher } from './search/searcher.ts'
import type { ToolFinder } from './search/tool-finder.ts'
import type { ScriptEngine } from './session/script-engine.ts'
import type { ServiceSettings, SessionOrigin } from './session/sessions.ts'
import { aDialect, type SessionDialect, type SessionSettings } from './session/settings.ts'
import type { Strategy } from './session/surface.ts'
import type { SearchKind } from './skills/skill-shelf.ts'
import type { TokenCounter } from './text.ts'
import { type Clock, readClock } from './time.ts'

/** Options of a registry that a session may override. */
export interface SharedOptions<Dialect extends SessionDialect = SessionDialect> {
  /** full: every schema, every turn; lazy: deferrable tools once activated; auto (default): lazy when there are many. */
  readonly mode?: Mode
  /**
   * Which tools are deferrable. flagged: those with `deferred: true`; mcp: also those of MCP servers and plugins; all:
   * everything that is not pinned; auto (default): like mcp, or like all once `toolThreshold` tools would stay shown.
   */
  readonly defer?: Defer
  /** Auto mode becomes lazy at this many registered tools; 15. */
  readonly toolThreshold?: number
  /** Auto mode becomes lazy if definitions take more than this percentage of `contextWindow`, 0 to 100; 10. */
  readonly thresholdPercent?: number
  /** The model's context window in tokens; without it, `thresholdPercent` is not used. */
  readonly contextWindow?: number
  /** Names and globs of tools that are never deferred. */
  readonly pinned?: readonly string[]
  /** How many tools a session keeps active; beyond it, the least recently used are evicted. 24; 0 = no cap. */
  readonly maxActive?: number
  /** How many tokens their definitions may take; 0 (default) = no cap. */
  readonly maxActiveTokens?: number
  /** Which search meta-tool the model sees; `tool_search`. */
  readonly searchTool?: SearchToolName
  /** Whether a query activates what it finds (one-step, default) or a name does (two-step). */
  readonly searchStyle?: SearchStyle
  /** How many searches per minute the model may make; 0 (default) = no limit. */
  readonly searchesPerMinute?: number
  /** How tools are ranked. Default: `hybrid` where `@toolcrib/embedder` is installed, else `lexical`. */
  readonly searcher?: SearcherName | Searcher
  /**
   * What a second search for the same thing in other words returns: `new` (default): matches of either wording that
   * were not returned before; `all`: every match. Use `all` for sessions that several conversations share.
   */
  readonly searchAgain?: 'new' | 'all'
  /** Whether dispatch surfaces also have `call_read_tool`, for tools that say that they only read. Default: false. */
  readonly callReadTool?: boolean
  /** Remembers which tools served which requests, for `hybrid`; see `usageMemory()`. false (default): nothing is remembered. */
  readonly memory?: UsageMemory | false
  /** How a surface grows. `auto` (default): what suits the dialect best; append without a dialect. */
  readonly strategy?: Strategy | 'auto'
  /** The provider's dialect: for `strategy: 'auto'` and `session.turn()`. */
  readonly dialect?: Dialect
  /** Which tools may be seen and called. Default: all. */
  readonly policy?: Policy
  /**
   * A value of the host's, such as the tenant, the user or the request: tools, hooks, backends, `onAsk` and forks get it as
   * `context`. It is never sent to a model, nor stored.
   */
  readonly context?: unknown
}

/** Options of `new ToolRegistry()`. All are optional. */
export interface RegistryOptions extends SharedOptions {
  /** Grants capabilities; a tool that declares one without a backend does not run. */
  readonly capabilities?: CapabilityBackends
  /** Shortens results by exact tool name. */
  readonly reducers?: ReducerLookup
  /** Called around each call, in order. */
  readonly hooks?: CallHooks | readonly CallHooks[]
  /** Asks a person about calls that the policy's `ask` names. Without it, those calls are denied. */
  readonly onAsk?: AskHandler
  /** Called for every event, like a listener of `subscribe()`. Exceptions are ignored. */
  readonly onEvent?: (event: ToolcribEvent) => void
  /** How many characters the results of one batch may take together; 80,000. */
  readonly resultBudgetChars?: number
  /** Keeps the full text of trimmed results; with it, `read_result` is on every surface. */
  readonly spill?: Spill
  /** Lets the model run programs over tools with `run_script`: `scripts()` of `@toolcrib/scripts`. */
  readonly scripts?: ScriptEngine
  /** What `tool_search` looks for if the model does not say; tools and skills. */
  readonly searchKinds?: readonly SearchKind[]
  /** How often in a row a session may make the same call; 25, 0 = no limit. */
  readonly maxIdenticalCalls?: number
  /** How long a search waits for servers that are connecting; 3,000. */
  readonly serverWaitMs?: number
  /** Exact token counts for `context()`; without it they are estimates, marked `~`. See `exactTokenCounter()`. */
  readonly countTokens?: TokenCounter
  /** The clock. Default: `Date`. */
  readonly clock?: Clock
  /** Generates the ids of sessions without one. Default: random UUIDs. */
  readonly newId?: () => string
}

/** Options of `registry.openSession()`. Defaults: the registry's. */
export interface SessionOptions<Dialect extends SessionDialect = SessionDialect>
  extends SharedOptions<Dialect>,
    SessionOrigin {}

/** Options of `registry.search()`. */
export interface RegistrySearchOptions extends SearchOptions {
  readonly searcher?: SearcherName | Searcher
  /** Replaces the registry's own policy. */
  readonly policy?: Policy
}

/** The default settings of registries and sessions. No other file has defaults. */
export const DEFAULT_SETTINGS = {
  mode: 'auto',
  defer: 'auto',
  toolThreshold: 15,
  thresholdPercent: 10,
  contextWindow: undefined,
  pinned: [],
  maxActive: 24,
  maxActiveTokens: 0,
  searchTool: 'tool_search',
  searchStyle: 'one-step',
  searchesPerMinute: 0,
  searchAgain: 'new',
  callReadTool: false,
  memory: false,
  strategy: 'auto',
  dialect: undefined,
  policy: {},
  context: undefined,
  allowlists: [],
} as const satisfies Omit<SessionSettings, 'searcher'>

const DEFAULTS = {
  /** For tools and contexts without a deadline, so that a hanging call gets a result. */
  timeoutMs: 120_000,
  resultBudgetChars: 80_000,
  maxIdenticalCalls: 25,
  serverWaitMs: 3_000,
  /** The size limit of one answer of a search tool. */
  answerTokens: 5_000,
  /** From when on the description of the search tool lists no more sources, and one name of each at most. */
  noteTokens: 400,
  searchLimit: 5,
  suggestions: 5,
} as const

const aSearcher = either(anyText, objectWith('open'))
const aClock = either(anyFunction, objectWith('now'))

const SHARED_RULES: OptionRules<SharedOptions> = {
  mode: oneOf('full', 'lazy', 'auto'),
  defer: oneOf('auto', 'all', 'mcp', 'flagged'),
  toolThreshold: wholeNumber(),
  thresholdPercent: numberFrom(0, 100),
  contextWindow: wholeNumber(),
  pinned: textList,
  maxActive: wholeNumber(),
  maxActiveTokens: wholeNumber(),
  searchTool: oneOf(...SEARCH_TOOL_NAMES),
  searchStyle: oneOf('one-step', 'two-step'),
  searchesPerMinute: wholeNumber(),
  searcher: aSearcher,
  searchAgain: oneOf('new', 'all'),
  callReadTool: trueOrFalse,
  memory: either(objectWith('of', 'under'), oneOf(false)),
  strategy: oneOf('append', 'dispatch', 'native', 'auto'),
  dialect: aDialect,
  // Checked key by key.
  policy: anyValue,
  context: anyValue,
}

const REGISTRY_RULES: OptionRules<RegistryOptions> = {
  ...SHARED_RULES,
  capabilities: optionsWith<CapabilityBackends>(BACKEND_RULES),
  reducers: objectWith('get'),
  hooks: callHooks,
  onAsk: anyFunction,
  onEvent: anyFunction,
  resultBudgetChars: numberFrom(0),
  spill: objectWith('put', 'get'),
  scripts: objectWith('openSession'),
  searchKinds: listOf('tool', 'skill'),
  maxIdenticalCalls: wholeNumber(),
  serverWaitMs: milliseconds(),
  countTokens: anyFunction,
  clock: aClock,
  newId: anyFunction,
}

const SESSION_RULES: OptionRules<SessionOptions> = {
  ...SHARED_RULES,
  id: anyText,
  // Checked field by field, with specific reasons.
  state: anyValue,
  store: objectWith('get', 'set', 'update', 'delete'),
  tools: textList,
}

/** Returns a copy that the caller cannot change later. Throws `config-invalid` for an unknown key or a value out of range. */
export function readRegistryOptions(options: RegistryOptions, others: readonly unknown[]): RegistryOptions {
  if (others.length > 0 || typeof (options as Partial<ReducerLookup> | null)?.get === 'function')
    throw new ToolcribError(
      'config-invalid',
      'it takes one object: new ToolRegistry({ capabilities, reducers })',
    )
  checkOptions<RegistryOptions>('a registry', options, REGISTRY_RULES)
  checkHooks('a registry', options.hooks)
  const { hooks, capabilities } = options
  return {
    ...copyShared(options),
    ...(hooks === undefined ? {} : { hooks: hooksOf(hooks) }),
    ...(capabilities === undefined ? {} : { capabilities: { ...capabilities } }),
  }
}

/** Returns a copy that the caller cannot change later. Throws `config-invalid` for an unknown key or a value out of range. */
export function readSessionOptions<Dialect extends SessionDialect>(
  options: SessionOptions<Dialect>,
): SessionOptions<Dialect> {
  checkOptions<SessionOptions>('a session', options, SESSION_RULES)
  const { tools } = options
  return { ...copyShared(options), ...(tools === undefined ? {} : { tools: Object.freeze([...tools]) }) }
}

function copyShared<Options extends SharedOptions>(options: Options): Options {
  const { pinned, policy } = options
  if (policy !== undefined) checkPolicy(policy)
  return {
    ...options,
    ...(pinned === undefined ? {} : { pinned: Object.freeze([...pinned]) }),
    ...(policy === undefined ? {} : { policy: copyPolicy(policy) }),
  }
}

// The policy is checked key by key, the searcher when it is read.
const SEARCH_OPTIONS: OptionRules<RegistrySearchOptions> = {
  ...SEARCH_RULES,
  searcher: anyValue,
  policy: anyValue,
}

/** Throws `config-invalid` for an unknown key or a value out of range. */
export function checkSearchOptions(options: RegistrySearchOptions): void {
  checkOptions<RegistrySearchOptions>('search()', options, SEARCH_OPTIONS)
  if (options.policy !== undefined) checkPolicy(options.policy)
}

/** Throws `config-invalid` for an unknown key or a value out of range. */
export function checkSubscribeOptions(options: { readonly sessionId?: string }): void {
  checkOptions<{ readonly sessionId?: string }>('subscribe()', options, { sessionId: anyText })
}

/** Returns the settings, overridden by the given options. */
export function overrideSettings<Dialect extends SessionDialect>(
  settings: SessionSettings,
  { searcher, ...options }: SharedOptions<Dialect>,
  finder: ToolFinder,
): SessionSettings<Dialect> {
  const given = Object.fromEntries(
    Object.entries(options).filter(([name, value]) => name in SHARED_RULES && value !== undefined),
  )
  const overridden = { ...settings, ...given } as SessionSettings<Dialect>
  // A session replaces the rest of the registry's policy, and only adds to what is asked about.
  const ask = bothAsks(settings.policy.ask, overridden.policy.ask)
  if (ask !== overridden.policy.ask) Object.assign(overridden, { policy: { ...overridden.policy, ask } })
  return searcher === undefined ? overridden : { ...overridden, searcher: finder.searcher(searcher) }
}

/** The settings that calls and sessions share: the options, with DEFAULTS. */
export function serviceSettings(options: RegistryOptions): ServiceSettings {
  const { capabilities, hooks, onAsk, reducers, spill, scripts, countTokens, clock = Date } = options
  return {
    ...DEFAULTS,
    backends: capabilities ?? {},
    hooks,
    onAsk,
    context: options.context,
    reducers,
    spill,
    scripts,
    searchKinds: options.searchKinds ?? ['tool', 'skill'],
    countTokens,
    now: readClock(clock),
    newId: options.newId ?? (() => crypto.randomUUID()),
    resultBudgetChars: options.resultBudgetChars ?? DEFAULTS.resultBudgetChars,
    maxIdenticalCalls: options.maxIdenticalCalls ?? DEFAULTS.maxIdenticalCalls,
    serverWaitMs: options.serverWaitMs ?? DEFAULTS.serverWaitMs,
  }
}
