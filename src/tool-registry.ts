import type { InputOf, SchemaInput } from './authoring/define-tool.ts'
import { type FunctionOptions, functionTool } from './authoring/function-tool.ts'
import type { CallContext } from './call/call-environment.ts'
import { openGate, openGateOrNone } from './call-gate.ts'
import type { Attachment } from './capability.ts'
import { describeError, ToolcribError } from './errors.ts'
import { type Emit, EventStream, type Listener, type SyncReport } from './events.ts'
import { META_TOOL_NAMES } from './meta-tools/session-meta-tools.ts'
import { checkName } from './names.ts'
import { Catalogue } from './registry/catalogue.ts'
import type { Entry } from './registry/entry.ts'
import { type Explanation, explainEntry, explainMetaTool, explainUnknown } from './registry/explain.ts'
import { ModeTracker } from './registry/mode-tracker.ts'
import {
  type CompiledPolicy,
  checkPolicy,
  compilePolicy,
  type Policy,
  type ToolFilter,
} from './registry/policy.ts'
import type { ServerDirectory } from './registry/server-directory.ts'
import {
  localEntry,
  mcpEntries,
  mcpEntry,
  type RegisterOptions,
  type SyncOptions,
} from './registry/to-entry.ts'
import { type View, Viewer } from './registry/viewer.ts'
import { Viewers } from './registry/viewers.ts'
import {
  checkRegistryOptions,
  checkSessionOptions,
  overrideSettings,
  type RegistryOptions,
  type SessionOptions,
  type SharedOptions,
} from './registry-options.ts'
import type { SearchOptions, SearchResult } from './search/search-result.ts'
import { acceptEvery, type Searcher, type SearcherName } from './search/searcher.ts'
import { permitterOf, ToolFinder } from './search/tool-finder.ts'
import { mapTexts } from './secrets/map-texts.ts'
import { maskFor } from './secrets/mask.ts'
import type { Session } from './session/session.ts'
import type { SessionSettings } from './session/settings.ts'
import { type Stats, statsOf } from './session/stats.ts'
import { SessionOpener } from './session-opener.ts'
import { readClock } from './time.ts'
import { type CallResult, sourceKey, type Tool, type ToolCall, type ToolDefinition } from './tool.ts'
import { ToolCaller } from './tool-caller.ts'

/** What holds unless a registry or a session says otherwise. No other file names a default of these. */
const DEFAULT_SETTINGS = {
  mode: 'auto',
  defer: 'mcp',
  toolThreshold: 15,
  thresholdPercent: 10,
  contextWindow: undefined,
  pinned: [],
  maxActive: 24,
  maxActiveTokens: 0,
  searchTool: 'tool_search',
  searchStyle: 'one-step',
  searchesPerMinute: 0,
  strategy: 'auto',
  dialect: undefined,
  policy: {},
  allowlists: [],
} as const satisfies Omit<SessionSettings, 'searcher'>

const DEFAULTS = {
  /** For tools and hosts that name no deadline: a call that hangs is answered at last. */
  timeoutMs: 120_000,
  resultBudgetChars: 80_000,
  maxIdenticalCalls: 25,
  serverWaitMs: 3_000,
  /** What one answer of a search tool may take. */
  answerTokens: 5_000,
  /** What the list of names behind the search may take, in the tool's description and in the prompt note. */
  noteTokens: 400,
  searchLimit: 5,
  suggestions: 5,
} as const

/** A tool as the registry lists it for people and pages: grouped by where it is from. */
export interface ToolSchema extends ToolDefinition {
  readonly source: 'builtin' | 'plugin' | 'mcp'
  readonly mcpServer?: string
  readonly pluginId?: string
}

/** `registry.search()`: how to search, with whose eyes, by which searcher. */
export interface RegistrySearchOptions extends SearchOptions {
  readonly searcher?: SearcherName | Searcher
  /** In place of the registry's own policy. */
  readonly policy?: Policy
}

/**
 * Every tool an agent may use, where each is from, and the sessions that check them out. Readers hold immutable
 * snapshots: a change swaps them, so nobody sees half of one.
 */
export class ToolRegistry {
  readonly #options: RegistryOptions
  readonly #settings: SessionSettings
  readonly #policy: CompiledPolicy
  readonly #catalogue = new Catalogue(META_TOOL_NAMES, () => this.#modes.update())
  readonly #modes = new ModeTracker(this.#catalogue)
  readonly #viewers: Viewers
  readonly #finder: ToolFinder
  readonly #caller: ToolCaller
  readonly #sessions: SessionOpener
  readonly #viewer: Viewer
  readonly #now: () => number
  readonly #events: EventStream

  constructor(options: RegistryOptions = {}) {
    checkRegistryOptions(options)
    this.#options = options
    this.#now = readClock(options.clock ?? Date)
    const mask = maskFor(options.capabilities ?? {})
    this.#events = new EventStream({
      now: this.#now,
      mask: mask && ((event) => mapTexts(event, mask) as typeof event),
    })
    this.emit = this.#events.emit
    if (options.onEvent) this.#events.subscribe(options.onEvent)
    this.#finder = new ToolFinder({
      snapshot: () => this.#catalogue.snapshot(),
      isAvailable: (entry) => this.#isAvailable(entry),
      serverWaitMs: options.serverWaitMs ?? DEFAULTS.serverWaitMs,
      searchLimit: DEFAULTS.searchLimit,
      suggestions: DEFAULTS.suggestions,
    })
    this.#settings = this.#override({ ...DEFAULT_SETTINGS, searcher: this.#finder.standard }, options)
    this.#policy = compilePolicy(this.#settings.policy)
    this.#caller = this.#toolCaller()
    const snapshot = () => this.#catalogue.snapshot()
    this.#viewers = new Viewers({ modes: this.#modes, snapshot, emit: this.emit })
    // Its own figures count every tool: whom a policy keeps out is a matter of who looks.
    this.#viewer = new Viewer({
      settings: this.#settings,
      policy: compilePolicy({}),
      canSearch: this.#policy.denialOfMetaTool(this.#settings.searchTool) === undefined,
      snapshot,
      mode: () => this.#modes.decision(this.#settings),
      emit: this.emit,
    })
    this.#modes.decision(this.#settings)
    this.#sessions = this.#sessionOpener()
  }

  /** Registers a built-in tool, or a plugin's. Throws `tool-duplicate` or `name-invalid`. */
  register<Input>(tool: Tool<Input>, options: RegisterOptions = {}): void {
    this.#add(localEntry(tool as Tool, options), options.replace === true)
  }

  /** Registers all of them or, when one cannot be registered, none. */
  registerAll(tools: readonly Tool[]): void {
    requireList(tools, 'registerAll')
    const entries = tools.map((tool) => localEntry(tool, {}))
    this.#catalogue.addAll(entries)
    for (const { name, source } of entries) this.emit({ type: 'tool-registered', name, source })
  }

  /** Registers a plain function and wraps what it returns. It is shown from the start, in every mode. */
  registerFunction<const Schema extends SchemaInput>(
    fn: (input: InputOf<Schema>, ctx: Parameters<Tool['execute']>[1]) => unknown,
    options: FunctionOptions<Schema>,
  ): void {
    this.register(functionTool(fn, options), { preload: true })
  }

  /** Registers one tool of an MCP server, by the server's own name for it, as `mcp__<server>__<name>`. */
  registerMcp<Input>(tool: Tool<Input>, server: string): void {
    checkName(server, 'server name')
    this.#add(mcpEntry(tool as Tool, server), false)
  }

  /** Swaps all tools of one server at once. A tool that collides or cannot be registered is skipped and told. */
  syncMcp(server: string, tools: readonly Tool[], options: SyncOptions = {}): SyncReport {
    requireList(tools, 'syncMcp')
    const { entries, skipped } = mcpEntries(tools, server, options)
    const swapped = this.#catalogue.replaceSource(sourceKey({ kind: 'mcp', server }), entries)
    const report = { ...swapped, skipped: [...skipped, ...swapped.skipped] }
    for (const skip of report.skipped) this.emit({ type: 'tool-skipped', server, ...skip })
    this.emit({ type: 'server-synced', server, ...report })
    return report
  }

  /** Removes a tool; false when there was none. */
  unregister(name: string): boolean {
    const entry = this.#catalogue.remove(name)
    if (entry) this.emit({ type: 'tool-unregistered', name, source: entry.source })
    return entry !== undefined
  }

  /** Removes the tools of one MCP server, or of all; answers how many went. */
  unregisterMcp(server?: string): number {
    const mcp = this.#catalogue
      .snapshot()
      .sorted.filter(
        ({ source }) => source.kind === 'mcp' && (server === undefined || source.server === server),
      )
    const keys = new Set(mcp.map(({ source }) => sourceKey(source)))
    for (const key of keys) this.#catalogue.replaceSource(key, [])
    for (const { name, source } of mcp) this.emit({ type: 'tool-unregistered', name, source })
    return mcp.length
  }

  /** An independent copy without the tools of MCP servers. */
  withoutMcp(): ToolRegistry {
    const copy = new ToolRegistry(this.#options)
    const { sorted, quarantined } = this.#catalogue.snapshot()
    copy.#catalogue.addAll(sorted.filter(({ source }) => source.kind !== 'mcp'))
    for (const [name, reason] of quarantined) copy.#catalogue.quarantine(name, reason)
    return copy
  }

  /** Holds a tool back: neither found nor callable until `release()`, also across a sync. */
  quarantine(name: string, reason: string): void {
    this.#catalogue.quarantine(name, reason)
    this.emit({ type: 'tool-quarantined', name, reason })
  }

  /** Ends a quarantine; false when there was none. */
  release(name: string): boolean {
    const wasHeld = this.#catalogue.release(name)
    if (wasHeld) this.emit({ type: 'tool-released', name })
    return wasHeld
  }

  /** Lets searches wait for servers that are connecting, and name those that failed. Answers how to detach. */
  attachServers(directory: ServerDirectory): () => void {
    return this.#finder.attachServers(directory)
  }

  /**
   * Calls the listener for everything that happens from now on (in the registry, its sessions, calls, servers and
   * agents), or in one session. Returns how to unsubscribe. What a listener throws is ignored.
   */
  subscribe(listener: Listener, options: { readonly sessionId?: string } = {}): () => void {
    return this.#events.subscribe(listener, options)
  }

  /** Raises an event on the registry's stream. For sources of tools, and whoever runs sessions. */
  readonly emit: Emit

  /** What ranks the matches of a search that names no other. */
  get searcher(): Searcher {
    return this.#settings.searcher
  }

  /** The tool registered under a name. */
  get(name: string): Tool | undefined {
    return this.#catalogue.get(name)?.tool
  }

  /** Whether a name is registered. */
  has(name: string): boolean {
    return this.#catalogue.get(name) !== undefined
  }

  /** How many tools are registered; meta-tools do not count. */
  get size(): number {
    return this.#catalogue.size
  }

  /** The tools that are available now, by name. */
  getAvailable(): Tool[] {
    return this.#entries()
      .filter((entry) => this.#isAvailable(entry))
      .map(({ tool }) => tool)
  }

  /** The tools of one toolset, by name. */
  getForToolset(toolset: string): Tool[] {
    return this.#entries()
      .filter(({ tool }) => tool.toolset === toolset)
      .map(({ tool }) => tool)
  }

  /** Every registered tool with where it is from, by name. */
  listSchemas(): ToolSchema[] {
    return this.#entries().map(({ definition, source }) => ({
      ...definition,
      source: source.kind,
      ...(source.kind === 'mcp' ? { mcpServer: source.server } : {}),
      ...(source.kind === 'plugin' ? { pluginId: source.plugin } : {}),
    }))
  }

  /** Every permitted and available definition, by name: the surface of full mode, narrowed by these gates. */
  toDefinitions(allowedTools?: readonly string[], filter?: ToolFilter): ToolDefinition[] {
    const { denial } = openGate(this.#catalogue.snapshot(), this.#policy, { allowedTools, filter })
    const permitted = this.#entries().filter(
      (entry) => denial(entry) === undefined && this.#isAvailable(entry),
    )
    return permitted.map(({ definition }) => definition)
  }

  /** Runs calls at once, answers in their order, and never throws. */
  async executeParallel(
    calls: readonly ToolCall[],
    ctx: CallContext,
    allowedTools?: readonly string[],
    filter?: ToolFilter,
    attachments?: readonly Attachment[],
  ): Promise<CallResult[]> {
    const snapshot = this.#catalogue.snapshot()
    const gate = openGateOrNone(snapshot, this.#policy, { allowedTools, filter })
    return this.#caller.execute(calls, attachments ? { ...ctx, attachments } : ctx, { snapshot, gate })
  }

  /** Finds tools by words, names or a pattern. Denied, quarantined and unavailable tools never appear. */
  async search(
    query: string,
    { searcher, policy, ...options }: RegistrySearchOptions = {},
  ): Promise<SearchResult> {
    if (policy !== undefined) checkPolicy(policy)
    const compiled = policy ? compilePolicy(policy) : this.#policy
    return this.#finder.find({
      ...options,
      query,
      searcher: searcher === undefined ? this.#settings.searcher : this.#finder.searcher(searcher),
      permitter: () => permitterOf(this.#catalogue.snapshot(), compiled),
      permitsServer: compiled.permitsServer,
      emit: this.emit,
    })
  }

  /** Opens a conversation's session, anew or from saved state. */
  async openSession(options: SessionOptions = {}): Promise<Session> {
    checkSessionOptions(options)
    return this.#sessions.open(options, this.#override(this.#settings, options))
  }

  /** Why a tool is, or is not, there: for the registry's own settings, or for a session. */
  explain(name: string, session?: Session): Explanation {
    const entry = this.#catalogue.get(name)
    if (!entry) return this.#explainMissing(name, session)
    const view = session?.view() ?? this.#viewer.current()
    return explainEntry(entry, {
      view,
      denial: session ? view.denial(entry) : this.#policy.denial(entry),
      isActive: session?.isActive(name) ?? false,
      isAvailable: (candidate) => this.#isAvailable(candidate),
    })
  }

  /** Counts of all registered tools, under the registry's own settings. */
  stats(): Stats {
    const view = this.#viewer.current()
    const names = view.snapshot.sorted.map(({ name }) => name)
    return statsOf(view, { names, loaded: view.shown.length, threshold: this.#settings.toolThreshold })
  }

  #add(entry: Entry, replace: boolean): void {
    this.#catalogue.add(entry, { replace })
    this.emit({ type: 'tool-registered', name: entry.name, source: entry.source })
  }

  #entries(): readonly Entry[] {
    return this.#catalogue.snapshot().sorted
  }

  #isAvailable(entry: { readonly name: string; readonly tool: Tool }): boolean {
    try {
      return entry.tool.isAvailable?.() !== false
    } catch (error) {
      this.emit({ type: 'tool-hidden', name: entry.name, error: describeError(error) })
      return false
    }
  }

  #override(settings: SessionSettings, options: SharedOptions): SessionSettings {
    return overrideSettings(settings, options, (given) => this.#finder.searcher(given))
  }

  #explainMissing(name: string, session: Session | undefined): Explanation {
    if (!(META_TOOL_NAMES as readonly string[]).includes(name)) {
      return explainUnknown(
        name,
        this.#finder.suggest(name, () => true),
      )
    }
    const policy = session ? compilePolicy(session.settings.policy) : this.#policy
    return explainMetaTool(
      name,
      policy.denialOfMetaTool(name),
      session?.metaToolNames().includes(name) ?? false,
    )
  }

  #toolCaller(): ToolCaller {
    const { capabilities = {}, hooks, reducers, spill, resultBudgetChars, maxIdenticalCalls } = this.#options
    const settings = {
      backends: capabilities,
      hooks,
      reducers,
      spill,
      timeoutMs: DEFAULTS.timeoutMs,
      resultBudgetChars: resultBudgetChars ?? DEFAULTS.resultBudgetChars,
      maxIdenticalCalls: maxIdenticalCalls ?? DEFAULTS.maxIdenticalCalls,
      isAvailable: (tool: Tool) => this.#isAvailable({ name: tool.name, tool }),
      emit: this.emit,
    }
    const suggest: ToolFinder['suggest'] = (name, isPermitted) => this.#finder.suggest(name, isPermitted)
    return new ToolCaller({ settings, suggest, now: this.#now })
  }

  #sessionOpener(): SessionOpener {
    const permitted = (view: View) => (entry: Entry) => view.denial(entry) === undefined
    return new SessionOpener({
      isAvailable: (entry) => this.#isAvailable(entry),
      search: (query, options, session) =>
        this.#finder.find({
          ...options,
          query,
          searcher: session.settings.searcher,
          permitter: () => (session.view().permitsAll ? acceptEvery : session.view().permits),
          permitsServer: (server) => session.permitsServer(server),
          emit: (event) => this.emit({ ...event, sessionId: session.id }),
        }),
      execute: (calls, ctx, session) => this.#caller.executeIn(session, calls, ctx),
      findByName: (name, view) => this.#finder.findByName(name, view),
      viewOf: (settings) =>
        this.#viewers.of(settings, { ...settings.policy, allowlists: settings.allowlists }),
      waitForServers: (isWanted) => this.#finder.waitForServers(isWanted),
      newId: this.#options.newId ?? (() => crypto.randomUUID()),
      suggest: (name, view) => this.#finder.suggest(name, permitted(view)),
      servers: () => this.#finder.servers,
      spill: this.#options.spill,
      now: this.#now,
      emit: this.emit,
      countTokens: this.#options.countTokens,
      answerTokens: DEFAULTS.answerTokens,
      noteTokens: DEFAULTS.noteTokens,
    })
  }
}

function requireList(tools: unknown, method: string): void {
  if (Array.isArray(tools)) return
  throw new ToolcribError('config-invalid', `${method}() takes a list of tools; pass them as an array`)
}
