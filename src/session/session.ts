import { contextWith, hooksOf } from '../call/call-runner.ts'
import type { CallContext } from '../call/call-scope.ts'
import { checkOptions } from '../check-options.ts'
import type { EventBody, Listener } from '../events.ts'
import type { ActivationReport } from '../meta-tools/search-session.ts'
import { SearchLimit } from '../meta-tools/session-meta-tools.ts'
import { SEARCH_RULES, type SearchOptions, type SearchResult } from '../search/search-result.ts'
import type { CallResult, Listing, ToolCall } from '../tool.ts'
import type { Meter } from '../usage.ts'
import { Checkout } from './checkout.ts'
import { describeContext } from './describe-context.ts'
import { FirstRequest } from './first-request.ts'
import { type ForkOptions, forkActivations, forkSettings, type Inherited, inheritedFrom } from './fork.ts'
import { type HostToolOf, type MessageOf, ModelTurn, type TurnRequestOptions } from './model-turn.ts'
import { SavedFirstRequest } from './saved-first-request.ts'
import { settingsId } from './sent-request.ts'
import { SessionSearch } from './session-search.ts'
import type { SessionParameters, SessionServices } from './session-services.ts'
import { SessionViewpoint } from './session-viewpoint.ts'
import { listOf, type SessionDialect, type SessionSettings } from './settings.ts'
import { type SessionState, writeState } from './state.ts'
import { type Stats, statsOf } from './stats.ts'
import { type Surface, surfaceTokens } from './surface.ts'
import { Turn, type TurnOptions } from './turn.ts'

/** One conversation's activations, and the surface of each of its turns. Opened by `registry.openSession()`. */
export class Session<Dialect extends SessionDialect = SessionDialect> {
  /** The key of the session in its store, and what `sessionId` of its calls is. */
  readonly id: string
  /** The complete settings: the registry's options, overridden by its own. */
  readonly settings: SessionSettings<Dialect>
  /** Count what is spent here, the nearest caller's last: those of the calls during which the session was forked. */
  readonly meters: readonly Meter[]
  readonly #services: SessionServices
  readonly #viewpoint: SessionViewpoint
  readonly #checkout: Checkout
  readonly #searches: SessionSearch
  readonly #savedFirst: SavedFirstRequest | undefined
  readonly #searchLimit: SearchLimit
  readonly #turnOptions: TurnOptions
  #turn: Turn | undefined
  #surface: Surface | undefined
  /** By name: the changed definition that was reported last. */
  readonly #reportedChanges = new Map<string, string>()
  /** What forks inherit: from this session's parent, and from each batch of calls under way. */
  readonly #inherited: Inherited
  readonly #batches = new Set<Inherited>()
  readonly #underWay = new Set<Promise<unknown>>()
  #forks = 0

  constructor(services: SessionServices, parameters: SessionParameters<Dialect>) {
    const { id, settings, activations, sent, replacesSaved, store, parentId } = parameters
    const { hooks = [], meters = [] } = parameters
    const { events, schedule, background, viewpoints, finder, now, newId } = services
    this.id = id
    this.settings = settings
    this.meters = meters
    this.#services = services
    this.#inherited = { hooks, meters }
    const parent = parentId === undefined ? {} : { parentId }
    this.emit({ type: 'session-opened', restored: activations.length, ...parent })
    const { policy, allowlists, dialect } = settings
    const viewpoint = new SessionViewpoint(viewpoints.of(settings, { ...policy, allowlists }), dialect)
    const place = { id, writer: store ? newId() : '', schedule, background, emit: events.emit }
    const made = dialect && settingsId(dialect, settings, services)
    if (sent && sent.settings === made) viewpoint.begin(new FirstRequest(sent))
    if (store) this.#savedFirst = new SavedFirstRequest(viewpoint, made, { ...place, store })
    const checkout = new Checkout(activations, viewpoint, { ...place, store, allowlists, caps: settings })
    const searches = new SessionSearch(services, viewpoint, checkout, this)
    const searchLimit = parameters.searchLimit ?? new SearchLimit(settings.searchesPerMinute, now)
    const servers = viewpoint.awaitable(finder.servers)
    this.#viewpoint = viewpoint
    this.#checkout = checkout
    this.#searches = searches
    this.#searchLimit = searchLimit
    const scope = { settings, viewpoint, checkout, searches, services, searchLimit, servers }
    this.#turnOptions = { sessionId: id, ...scope }
    if (replacesSaved) {
      this.#savedFirst?.replaceSaved()
      checkout.replaceSaved()
    } else if (sent) this.#savedFirst?.noteStored(sent)
    checkout.fit()
  }

  /**
   * Opens one turn of a conversation with the session's dialect: `request` goes to the provider's client, and
   * `answer(response)` runs the calls and returns the messages to append. Throws `config-invalid` for a session that was
   * opened without a dialect.
   */
  turn(
    messages: readonly MessageOf<Dialect>[],
    options?: TurnRequestOptions<HostToolOf<Dialect>> & { readonly hint?: false },
  ): ModelTurn<Dialect>
  /** With `hint: true`, the request has a line after the user's newest message if tools probably fit; see `hinted()`. */
  turn(
    messages: readonly MessageOf<Dialect>[],
    options: TurnRequestOptions<HostToolOf<Dialect>> & { readonly hint: true },
  ): Promise<ModelTurn<Dialect>>
  turn(
    messages: readonly MessageOf<Dialect>[],
    options: TurnRequestOptions<HostToolOf<Dialect>> = {},
  ): ModelTurn<Dialect> | Promise<ModelTurn<Dialect>> {
    if (options.hint !== true) return new ModelTurn(this, messages, options)
    return this.hinted(messages).then((hinted) => new ModelTurn(this, hinted, options))
  }

  /**
   * Searches the newest message, if it is a user's, and returns the messages with a line after it that names tools which
   * probably fit. Lines of earlier messages are repeated, so that the cached prefix holds.
   */
  hinted<Message>(messages: readonly Message[]): Promise<readonly Message[]> {
    return this.#searches.hints.added(messages)
  }

  /**
   * Returns the tools of this turn: frozen, and the same object until the catalogue or the activations change. With a
   * dialect, and a strategy other than append, all surfaces of a session begin with the bytes of the first one: tools that
   * come later are found by the search, and those that leave stay declared. `hostTools` is how many tools the host adds
   * to the request, where its provider limits their number.
   */
  surface(hostTools = 0): Surface {
    this.#viewpoint.leaveRoom(hostTools)
    const surface = this.currentTurn().surface(this.#surface)
    this.#surface = surface
    if (this.#services.events.hasListeners) {
      const { deferredCount, fingerprint, tools } = surface
      const cost = { tools: tools.length, tokens: surfaceTokens(surface) }
      this.emit({ type: 'surfaced', ...cost, deferredCount, fingerprint })
    }
    if (this.#savedFirst?.isDue) void this.#track(this.#savedFirst.save())
    return surface
  }

  /**
   * Returns the surface to write the results of a turn with, given the one it began with: a server may have joined
   * meanwhile, and what a search found there is declared in the newest surface only.
   */
  surfaceAfter(before: Surface): Surface {
    if (before.deferredTools === undefined) return before
    const now = this.currentTurn().surface(before)
    return now.strategy === before.strategy ? now : before
  }

  /** Finds tools this session may use. Activates nothing. Rejects with `config-invalid` for an unknown option. */
  async search(query: string, options: SearchOptions = {}): Promise<SearchResult> {
    checkOptions<SearchOptions>('search()', options, SEARCH_RULES)
    return this.#searches.all(query, options)
  }

  /**
   * Checks tools out, best first. Names that are unknown, denied or unavailable come back as `missing`. What is evicted is
   * also named in the next answer of the search tool.
   */
  async activate(names: readonly string[]): Promise<ActivationReport> {
    const report = await this.#track(this.currentTurn().activate(listOf(names, 'activate')))
    this.#checkout.noteEvictions(report.evicted)
    return report
  }

  /** Gives tools back; returns the names that were active. */
  async deactivate(names: readonly string[]): Promise<readonly string[]> {
    const gone = this.#checkout.deactivate(listOf(names, 'deactivate'))
    await this.#track(this.#checkout.save())
    return gone
  }

  /** Checks tools out permanently: outside the cap, never evicted. */
  async preload(names: string | readonly string[]): Promise<ActivationReport> {
    const wanted = listOf(typeof names === 'string' ? [names] : names, 'preload')
    const { candidates, visible, missing } = this.currentTurn().sort(wanted)
    this.#checkout.preload(candidates)
    await this.#track(this.#checkout.save())
    return { activated: [...visible, ...candidates.map(({ name }) => name)], evicted: [], missing }
  }

  /**
   * Runs calls at once and returns their results in order; never throws. A permitted tool that was not shown is checked
   * out. `hooks` of the context run around each call, and around those of sub-agents that these calls start.
   */
  execute(
    calls: readonly ToolCall[],
    context: Omit<Partial<CallContext>, 'sessionId'> = {},
  ): Promise<CallResult[]> {
    return this.#track(this.#execute(calls, context))
  }

  /**
   * Applies what another process changed in this session since it was opened here or last saved. Waits for the store for
   * a limited time. Never rejects.
   */
  refresh(): Promise<void> {
    return this.#track(this.#refresh())
  }

  /** The tools behind the search: permitted, deferred and not active. */
  deferred(): readonly Listing[] {
    const { view } = this.currentTurn()
    const waiting = [...view.deferred.values()].filter(({ name }) => !this.#checkout.has(name))
    return waiting.map(({ listing }) => listing)
  }

  /**
   * Opens a session for a sub-agent: a copy of this one, with its own search. Nothing it does affects this one. Hooks
   * and meters of the calls that are running apply to it too. Throws `config-invalid` for an unknown key.
   */
  fork(options: ForkOptions = {}): Session {
    const settings = forkSettings(this.settings, options)
    return new Session(this.#services, {
      id: `${this.id}/${++this.#forks}`,
      parentId: this.id,
      settings,
      activations: forkActivations(this.#checkout.state, options, settings, this.#services),
      ...inheritedFrom([this.#inherited, ...this.#batches]),
      searchLimit: this.#searchLimit,
    })
  }

  /** What this session costs, as text: `MCP active: N/cap (a, b, c)`, tokens per source, tokens saved. */
  context(): string {
    const turn = this.currentTurn()
    return describeContext(turn.surfaceParts(), {
      sent: this.#viewpoint.first?.surface.tools,
      activations: this.#checkout.state,
      changed: turn.changedTools().map(({ name }) => name),
      maxActive: this.settings.maxActive,
      countTokens: this.#services.countTokens,
    })
  }

  /** Counts of the tools this session may use. */
  stats(): Stats {
    const { view } = this.currentTurn()
    const names = [...view.shown.map(({ name }) => name), ...view.deferred.keys()].sort()
    const active = this.#checkout.state.filter(({ name }) => view.deferred.has(name))
    const { toolThreshold } = this.settings
    return statsOf(view, { names, loaded: view.shown.length + active.length, threshold: toolThreshold })
  }

  /** A paragraph for the system prompt; `''` when nothing is deferred. It changes with the catalogue, not on activation. */
  promptNote(): string {
    return this.currentTurn().promptNote
  }

  /** Returns what `openSession({ state })` needs to continue later. */
  toJSON(): SessionState {
    const state = writeState(this.id, this.#checkout.state, this.settings.allowlists)
    const { first } = this.#viewpoint
    return first ? { ...state, firstRequest: first.toJSON() } : state
  }

  /** Whether a tool is checked out. */
  isActive(name: string): boolean {
    return this.#checkout.has(name)
  }

  /** Returns the tool and arguments that a call reaches: what goes through `call_tool` is a call of the tool named there. */
  reached(call: ToolCall): ToolCall {
    const target = this.currentTurn().resolve(call)
    return target ? { toolCallId: call.toolCallId, name: target.entry.name, args: target.args ?? {} } : call
  }

  /**
   * The turn as it is now: the view, the meta-tools, what a call resolves to. The same object until the catalogue or the
   * first request changes.
   */
  currentTurn(): Turn {
    if (this.#turn?.isCurrent) return this.#turn
    const turn = new Turn(this.#turnOptions)
    this.#turn = turn
    this.#checkout.fit()
    this.#reportChanges(turn)
    return turn
  }

  /** Waits for running calls and saves. Throws `store-unavailable` when the state cannot be saved. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#underWay)
    const closing = [this.#checkout.close(), this.#savedFirst?.close()]
    await Promise.allSettled(closing)
    await Promise.all(closing)
  }

  /** Calls the listener for what happens in this session. Returns how to unsubscribe. */
  subscribe(listener: Listener): () => void {
    return this.#services.events.subscribe(listener, { sessionId: this.id })
  }

  /** Raises an event of this session on the registry's stream. */
  emit(event: EventBody): void {
    this.#services.events.emit({ ...event, sessionId: this.id })
  }

  async #refresh(): Promise<void> {
    await Promise.all([this.#checkout.refresh(), this.#savedFirst?.refresh()])
  }

  async #execute(
    calls: readonly ToolCall[],
    given: Omit<Partial<CallContext>, 'sessionId'>,
  ): Promise<CallResult[]> {
    const context = contextWith(given, this.id, this.#inherited.hooks)
    // A context that the runner rejects may contain anything here.
    const meters = Array.isArray(context?.meters) ? context.meters : []
    const batch = { hooks: hooksOf(context?.hooks), meters }
    this.#batches.add(batch)
    const endUses = this.#checkout.beginBatch()
    const turn = this.currentTurn()
    try {
      const results = await this.#services.runner.execute(calls, context, turn)
      if (!context?.dryRun && this.#searches.isLearning)
        void this.#track(this.#searches.called(calls, results, turn))
      return this.#viewpoint.first?.warn(results) ?? results
    } finally {
      this.#batches.delete(batch)
      endUses()
      // Both have the store, or neither.
      if (this.#savedFirst) await Promise.all([this.#checkout.save(), this.#savedFirst.save()])
    }
  }

  /** A tool that was checked out with another definition is reported, once for each definition. */
  #reportChanges(turn: Turn): void {
    for (const { name, fingerprint } of turn.changedTools()) {
      if (this.#reportedChanges.get(name) === fingerprint) continue
      this.#reportedChanges.set(name, fingerprint)
      this.emit({ type: 'definition-changed', name })
    }
  }

  #track<Value>(work: Promise<Value>): Promise<Value> {
    const end = () => void this.#underWay.delete(work)
    this.#underWay.add(work)
    work.then(end, end)
    return work
  }
}
