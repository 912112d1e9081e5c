import type { CallContext, CallHooks } from '../call/call-scope.ts'
import { hooksOf } from '../call/hooks.ts'
import { checkOptions } from '../check-options.ts'
import type { EventBody, Listener } from '../events.ts'
import { isRecord } from '../json.ts'
import { type ActivationReport, SearchLimit } from '../meta-tools/search-session.ts'
import type { ServerDirectory } from '../registry/server-directory.ts'
import { SEARCH_RULES, type SearchOptions, type SearchResult } from '../search/search-result.ts'
import type { Store } from '../store/store.ts'
import type { CallResult, Listing, ToolCall } from '../tool.ts'
import type { Meter } from '../usage.ts'
import type { Activations } from './activations.ts'
import { Checkout } from './checkout.ts'
import { describeContext } from './describe-context.ts'
import { type HostToolOf, type MessageOf, ModelTurn, type TurnRequestOptions } from './model-turn.ts'
import { SavedFirstRequest } from './saved-first-request.ts'
import { type SentRequest, settingsId } from './sent-request.ts'
import { SessionSearch } from './session-search.ts'
import type { SessionServices } from './session-services.ts'
import { SessionViewpoint } from './session-viewpoint.ts'
import {
  checkForkOptions,
  type ForkOptions,
  listOf,
  type SessionDialect,
  type SessionSettings,
} from './settings.ts'
import { type SessionState, writeState } from './state.ts'
import { type Stats, statsOf } from './stats.ts'
import { type Surface, surfaceTokens } from './surface.ts'
import { Turn } from './turn.ts'

export interface SessionParameters<Dialect extends SessionDialect> {
  readonly id: string
  readonly settings: SessionSettings<Dialect>
  /** What it starts with. */
  readonly activations: Activations
  /** What its requests begin with, when some were sent already. */
  readonly sent?: SentRequest | undefined
  /** True when those replace the stored state, because the host passed them. */
  readonly replacesSaved?: boolean
  readonly store?: Store | undefined
  readonly parentId?: string
  /** Hooks of the calls during which it was forked; they apply here too. */
  readonly hooks?: readonly CallHooks[]
  /** Meters of these calls. */
  readonly meters?: readonly Meter[]
  /** Its parent's, which a fork shares; a new one when absent. */
  readonly searchLimit?: SearchLimit
}

/** What a session inherits from the calls during which it is forked. */
interface Inherited {
  readonly hooks: readonly CallHooks[]
  readonly meters: readonly Meter[]
}

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
  readonly #savedFirst: SavedFirstRequest
  readonly #searchLimit: SearchLimit
  readonly #servers: ServerDirectory | undefined
  readonly #hooks: readonly CallHooks[]
  readonly #inFlight = new Set<Inherited>()
  readonly #reportedChanges = new Map<string, string>()
  readonly #underWay = new Set<Promise<unknown>>()
  #turn: Turn | undefined
  #surface: Surface | undefined
  #forks = 0

  constructor(services: SessionServices, parameters: SessionParameters<Dialect>) {
    const { id, settings, activations, sent, replacesSaved, store, parentId } = parameters
    const { hooks = [], meters = [] } = parameters
    const { events, schedule, background, viewpoints, finder, now, newId } = services
    this.id = id
    this.settings = settings
    this.meters = meters
    this.#services = services
    this.#hooks = hooks
    this.emit({
      type: 'session-opened',
      restored: activations.length,
      ...(parentId === undefined ? {} : { parentId }),
    })
    const { policy, allowlists, dialect } = settings
    const viewpoint = viewpoints.of(settings, { ...policy, allowlists })
    this.#viewpoint = new SessionViewpoint(viewpoint, dialect)
    const writer = store === undefined ? '' : newId()
    const place = { id, writer, store, schedule, background, emit: events.emit }
    this.#savedFirst = new SavedFirstRequest(this.#viewpoint, settingsId(settings, services), place)
    if (replacesSaved) this.#savedFirst.replaceSaved(sent)
    else if (sent) this.#savedFirst.continueFrom(sent)
    this.#searchLimit = parameters.searchLimit ?? new SearchLimit(settings.searchesPerMinute, now)
    // Decided once: a meta-tool that turns up later would disturb the prompt cache of a running conversation.
    this.#servers = this.#viewpoint.current().deferred.size === 0 ? finder.servers : undefined
    const saving = { ...place, allowlists, caps: settings }
    this.#checkout = new Checkout(activations, this.#viewpoint, saving)
    this.#searches = new SessionSearch(services, this.#viewpoint, this.#checkout, this)
    if (replacesSaved) this.#checkout.replaceSaved()
    this.#checkout.fit()
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
    const turn = this.#current()
    this.#surface = turn.surface(this.#surface)
    if (this.#savedFirst.isDue) void this.#track(this.#savedFirst.save())
    if (this.#services.events.hasListeners) this.#emitSurfaced(this.#surface)
    return this.#surface
  }

  /**
   * Returns the surface to write the results of a turn with, given the one it began with: a server may have joined
   * meanwhile, and what a search found there is declared in the newest surface only.
   */
  surfaceAfter(before: Surface): Surface {
    if (before.deferredTools === undefined) return before
    const now = this.#current().surface(before)
    return now.strategy === before.strategy ? now : before
  }

  /** Finds tools this session may use. Activates nothing. Rejects with `config-invalid` for an unknown option. */
  async search(query: string, options: SearchOptions = {}): Promise<SearchResult> {
    checkOptions<SearchOptions>('search()', options, SEARCH_RULES)
    return this.#searches.all(query, options)
  }

  /** Checks tools out, best first. Names that are unknown, denied or unavailable come back as `missing`. */
  async activate(names: readonly string[]): Promise<ActivationReport> {
    return this.#track(this.#current().activate(listOf(names, 'activate')))
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
    const { candidates, visible, missing } = this.#current().sort(wanted)
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
    const { view } = this.#current()
    const waiting = [...view.deferred.values()].filter(({ name }) => !this.#checkout.has(name))
    return waiting.map(({ listing }) => listing)
  }

  /**
   * Opens a session for a sub-agent: a copy of this one, with its own search. Nothing it does affects this one. Hooks
   * and meters of the calls that are running apply to it too. Throws `config-invalid` for an unknown key.
   */
  fork(options: ForkOptions = {}): Session {
    checkForkOptions(options)
    const { inheritActive = true, tools, maxActive, dialect } = options
    const settings: SessionSettings = {
      ...this.settings,
      maxActive: maxActive ?? this.settings.maxActive,
      dialect: dialect ?? this.settings.dialect,
      // A child must pass its parent's gates and its own.
      allowlists: tools === undefined ? this.settings.allowlists : [...this.settings.allowlists, [...tools]],
    }
    const { policy, allowlists } = settings
    const view = this.#services.viewpoints.of(settings, { ...policy, allowlists }).current()
    // What the child may not use must not count against its cap.
    const inherited = this.#checkout.state.filter(({ name }) => {
      const entry = view.snapshot.get(name)
      return entry === undefined || view.denial(entry) === undefined
    })
    const inFlight = [...this.#inFlight]
    return new Session(this.#services, {
      id: `${this.id}/${++this.#forks}`,
      parentId: this.id,
      settings,
      activations: inheritActive ? inherited : [],
      hooks: [...new Set([...this.#hooks, ...inFlight.flatMap(({ hooks }) => hooks)])],
      meters: [...new Set([...this.meters, ...inFlight.flatMap(({ meters }) => meters)])],
      searchLimit: this.#searchLimit,
    })
  }

  /** What this session costs, as text: `MCP active: N/cap (a, b, c)`, tokens per source, tokens saved. */
  context(): string {
    const turn = this.#current()
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
    const { view } = this.#current()
    const names = [...view.shown.map(({ name }) => name), ...view.deferred.keys()].sort()
    const active = this.#checkout.state.filter(({ name }) => view.deferred.has(name))
    const { toolThreshold } = this.settings
    return statsOf(view, { names, loaded: view.shown.length + active.length, threshold: toolThreshold })
  }

  /** A paragraph for the system prompt; `''` when nothing is deferred. It changes with the catalogue, not on activation. */
  promptNote(): string {
    return this.#current().promptNote
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
    const target = this.#current().resolve(call)
    return target ? { toolCallId: call.toolCallId, name: target.entry.name, args: target.args ?? {} } : call
  }

  /** The turn as it is now: the view, the meta-tools, what a call resolves to. For those who explain a session. */
  currentTurn(): Turn {
    return this.#current()
  }

  /** Waits for running calls and saves. Throws `store-unavailable` when the state cannot be saved. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#underWay)
    const closing = [this.#checkout.close(), this.#savedFirst.close()]
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
    await Promise.all([this.#checkout.refresh(), this.#savedFirst.refresh()])
  }

  async #execute(
    calls: readonly ToolCall[],
    context: Omit<Partial<CallContext>, 'sessionId'>,
  ): Promise<CallResult[]> {
    const whole = this.#contextOf(context)
    const batch: Inherited = { hooks: hooksOf(whole?.hooks), meters: listOrNone(whole?.meters) }
    const endBatch = this.#checkout.beginBatch()
    this.#inFlight.add(batch)
    const turn = this.#current()
    try {
      const results = await this.#services.runner.execute(calls, whole, turn)
      if (!whole?.dryRun) void this.#track(this.#searches.called(calls, results, turn))
      return this.#viewpoint.first?.warn(results) ?? results
    } finally {
      endBatch()
      this.#inFlight.delete(batch)
      await Promise.all([this.#checkout.save(), this.#savedFirst.save()])
    }
  }

  /** The context of a batch in this session, with inherited hooks first; null when it cannot be read. */
  #contextOf(context: unknown): Partial<CallContext> | null {
    try {
      if (!isRecord(context)) return null
      const { hooks, ...rest } = context as Partial<CallContext>
      const all = [...this.#hooks, ...hooksOf(hooks)]
      return { ...rest, sessionId: this.id, ...(all.length > 0 ? { hooks: all } : {}) }
    } catch {
      return null
    }
  }

  #current(): Turn {
    if (!this.#turn?.isCurrent) {
      this.#turn = new Turn({
        sessionId: this.id,
        settings: this.settings,
        viewpoint: this.#viewpoint,
        checkout: this.#checkout,
        searches: this.#searches,
        services: this.#services,
        searchLimit: this.#searchLimit,
        servers: this.#servers,
      })
      this.#checkout.fit()
      this.#reportChanges(this.#turn)
    }
    return this.#turn
  }

  #emitSurfaced(surface: Surface): void {
    const { deferredCount, fingerprint, tools } = surface
    const cost = { tools: tools.length, tokens: surfaceTokens(surface) }
    this.emit({ type: 'surfaced', ...cost, deferredCount, fingerprint })
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
    const tracked = work.finally(() => this.#underWay.delete(tracked))
    this.#underWay.add(tracked)
    return tracked
  }
}

/** A context that is rejected later may contain anything here. */
function listOrNone<Item>(list: readonly Item[] | undefined): readonly Item[] {
  return Array.isArray(list) ? list : []
}
