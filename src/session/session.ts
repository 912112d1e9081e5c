import type { CallContext, CallTarget } from '../call/call-environment.ts'
import { describeError, ToolcribError } from '../errors.ts'
import type { Emit } from '../events.ts'
import { isRecord } from '../json.ts'
import type { ActivationReport } from '../meta-tools/search-powers.ts'
import type { Entry } from '../registry/entry.ts'
import type { CompiledPolicy } from '../registry/policy.ts'
import type { View, Viewer } from '../registry/viewer.ts'
import type { SearchOptions, SearchResult } from '../search/search-result.ts'
import type { CallResult, Listing, ToolCall, ToolDefinition } from '../tool.ts'
import { type Activation, Activations, type Candidate } from './activations.ts'
import { describeContext } from './describe-context.ts'
import type { MetaTools, SessionHost } from './session-host.ts'
import type { SessionSettings } from './settings.ts'
import type { SessionState, SessionStore } from './state.ts'
import { type Stats, statsOf } from './stats.ts'
import { buildSurface, type Strategy, type Surface, type SurfaceParts, surfaceTokens } from './surface.ts'

/** How a child session differs from its parent. */
export interface ForkOptions {
  /** Start with the parent's activations; true when absent. */
  readonly inheritActive?: boolean
  /** The only tools the child may use: names and globs. Wins over inheritance. */
  readonly tools?: readonly string[]
  /** Its own cap; the parent's when absent. */
  readonly maxActive?: number
  /** The dialect of its own model; the parent's when absent. */
  readonly dialect?: SessionSettings['dialect']
}

export interface SessionParts {
  readonly id: string
  readonly settings: SessionSettings
  readonly policy: CompiledPolicy
  readonly viewer: Viewer
  readonly saved: readonly Activation[]
  /** Makes the meta-tools for one view of the catalogue. */
  metaTools(session: Session, view: View, strategy: Strategy): MetaTools
  readonly store?: SessionStore | undefined
}

/** One conversation's activations, and the surface of each of its turns. Opened by `registry.openSession()`. */
export class Session {
  readonly id: string
  readonly #host: SessionHost
  readonly #parts: SessionParts
  readonly #activations: Activations
  #turn: { readonly view: View; readonly strategy: Strategy; readonly metaTools: MetaTools } | undefined
  #untoldEvictions: string[] = []
  readonly #toldChanges = new Map<string, string>()

  constructor(host: SessionHost, parts: SessionParts) {
    this.id = parts.id
    this.#host = host
    this.#parts = parts
    this.#activations = new Activations(parts.settings)
    this.#restore(parts.saved)
  }

  /** What it decides by: the registry's options, overridden by its own. */
  get settings(): SessionSettings {
    return this.#parts.settings
  }

  /** The tools of this turn: frozen, and byte for byte the same until the catalogue or the activations change. */
  surface(): Surface {
    const parts = this.#surfaceParts()
    const surface = buildSurface(parts)
    const { deferredCount, fingerprint, tools } = surface
    this.#emit({
      type: 'surfaced',
      tools: tools.length,
      tokens: surfaceTokens(parts),
      deferredCount,
      fingerprint,
    })
    return surface
  }

  /** Finds tools this session may use. Nothing is activated. */
  search(query: string, options: SearchOptions = {}): Promise<SearchResult> {
    return this.#host.search(query, options, this)
  }

  /** Checks tools out, best first. Names that are unknown, denied or unavailable come back as `missing`. */
  async activate(names: readonly string[]): Promise<ActivationReport> {
    const report = this.#checkOut(names, 'activated')
    await this.#save()
    return report
  }

  /** Gives tools back; answers with the names that were active. */
  async deactivate(names: readonly string[]): Promise<readonly string[]> {
    const gone = this.#activations.deactivate(names)
    if (gone.length > 0) this.#emit({ type: 'deactivated', ...totals(gone) })
    await this.#save()
    return gone.map(({ name }) => name)
  }

  /** Checks tools out for good: outside the cap, never evicted. */
  async preload(names: readonly string[]): Promise<ActivationReport> {
    const { candidates, visible, missing } = this.#sort(names)
    this.#activations.preload(candidates)
    if (candidates.length > 0) this.#emit({ type: 'activated', ...totals(candidates) })
    await this.#save()
    return { activated: [...visible, ...candidates.map(({ name }) => name)], evicted: [], missing }
  }

  /** Runs calls at once, answers in their order, and never throws. A permitted tool that was not shown is checked out. */
  async execute(calls: readonly ToolCall[], ctx: Partial<CallContext> = {}): Promise<CallResult[]> {
    const turn = this.#current()
    const changed = this.#changed(turn.view)
    const known = new Set(
      this.#activations
        .list()
        .map(({ name }) => name)
        .filter((name) => !changed.includes(name)),
    )
    const used = new Set<string>()
    const results = await this.#host.execute(
      calls,
      { ...ctx, sessionId: this.id },
      {
        view: turn.view,
        searchToolName: turn.view.deferred.size > 0 ? this.#parts.settings.searchTool : undefined,
        resolve: (call) => this.#resolve(call) ?? this.#miss(call.name),
        denial: ({ tool }) => this.#denial(tool.name),
        onUse: ({ tool }) => used.add(tool.name),
        needsSchema: ({ tool }) =>
          turn.view.deferred.has(tool.name) && (turn.strategy === 'dispatch' || !known.has(tool.name)),
      },
    )
    await this.#noteUse([...used]).catch((error: unknown) => {
      // The calls have run and must be answered; the store catches up with the next change.
      this.#emit({ type: 'save-failed', error: describeError(error) })
    })
    return results
  }

  /** What waits behind the search: permitted, deferred, not active. */
  deferred(): readonly Listing[] {
    const waiting = [...this.#current().view.deferred.values()].filter(
      ({ name }) => !this.#activations.has(name),
    )
    return waiting.map(({ listing }) => listing)
  }

  /** Opens a session for a sub-agent: a snapshot of this one, with its own search. Nothing it does comes back here. */
  fork({ inheritActive = true, tools, maxActive, dialect }: ForkOptions = {}): Session {
    const { settings } = this.#parts
    const narrowed: SessionSettings = {
      ...settings,
      maxActive: maxActive ?? settings.maxActive,
      dialect: dialect ?? settings.dialect,
      // A child passes its parent's gates and its own.
      allowlists: tools === undefined ? settings.allowlists : [...settings.allowlists, tools],
    }
    return this.#host.fork(this, narrowed, inheritActive ? this.#activations.list() : [])
  }

  /** What this session costs, as text: `MCP active: N/cap (a, b, c)`, tokens per source, tokens saved. */
  context(): string {
    return describeContext(this.#surfaceParts(), {
      activations: this.#activations.list(),
      changed: this.#changed(this.#current().view),
      maxActive: this.#parts.settings.maxActive,
      countTokens: this.#host.countTokens,
    })
  }

  /** Counts of the tools this session may use. */
  stats(): Stats {
    const { view } = this.#current()
    const names = [...view.shown.map(({ name }) => name), ...view.deferred.keys()].sort()
    const active = this.#activations.list().filter(({ name }) => view.deferred.has(name))
    const { toolThreshold } = this.#parts.settings
    return statsOf(view, { names, loaded: view.shown.length + active.length, threshold: toolThreshold })
  }

  /** A paragraph for the system prompt; `''` when nothing is deferred. It changes with the catalogue, not on activation. */
  promptNote(): string {
    return this.#current().metaTools.promptNote
  }

  /** Everything to go on from later: `openSession({ state })`. */
  toJSON(): SessionState {
    const { allowlists } = this.#parts.settings
    return {
      version: 1,
      id: this.id,
      activations: this.#activations.list(),
      ...(allowlists.length > 0 ? { allowlists } : {}),
    }
  }

  /** Whether a tool is checked out. */
  isActive(name: string): boolean {
    return this.#activations.has(name)
  }

  /** The meta-tools that are shown now. */
  metaToolNames(): readonly string[] {
    return this.#current().metaTools.shown.map(({ name }) => name)
  }

  /** False for a server that this session's policy keeps out. */
  permitsServer(server: string): boolean {
    return this.#parts.policy.permitsServer(server)
  }

  /** The view of the newest catalogue. */
  view(): View {
    return this.#current().view
  }

  /** The definition a name means here, however it is written; undefined when it is unknown, denied or unavailable. */
  describe(name: string): ToolDefinition | undefined {
    const entry = this.#host.findByName(name, this.#current().view)
    return entry && this.#host.isAvailable(entry) ? entry.definition : undefined
  }

  /** Evictions the model has not been told of yet; asking takes them as told. */
  takeEvictions(): readonly string[] {
    const untold = this.#untoldEvictions
    this.#untoldEvictions = []
    return untold
  }

  /** What a smaller cap leaves no room for is told like any other eviction. */
  #restore(saved: readonly Activation[]): void {
    const evicted = this.#activations.restore(saved)
    if (evicted.length === 0) return
    this.#untoldEvictions.push(...evicted.map(({ name }) => name))
    this.#emit({ type: 'evicted', ...totals(evicted) })
  }

  #surfaceParts(): SurfaceParts {
    const { view, strategy, metaTools } = this.#current()
    const active = this.#activations.list().flatMap(({ name }) => view.deferred.get(name) ?? [])
    return {
      shown: view.shown.filter((entry) => this.#host.isAvailable(entry)),
      metaTools: metaTools.shown,
      activated: active.filter((entry) => this.#host.isAvailable(entry)),
      view,
      strategy,
    }
  }

  #current() {
    const view = this.#parts.viewer.current()
    if (this.#turn?.view !== view) {
      const strategy = this.#strategy()
      this.#turn = { view, strategy, metaTools: this.#parts.metaTools(this, view, strategy) }
      this.#tellChanges(view)
    }
    return this.#turn
  }

  /** A tool that was checked out with another definition is told of, once for each definition. */
  #tellChanges(view: View): void {
    for (const { name, fingerprint } of this.#activations.list()) {
      const entry = view.deferred.get(name)
      if (!entry || entry.fingerprint === fingerprint || this.#toldChanges.get(name) === entry.fingerprint)
        continue
      this.#toldChanges.set(name, entry.fingerprint)
      this.#emit({ type: 'definition-changed', name })
    }
  }

  /** Active tools whose definition is not the one they were checked out with. */
  #changed(view: View): readonly string[] {
    const changed = this.#activations.list().filter(({ name, fingerprint }) => {
      const entry = view.deferred.get(name)
      return entry !== undefined && entry.fingerprint !== fingerprint
    })
    return changed.map(({ name }) => name)
  }

  #strategy(): Strategy {
    const { settings } = this.#parts
    const strategy =
      settings.strategy === 'auto' ? (settings.dialect?.strategy ?? 'append') : settings.strategy
    // Without call_tool a dispatch surface would show what it cannot call.
    if (strategy === 'dispatch' && this.#parts.policy.denialOfMetaTool('call_tool') !== undefined)
      return 'append'
    return strategy
  }

  #resolve(call: ToolCall): CallTarget | undefined {
    const { view, metaTools, strategy } = this.#current()
    const metaTool = metaTools.shown.find(({ name }) => name === call.name)
    if (metaTool?.name === 'call_tool' && strategy === 'dispatch')
      return this.#resolveDispatched(call) ?? targetOf(metaTool, call.args)
    if (metaTool) return targetOf(metaTool, call.args)
    const entry = view.snapshot.get(call.name)
    return entry && targetOf(entry, call.args)
  }

  /** The pipeline sees the tool that `call_tool` names, once; what it cannot name, `call_tool` itself explains. */
  #resolveDispatched({ toolCallId, args }: ToolCall): CallTarget | undefined {
    if (!isRecord(args) || typeof args.name !== 'string' || args.name === 'call_tool') return undefined
    const { view } = this.#current()
    const direct = this.#resolve({ toolCallId, name: args.name, args: args.arguments })
    if (direct) return direct
    const entry = this.#host.findByName(args.name, view)
    return entry && targetOf(entry, args.arguments)
  }

  #miss(name: string): undefined {
    this.#emit({ type: 'missed', what: 'name', text: name })
  }

  #denial(name: string): string | undefined {
    const { view, metaTools } = this.#current()
    // A meta-tool that is shown is permitted; its name is reserved, so it cannot be another tool's.
    if (metaTools.shown.some((metaTool) => metaTool.name === name)) return undefined
    const entry = view.snapshot.get(name)
    return entry ? view.denial(entry) : 'its removal from the registry'
  }

  async #noteUse(names: readonly string[]): Promise<void> {
    if (names.length === 0) return
    const { view } = this.#current()
    const inactive = names.filter((name) => view.deferred.has(name) && !this.#activations.has(name))
    for (const name of names) this.#activations.use(name)
    if (inactive.length > 0) {
      const { evicted } = this.#checkOut(inactive, 'auto-activated')
      this.#untoldEvictions.push(...evicted)
    }
    await this.#save()
  }

  #checkOut(names: readonly string[], type: 'activated' | 'auto-activated'): ActivationReport {
    const { candidates, visible, missing } = this.#sort(names)
    const isNew = new Set(
      candidates.filter(({ name }) => !this.#activations.has(name)).map(({ name }) => name),
    )
    const { activated, evicted } = this.#activations.activate(candidates)
    const fresh = candidates.filter(({ name }) => isNew.has(name) && activated.includes(name))
    if (fresh.length > 0) this.#emit({ type, ...totals(fresh) })
    if (evicted.length > 0) this.#emit({ type: 'evicted', ...totals(evicted) })
    const isCallable = new Set([...visible, ...activated])
    return {
      activated: names.filter((name) => isCallable.has(name)),
      evicted: evicted.map(({ name }) => name),
      missing,
    }
  }

  #sort(names: readonly string[]) {
    const { view } = this.#current()
    const candidates: Candidate[] = []
    const visible: string[] = []
    const missing: string[] = []
    for (const name of names) {
      const entry = view.snapshot.get(name)
      const isUsable = entry && view.denial(entry) === undefined && this.#host.isAvailable(entry)
      if (!isUsable) missing.push(name)
      else if (view.deferred.has(name))
        candidates.push({ name, fingerprint: entry.fingerprint, tokens: entry.tokens })
      else visible.push(name)
    }
    return { candidates, visible, missing }
  }

  #emit: Emit = (event) => this.#host.emit({ ...event, sessionId: this.id })

  async #save(): Promise<void> {
    try {
      await this.#parts.store?.save(this.toJSON())
    } catch (cause) {
      throw new ToolcribError('store-unavailable', `the session "${this.id}" could not be saved`, { cause })
    }
  }
}

function targetOf(entry: Entry, args: unknown): CallTarget {
  return { tool: entry.tool, source: entry.source, args, registration: entry }
}

function totals(tools: readonly { name: string; tokens: number }[]) {
  return { names: tools.map(({ name }) => name), tokens: tools.reduce((sum, { tokens }) => sum + tokens, 0) }
}
