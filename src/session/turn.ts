import type { CallScope, CallTarget } from '../call/call-scope.ts'
import { readSearchAnswer } from '../meta-tools/answer.ts'
import { dispatchedCall } from '../meta-tools/call-tool.ts'
import type {
  ActivationReport,
  DeferredResult,
  Origin,
  SearchSession,
  ServerChanges,
} from '../meta-tools/search-session.ts'
import { promptNote, type SearchLimit, sessionMetaTools } from '../meta-tools/session-meta-tools.ts'
import { isApproved, sourceKey } from '../names.ts'
import type { Entry } from '../registry/entry.ts'
import type { CompiledPolicy } from '../registry/policy.ts'
import type { ServerDirectory, ServerStatus } from '../registry/server-directory.ts'
import type { View } from '../registry/view.ts'
import type { SearchOptions } from '../search/search-result.ts'
import type { ToolCall, ToolDefinition, ToolResult } from '../tool.ts'
import type { Candidate } from './activations.ts'
import type { Checkout } from './checkout.ts'
import type { Onlooker } from './explain-tool.ts'
import { FirstRequest } from './first-request.ts'
import { settingsId } from './sent-request.ts'
import type { SessionSearch } from './session-search.ts'
import type { SessionServices } from './session-services.ts'
import type { SessionViewpoint } from './session-viewpoint.ts'
import type { SessionDialect, SessionSettings } from './settings.ts'
import { buildSurface, type Strategy, type Surface, type SurfaceParts } from './surface.ts'

/** What a turn is made of. */
export interface TurnOptions {
  readonly sessionId: string
  readonly settings: SessionSettings
  readonly viewpoint: SessionViewpoint
  readonly checkout: Checkout
  readonly searches: SessionSearch
  readonly services: SessionServices
  readonly searchLimit: SearchLimit
  /** Servers for `wait_for_servers`; undefined when it is not shown in this session. */
  readonly servers: ServerDirectory | undefined
}

/**
 * One turn of a session: a view of the catalogue, a strategy and the meta-tools over what is checked out. It builds the
 * surface the model sees, and it is the scope in which the model's calls run.
 */
export class Turn implements CallScope, SearchSession, Onlooker {
  readonly sessionId: string
  readonly view: View
  readonly strategy: Strategy
  readonly metaTools: readonly Entry[]
  /** A paragraph for the system prompt; '' when nothing is deferred. */
  readonly promptNote: string
  readonly #options: TurnOptions
  readonly #behind: string
  readonly #hostTools: number
  #first: FirstRequest | undefined

  constructor(options: TurnOptions) {
    const { settings, viewpoint, services } = options
    this.#options = options
    this.sessionId = options.sessionId
    this.view = viewpoint.current()
    const { first } = viewpoint
    this.#first = first
    this.#hostTools = viewpoint.hostTools
    this.#behind = first?.behind ?? services.notes.of(this.view)
    this.strategy =
      first?.surface.strategy ?? viewpoint.strategyFor(settings.strategy, () => this.#nativeCount())
    this.metaTools = this.#metaToolsFor(this.strategy)
    const isDispatch = this.strategy === 'dispatch'
    this.promptNote = first?.promptNote ?? promptNote(this.view.deferred.size, { ...settings, isDispatch })
  }

  /**
   * Builds the tools of this turn: frozen, and the same object as `before` while nothing changed. The first one that a
   * provider gets and that need not grow decides the bytes of all later ones.
   */
  surface(before?: Surface): Surface {
    const { viewpoint, services, settings } = this.#options
    const { first } = viewpoint
    const isAvailable = ({ tool }: Entry) => services.availability.isAvailable(tool)
    if (first?.hasSearch) return first.grown(this.view, isAvailable, viewpoint)
    const parts = this.surfaceParts()
    // Without a search, what has joined or become available since has to be shown.
    if (first && parts.shown.every(({ name }) => first.hasSent(name))) return first.surface
    const surface = buildSurface(parts, before)
    // What is deferred must be within reach of a search.
    const canStay =
      this.strategy !== 'append' && (this.view.deferred.size === 0 || this.searchToolName !== undefined)
    if (settings.dialect !== undefined && canStay) this.#beginWith(surface, settings.dialect)
    return surface
  }

  /** Makes a surface the first request of the conversation. */
  #beginWith(surface: Surface, dialect: SessionDialect): void {
    const { viewpoint, services, settings } = this.#options
    this.#first = new FirstRequest({
      settings: settingsId(dialect, settings, services),
      surface,
      behind: this.#behind,
      promptNote: this.promptNote,
      lateTools: [],
      servers: this.view.serverNames(),
      // The description of the search tool, or the system prompt, has the warning where there is such a server.
      isWarned: surface.untrustedServers !== undefined,
    })
    viewpoint.begin(this.#first)
  }

  /**
   * False once the catalogue, the first request or the room that the host needs has changed. A first request that this
   * turn made is not a change.
   */
  get isCurrent(): boolean {
    const { viewpoint } = this.#options
    const isSameView = viewpoint.current() === this.view
    return isSameView && viewpoint.first === this.#first && viewpoint.hostTools === this.#hostTools
  }

  /** What the surface is built of: available tools only. */
  surfaceParts(): SurfaceParts {
    const { checkout, services } = this.#options
    const { view, strategy } = this
    const isAvailable = ({ tool }: Entry) => services.availability.isAvailable(tool)
    const active = checkout.state.flatMap(({ name }) => view.deferred.get(name) ?? [])
    return {
      shown: view.shown.filter(isAvailable),
      metaTools: this.metaTools,
      activated: active.filter(isAvailable),
      view,
      strategy,
    }
  }

  /** Active tools whose definition is not the one they were checked out with. */
  changedTools(): readonly Entry[] {
    return this.#options.checkout.state.flatMap(({ name, fingerprint }) => {
      const entry = this.view.deferred.get(name)
      return entry !== undefined && entry.fingerprint !== fingerprint ? [entry] : []
    })
  }

  /** Says why a permitted tool is shown or deferred. */
  explain(entry: Entry): string {
    return this.#options.viewpoint.explain(entry)
  }

  /** Whether a tool is checked out for good. */
  isKept(name: string): boolean {
    return this.#options.checkout.state.some((activation) => activation.name === name && activation.isKept)
  }

  get policy(): CompiledPolicy {
    return this.view.policy
  }

  // The scope of calls.

  get searchToolName(): string | undefined {
    return this.#metaTool(this.#options.settings.searchTool)?.name
  }

  get canReadResults(): boolean {
    return this.#metaTool('read_result') !== undefined
  }

  /** A call through `call_tool` resolves to the tool it names; a call it cannot resolve is explained by `call_tool`. */
  resolve({ name, args }: ToolCall): CallTarget | undefined {
    const metaTool = this.#metaTool(name)
    if (metaTool?.name === 'call_tool') return this.#resolveDispatched(args) ?? { entry: metaTool, args }
    const entry = metaTool ?? this.view.snapshot.get(name)
    return entry && { entry, args }
  }

  denial({ entry }: CallTarget): string | undefined {
    // A meta-tool that is shown is permitted; its name is reserved, so it cannot be another tool's.
    return this.metaTools.includes(entry) ? undefined : this.view.denial(entry)
  }

  isGone(name: string): boolean {
    const { viewpoint, checkout } = this.#options
    const wasHere = viewpoint.first?.hasSent(name) === true || checkout.has(name)
    return wasHere && viewpoint.current().snapshot.get(name) === undefined
  }

  missingServers(name: string): readonly ServerStatus[] {
    const { viewpoint, services } = this.#options
    return viewpoint.missingServers(name, services.finder.servers)
  }

  suggest(name: string): readonly string[] {
    const view = this.#options.viewpoint.current()
    return this.#options.services.finder.suggest(name, (entry) => view.denial(entry) === undefined)
  }

  /** The model has seen the schema of what is on the surface, or was checked out with the definition it has now. */
  needsSchema({ entry }: CallTarget): boolean {
    if (this.#options.viewpoint.first?.hasSentOther(entry)) return true
    if (!this.view.deferred.has(entry.name)) return false
    if (this.strategy === 'dispatch') return true
    return !this.isActive(entry.name) || this.changedTools().includes(entry)
  }

  noteUses(targets: readonly CallTarget[]): void {
    const deferred = targets.map(({ entry }) => entry).filter(({ name }) => this.view.deferred.has(name))
    this.#options.checkout.noteUses(deferred.map(candidateOf))
  }

  /** The tool's own server, or those whose tools a search describes. */
  untrustedServers({ entry }: CallTarget, result: ToolResult): readonly string[] {
    if (entry.untrustedServer !== undefined) return [entry.untrustedServer]
    if (!entry.isSelfLimiting || !result.ok) return []
    const { snapshot } = this.#options.viewpoint.current()
    const { described } = readSearchAnswer(result.structured)
    return [...new Set(described.flatMap((name) => snapshot.get(name)?.untrustedServer ?? []))].sort()
  }

  // What meta-tools do. They look at the newest catalogue: servers may have connected while the turn was under way.

  searchDeferred(query: string, options: SearchOptions): Promise<DeferredResult> {
    return this.#options.searches.deferred(query, options)
  }

  async activate(names: readonly string[]): Promise<ActivationReport> {
    const { checkout, viewpoint } = this.#options
    const { candidates, visible, missing } = this.sort(names)
    const { activated, evicted } = checkout.activate(candidates)
    viewpoint.first?.noteFound(activated)
    await checkout.save()
    const isCallable = new Set([...visible, ...activated])
    return { activated: names.filter((name) => isCallable.has(name)), evicted, missing }
  }

  /** Sorts names into what can be checked out, what is shown anyway, and what is unknown, denied or unavailable. */
  sort(names: readonly string[]): { candidates: Candidate[]; visible: string[]; missing: string[] } {
    const { viewpoint, services } = this.#options
    const view = viewpoint.current()
    const candidates: Candidate[] = []
    const visible: string[] = []
    const missing: string[] = []
    for (const name of names) {
      const entry = view.snapshot.get(name)
      const isUsable =
        entry && view.denial(entry) === undefined && services.availability.isAvailable(entry.tool)
      if (!isUsable) missing.push(name)
      else if (view.deferred.has(name)) candidates.push(candidateOf(entry))
      else visible.push(name)
    }
    return { candidates, visible, missing }
  }

  describe(name: string): ToolDefinition | undefined {
    const { viewpoint, services } = this.#options
    const entry = services.finder.findByName(name, viewpoint.current())
    return entry && services.availability.isAvailable(entry.tool) ? entry.definition : undefined
  }

  tokensOf(name: string): number {
    return this.#options.viewpoint.current().snapshot.get(name)?.tokens ?? 0
  }

  isActive(name: string): boolean {
    return this.#options.checkout.has(name)
  }

  isDeclared(name: string): boolean {
    // A session that returns everything again may hold several conversations.
    return this.strategy === 'append' && this.#options.settings.searchAgain !== 'all' && this.isActive(name)
  }

  originOf(name: string): Origin | undefined {
    const entry = this.#options.viewpoint.current().snapshot.get(name)
    return entry && { source: sourceKey(entry.source), isApproved: isApproved(entry.listing) }
  }

  serverNames(): readonly string[] {
    return this.#options.viewpoint.current().serverNames()
  }

  deferrableCount(): number {
    return this.#options.viewpoint.current().deferred.size
  }

  takeServerChanges(): ServerChanges {
    const { viewpoint } = this.#options
    return viewpoint.first?.takeServerChanges(viewpoint.current()) ?? { joined: [], left: [] }
  }

  takeEvictions(): readonly string[] {
    return this.#options.checkout.takeEvictions()
  }

  waitForServers(): Promise<readonly ServerStatus[]> {
    const { viewpoint, services } = this.#options
    return services.finder.waitForServers((server) => viewpoint.policy.permitsServer(server))
  }

  /** How many tools a request sends where the provider defers. */
  #nativeCount(): number {
    const { shown, deferred } = this.view
    return shown.length + deferred.size + this.#metaToolsFor('native').length
  }

  #metaToolsFor(strategy: Strategy): readonly Entry[] {
    const { settings, viewpoint, services, servers, searchLimit } = this.#options
    return sessionMetaTools(this, {
      ...settings,
      isDispatch: strategy === 'dispatch',
      dispatchesLateTools: strategy === 'native' && viewpoint.callsLateTools,
      policy: viewpoint.policy,
      behind: this.#behind,
      maxAnswerTokens: services.answerTokens,
      spill: services.spill,
      servers,
      searchLimit,
    })
  }

  #metaTool(name: string): Entry | undefined {
    return this.metaTools.find((metaTool) => metaTool.name === name)
  }

  #resolveDispatched(args: unknown): CallTarget | undefined {
    const named = dispatchedCall(args)
    if (named === undefined) return undefined
    const entry =
      this.#metaTool(named.name) ??
      this.view.snapshot.get(named.name) ??
      this.#options.services.finder.findByName(named.name, this.view)
    return entry && { entry, args: named.args }
  }
}

function candidateOf({ name, fingerprint, tokens }: Entry): Candidate {
  return { name, fingerprint, tokens }
}
