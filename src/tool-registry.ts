import type { InputOf, SchemaInput } from './authoring/define-tool.ts'
import { type FunctionOptions, functionTool } from './authoring/function-tool.ts'
import { sessionIdOf } from './call/call-runner.ts'
import type { CallContext } from './call/call-scope.ts'
import type { Attachment } from './capability.ts'
import type { Emit, Listener, SyncReport } from './events.ts'
import { META_TOOL_NAMES } from './meta-tools/session-meta-tools.ts'
import { Catalogue } from './registry/catalogue.ts'
import { type Entry, type ToolSchema, toolSchema } from './registry/entry.ts'
import {
  type CompiledPolicy,
  checkNames,
  compilePolicy,
  narrowOrDeny,
  narrowPolicy,
  type Policy,
  type ToolFilter,
} from './registry/policy.ts'
import { type RegisterOptions, Registrar, type SyncOptions } from './registry/registrar.ts'
import type { ServerDirectory } from './registry/server-directory.ts'
import { definitionsOf } from './registry/view.ts'
import { Viewpoint } from './registry/viewpoint.ts'
import {
  checkSearchOptions,
  checkSubscribeOptions,
  overrideSettings,
  type RegistryOptions,
  type RegistrySearchOptions,
  readRegistryOptions,
  readSessionOptions,
  type SessionOptions,
  serviceSettings,
} from './registry-options.ts'
import type { UsageMemory } from './search/memory/usage-memory.ts'
import type { SearchResult } from './search/search-result.ts'
import { CallsWithoutSession, searchWithoutSession } from './session/calls-without-session.ts'
import { type Explanation, explainTool, RegistryOnlooker } from './session/explain-tool.ts'
import type { Session } from './session/session.ts'
import { openSession, SessionServices } from './session/session-services.ts'
import type { SessionDialect, SessionSettings } from './session/settings.ts'
import { type Stats, statsOf } from './session/stats.ts'
import type { CallResult, Listing, Tool, ToolCall, ToolContext, ToolDefinition } from './tool.ts'

/** The default settings of registries and sessions. No other file has defaults. */
const DEFAULT_SETTINGS = {
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
  memory: false,
  strategy: 'auto',
  dialect: undefined,
  policy: {},
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
  /** The size limit of the list of names in the description of the search tool. */
  noteTokens: 400,
  searchLimit: 5,
  suggestions: 5,
} as const

/**
 * Holds every tool an agent may use, knows where each comes from, and opens sessions. Readers get immutable snapshots,
 * so nobody sees a partial change.
 */
export class ToolRegistry {
  readonly #options: RegistryOptions
  readonly #settings: SessionSettings
  readonly #policy: CompiledPolicy
  readonly #catalogue = new Catalogue(META_TOOL_NAMES, () => this.#services.scene.modes.update())
  readonly #services: SessionServices
  readonly #registrar: Registrar
  /** Counts every tool, because a policy depends on the session. */
  readonly #viewpoint: Viewpoint
  #preloaded: readonly string[] = []

  /** Throws `config-invalid` for an unknown option or a value out of range. */
  constructor(options: RegistryOptions = {}) {
    const read = readRegistryOptions(options)
    this.#options = read
    this.#services = new SessionServices(this.#catalogue, serviceSettings(read, DEFAULTS))
    if (read.onEvent) this.subscribe(read.onEvent)
    this.emit = this.#services.events.emit
    this.#registrar = new Registrar(this.#catalogue, this.emit)
    const { finder } = this.#services
    this.#settings = overrideSettings({ ...DEFAULT_SETTINGS, searcher: finder.standard }, read, finder)
    this.#policy = compilePolicy(this.#settings.policy)
    this.#viewpoint = new Viewpoint(this.#settings, compilePolicy({}), this.#services.scene, this.#policy)
  }

  /** Registers a built-in tool, or a plugin's. Throws `tool-duplicate`, `name-invalid` or `config-invalid`. */
  register<Input>(tool: Tool<Input>, options: RegisterOptions = {}): void {
    this.#registrar.register(tool as Tool, options)
  }

  /** Registers all of them or, if one cannot be registered, none. */
  registerAll(tools: readonly Tool[]): void {
    this.#registrar.registerAll(tools)
  }

  /**
   * Registers a plain function and wraps its return value. The tool is shown from the start, in every mode, unless it has
   * `deferred: true`.
   */
  registerFunction<const Schema extends SchemaInput>(
    fn: (input: InputOf<Schema>, ctx: ToolContext) => unknown,
    options: FunctionOptions<Schema>,
  ): void {
    const tool = functionTool(fn, options)
    this.register(tool, { preload: tool.deferred !== true })
  }

  /** Registers one tool of an MCP server, by the server's own name for it, as `mcp__<server>__<name>`. */
  registerMcp<Input>(tool: Tool<Input>, server: string): void {
    this.#registrar.registerMcp(tool as Tool, server)
  }

  /** Replaces all tools of one server at once. A tool that collides or cannot be registered is skipped and reported. */
  syncMcp(server: string, tools: readonly Tool[], options: SyncOptions = {}): SyncReport {
    return this.#registrar.syncMcp(server, tools, options)
  }

  /** Removes a tool; returns false if there was none. */
  unregister(name: string): boolean {
    return this.#registrar.unregister(name)
  }

  /** Removes the tools of one MCP server, or of all servers; returns how many. */
  unregisterMcp(server?: string): number {
    return this.#registrar.unregisterMcp(server)
  }

  /** Returns an independent copy without the tools of MCP servers. */
  withoutMcp(): ToolRegistry {
    const copy = new ToolRegistry(this.#options)
    copy.#registrar.copyLocal(this.#catalogue)
    copy.#preloaded = this.#preloaded
    return copy
  }

  /** Quarantines a tool: it is neither found nor callable until `release()`, even after a sync. */
  quarantine(name: string, reason: string): void {
    this.#registrar.quarantine(name, reason)
  }

  /** Ends a quarantine; returns false if there was none. */
  release(name: string): boolean {
    return this.#registrar.release(name)
  }

  /** Shows these tools from the start, in every session opened from now on. */
  preload(names: string | readonly string[]): void {
    const wanted = typeof names === 'string' ? [names] : names
    checkNames(wanted, 'preload()')
    this.#preloaded = [...new Set([...this.#preloaded, ...wanted])]
  }

  /**
   * Lets searches wait for servers that are connecting, and name those that failed. Returns a function that detaches
   * them.
   */
  attachServers(directory: ServerDirectory): () => void {
    return this.#services.finder.attachServers(directory)
  }

  /**
   * Calls the listener for every event from now on (of the registry, its sessions, calls, servers and agents), or only
   * for those of one session. Returns a function that unsubscribes. Exceptions are ignored.
   */
  subscribe(listener: Listener, options: { readonly sessionId?: string } = {}): () => void {
    checkSubscribeOptions(options)
    return this.#services.events.subscribe(listener, options)
  }

  /** Emits an event on the registry's stream, for sources of tools and hosts of sessions. */
  readonly emit: Emit

  /** The default searcher. */
  get searcher(): SessionSettings['searcher'] {
    return this.#settings.searcher
  }

  /** The default memory of sessions; undefined if past use is not remembered. */
  get memory(): UsageMemory | undefined {
    return this.#settings.memory || undefined
  }

  /** The default policy of sessions. A session's policy replaces it, so to narrow it, start from this one. */
  get policy(): Policy {
    return this.#settings.policy
  }

  /** Returns the tool registered under a name. */
  get(name: string): Tool | undefined {
    return this.#catalogue.get(name)?.tool
  }

  /**
   * Returns the registered names that a name may mean, however it is written: `mcp__github__search`, `github.search`, or
   * `search`, which means several tools if several servers have it. Tools that are in quarantine, or that the registry's
   * policy denies, are among them, so that a name never silently means another server's tool; see `explain()`.
   */
  resolve(name: string): readonly string[] {
    return this.#services.finder.candidates(name).map((entry) => entry.name)
  }

  /** Whether a name is registered. */
  has(name: string): boolean {
    return this.#catalogue.get(name) !== undefined
  }

  /** The number of registered tools, without meta-tools. */
  get size(): number {
    return this.#catalogue.size
  }

  /** Returns the tools that are available now, sorted by name. */
  getAvailable(): Tool[] {
    const { availability } = this.#services
    return this.#entries().flatMap(({ tool }) => (availability.isAvailable(tool) ? [tool] : []))
  }

  /** Returns the tools of one toolset, sorted by name. */
  getForToolset(toolset: string): Tool[] {
    return this.#entries().flatMap(({ tool }) => (tool.toolset === toolset ? [tool] : []))
  }

  /** Returns the tools that are deferred under the registry's own settings, sorted by name. */
  deferredTools(): readonly Listing[] {
    return [...this.#viewpoint.current().deferred.values()].map(({ listing }) => listing)
  }

  /** Returns every registered tool with its source, sorted by name. */
  listSchemas(): ToolSchema[] {
    return this.#entries().map(toolSchema)
  }

  /**
   * Returns every permitted and available definition, sorted by name: the surface of full mode, narrowed by these
   * lists.
   */
  toDefinitions(allowedTools?: readonly string[], filter?: ToolFilter): ToolDefinition[] {
    const policy = narrowPolicy(this.#policy, { allowedTools, filter })
    return definitionsOf(this.#catalogue.snapshot(), policy, this.#services.availability)
  }

  /** Runs calls in parallel and returns their results in order. Never throws: invalid lists permit nothing. */
  async executeParallel(
    calls: readonly ToolCall[],
    ctx: CallContext,
    allowedTools?: readonly string[],
    filter?: ToolFilter,
    attachments?: readonly Attachment[],
  ): Promise<CallResult[]> {
    const policy = narrowOrDeny(this.#policy, { allowedTools, filter })
    const services = this.#services
    const scope = new CallsWithoutSession({ services, policy, sessionId: sessionIdOf(ctx) })
    return services.runner.execute(calls, attachments ? { ...ctx, attachments } : ctx, scope)
  }

  /** Finds tools by words, names or a pattern. Denied, quarantined and unavailable tools never appear. */
  async search(query: string, given: RegistrySearchOptions = {}): Promise<SearchResult> {
    checkSearchOptions(given)
    const { searcher: _, policy, ...options } = given
    const settings = overrideSettings(this.#settings, given, this.#services.finder)
    const compiled = policy === undefined ? this.#policy : compilePolicy(policy)
    return searchWithoutSession({ ...options, query }, this.#services, settings, compiled)
  }

  /** Opens the session of a conversation: a new one, from saved state, or from a store. */
  async openSession<Dialect extends SessionDialect = SessionDialect>(
    options: SessionOptions<Dialect> = {},
  ): Promise<Session<Dialect>> {
    const read = readSessionOptions(options)
    const settings = overrideSettings<Dialect>(this.#settings, read, this.#services.finder)
    const pinned = [...settings.pinned, ...this.#preloaded]
    return openSession(this.#services, read, { ...settings, pinned })
  }

  /** Explains why a tool is shown, deferred, denied or missing, under the registry's own settings or for a session. */
  explain(name: string, session?: Session): Explanation {
    const onlooker = session?.currentTurn() ?? new RegistryOnlooker(this.#viewpoint, this.#policy)
    return explainTool(name, onlooker, this.#catalogue, this.#services)
  }

  /** Counts all registered tools, under the registry's own settings. */
  stats(): Stats {
    const view = this.#viewpoint.current()
    const names = view.snapshot.sorted.map(({ name }) => name)
    return statsOf(view, { names, loaded: view.shown.length, threshold: this.#settings.toolThreshold })
  }

  #entries(): readonly Entry[] {
    return this.#catalogue.snapshot().sorted
  }
}
