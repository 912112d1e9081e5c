import type { SchemaInput, ToolDraft } from './authoring/define-tool.ts'
import { type FunctionOptions, functionTool } from './authoring/function-tool.ts'
import type { CallContext } from './call/call-scope.ts'
import type { Attachment } from './capability.ts'
import type { Emit, Listener, SyncReport, UnmatchedPattern } from './events.ts'
import { META_TOOL_NAMES } from './names.ts'
import { definitionsOf } from './registry/availability.ts'
import { Catalogue } from './registry/catalogue.ts'
import { type ToolSchema, toolSchema } from './registry/entry.ts'
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
import { UnmatchedPatterns } from './registry/unmatched-patterns.ts'
import { ViewBuilder } from './registry/view-builder.ts'
import {
  checkSearchOptions,
  checkSubscribeOptions,
  DEFAULT_SETTINGS,
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
import { type Explanation, RegistryViewer } from './session/explain-tool.ts'
import { type SavedScript, toolOfScript } from './session/script-engine.ts'
import type { Session } from './session/session.ts'
import { Sessions } from './session/sessions.ts'
import type { SessionDialect, SessionSettings } from './session/settings.ts'
import { type Stats, statsOf } from './session/stats.ts'
import type { Skill } from './skills/skill-shelf.ts'
import type { CallResult, Listing, Tool, ToolCall, ToolDefinition, ToolSource } from './tool.ts'

/**
 * Holds every tool an agent may use, knows where each comes from, and opens sessions. Readers get immutable snapshots,
 * so nobody sees a partial change.
 */
export class ToolRegistry {
  readonly #options: RegistryOptions
  readonly #settings: SessionSettings
  readonly #policy: CompiledPolicy
  readonly #catalogue = new Catalogue(META_TOOL_NAMES, () => this.#sessions.source.modes.update())
  readonly #sessions: Sessions
  readonly #registrar: Registrar
  readonly #views: ViewBuilder
  #preloaded: readonly string[] = []
  readonly #unmatched: UnmatchedPatterns

  /** Throws `config-invalid` for an unknown option or a value out of range. */
  constructor(options: RegistryOptions = {}, ...others: never[]) {
    const read = readRegistryOptions(options, others)
    this.#options = read
    this.#sessions = new Sessions(this.#catalogue, serviceSettings(read))
    if (read.onEvent) this.subscribe(read.onEvent)
    this.emit = this.#sessions.events.emit
    this.#registrar = new Registrar(this.#catalogue, this.emit, this.#sessions.slices)
    this.#unmatched = new UnmatchedPatterns(this.#catalogue, this.emit, read.reducers, this.#sessions.skills)
    const { finder } = this.#sessions
    this.#settings = overrideSettings({ ...DEFAULT_SETTINGS, searcher: finder.standard }, read, finder)
    this.#policy = compilePolicy(this.#settings.policy)
    this.#views = new ViewBuilder(this.#settings, compilePolicy({}), this.#sessions.source, this.#policy)
  }

  /** Registers a built-in tool, or a plugin's. Throws `tool-duplicate`, `name-invalid` or `config-invalid`. */
  register<Input>(tool: Tool<Input>, options: RegisterOptions = {}): void {
    this.#registrar.register(tool as Tool, options)
    if (options.preload && options.deferred) this.preload(tool.name)
  }

  /** Registers all of them or, if one cannot be registered, none. */
  registerAll(tools: readonly Tool[]): void {
    this.#registrar.registerAll(tools)
  }

  /** Registers a plain function: preloaded while there are fewer than `toolThreshold` tools, unless `preload` decides. */
  registerFunction<const Schema extends SchemaInput>(
    fn: ToolDraft<Schema>['execute'],
    options: FunctionOptions<Schema>,
  ): void {
    this.#registrar.registerFunction(functionTool(fn, options) as Tool, options.preload)
  }

  /** Registers a script that a person has read, as a tool. Throws as `register()`, and `config-invalid` without `scripts`. */
  registerScript(script: SavedScript): void {
    this.register(toolOfScript(script, this.#options.scripts, this))
  }

  /** Registers one tool of an MCP server, by the server's own name for it, as `mcp__<server>__<name>`. */
  registerMcp<Input>(tool: Tool<Input>, server: string): void {
    this.#registrar.registerMcp(tool as Tool, server)
  }

  /** Replaces all tools of one server at once. A tool that collides or cannot be registered is skipped and reported. */
  syncMcp(server: string, tools: readonly Tool[], options: SyncOptions = {}): SyncReport {
    return this.#registrar.syncMcp(server, tools, options)
  }

  /** Prepares `syncMcp()` of a large list with the same options, in slices. The tools must not change afterwards. */
  prepareMcp(server: string, tools: readonly Tool[], options: SyncOptions = {}): Promise<void> {
    return this.#registrar.prepareMcp(server, tools, options)
  }

  /** Replaces all operations of one API at once; `registerOpenApi()` of `toolcrib/openapi` makes them of a document. */
  syncOpenApi(api: string, operations: readonly Tool[]): SyncReport {
    return this.#registrar.syncOpenApi(api, operations)
  }

  /** Registers a skill: instructions that `tool_search` finds and `load_skill` loads, in sessions opened from then on. */
  registerSkill(skill: Skill): void {
    this.#sessions.skills.add(skill)
  }

  /** Removes a skill; returns false if there was none. */
  unregisterSkill(name: string): boolean {
    return this.#sessions.skills.remove(name)
  }

  /** Returns the skills that are registered. */
  skills(): readonly Skill[] {
    return this.#sessions.skills.all()
  }

  /** Removes a tool; returns false if there was none. */
  unregister(name: string): boolean {
    return this.#registrar.unregister(name)
  }

  /** Removes the tools of one MCP server, or of all; returns how many. */
  unregisterMcp(server?: string): number {
    return this.#registrar.unregisterMcp(server)
  }

  /** Returns an independent copy without the tools of MCP servers. */
  withoutMcp(): ToolRegistry {
    const copy = new ToolRegistry(this.#options)
    copy.#registrar.copyLocal(this.#catalogue)
    copy.preload(this.#preloaded)
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

  /** Shows these tools from the start, in every session opened from now on. `missing` are names that match no tool yet. */
  preload(names: string | readonly string[]): { readonly missing: readonly string[] } {
    const wanted = typeof names === 'string' ? [names] : names
    checkNames(wanted, 'preload()')
    this.#preloaded = [...new Set([...this.#preloaded, ...wanted])]
    this.#views.pin(wanted)
    return { missing: this.#unmatched.pinned(wanted) }
  }

  /**
   * Lets searches wait for servers that are connecting, and name those that failed. Returns a function that detaches
   * them.
   */
  attachServers(directory: ServerDirectory): () => void {
    return this.#sessions.finder.attachServers(directory)
  }

  /**
   * Calls the listener for every event from now on (of the registry, its sessions, calls, servers and agents), or only
   * for those of one session. Returns a function that unsubscribes. Exceptions are ignored.
   */
  subscribe(listener: Listener, options: { readonly sessionId?: string } = {}): () => void {
    checkSubscribeOptions(options)
    return this.#sessions.events.subscribe(listener, options)
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
    return this.#sessions.finder.candidates(name).map((entry) => entry.name)
  }

  /** Returns where the tool registered under a name comes from. */
  sourceOf(name: string): ToolSource | undefined {
    return this.#catalogue.get(name)?.source
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
    const { availability } = this.#sessions
    return this.#catalogue
      .snapshot()
      .sorted.flatMap(({ tool }) => (availability.isAvailable(tool) ? [tool] : []))
  }

  /** Returns the tools of one toolset, sorted by name. */
  getForToolset(toolset: string): Tool[] {
    return this.#catalogue.snapshot().sorted.flatMap(({ tool }) => (tool.toolset === toolset ? [tool] : []))
  }

  /** Returns the tools that are deferred under the registry's own settings, sorted by name. */
  deferredTools(): readonly Listing[] {
    return [...this.#views.current().deferred.values()].map(({ listing }) => listing)
  }

  /** Returns every registered tool with its source, sorted by name. */
  listSchemas(): ToolSchema[] {
    return this.#catalogue.snapshot().sorted.map(toolSchema)
  }

  /**
   * Returns every permitted and available definition, sorted by name: the surface of full mode, narrowed by these
   * lists.
   */
  toDefinitions(allowedTools?: readonly string[], filter?: ToolFilter): ToolDefinition[] {
    const policy = narrowPolicy(this.#policy, { allowedTools, filter })
    return definitionsOf(this.#catalogue.snapshot(), policy, this.#sessions.availability)
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
    return this.#sessions.execute(calls, attachments ? { ...ctx, attachments } : ctx, policy)
  }

  /** Finds tools by words, names or a pattern. Denied, quarantined and unavailable tools never appear. */
  async search(query: string, given: RegistrySearchOptions = {}): Promise<SearchResult> {
    checkSearchOptions(given)
    const settings = overrideSettings(this.#settings, given, this.#sessions.finder)
    const policy = given.policy === undefined ? this.#policy : compilePolicy(given.policy)
    return this.#sessions.search(query, given, settings, policy)
  }

  /** Returns the names and globs, by default the registry's own, that match nothing that is registered now: probably slips. */
  unmatchedPatterns({
    policy = this.#settings.policy,
    pinned = this.#settings.pinned,
  }: Pick<SessionOptions, 'policy' | 'pinned'> = {}): readonly UnmatchedPattern[] {
    return this.#unmatched.of({ policy, pinned })
  }

  /** Opens the session of a conversation: a new one, from saved state, or from a store. */
  async openSession<Dialect extends SessionDialect = SessionDialect>(
    options: SessionOptions<Dialect> = {},
  ): Promise<Session<Dialect>> {
    const read = readSessionOptions(options)
    const settings = overrideSettings<Dialect>(this.#settings, read, this.#sessions.finder)
    const pinned = [...new Set([...settings.pinned, ...this.#preloaded])]
    this.#unmatched.report({ ...settings, pinned }, read.id, this.#sessions.finder.servers)
    return this.#sessions.open(read, { ...settings, pinned })
  }

  /** Explains why a tool is shown, deferred, denied or missing, under the registry's own settings or for a session. */
  explain(name: string, session?: Session): Explanation {
    return this.#sessions.explain(name, session?.scope() ?? new RegistryViewer(this.#views, this.#policy))
  }

  /** Counts all registered tools, under the registry's own settings. */
  stats(): Stats {
    const view = this.#views.current()
    const names = view.snapshot.sorted.map(({ name }) => name)
    return statsOf(view, { names, loaded: view.shown.length, threshold: this.#settings.toolThreshold })
  }
}
