import { type CallRunner, contextWith, hooksOf } from '../call/call-runner.ts'
import type { CallContext } from '../call/call-scope.ts'
import { checkOptions } from '../check-options.ts'
import type { EventBody, EventStream, Listener } from '../events.ts'
import type { ActivationReport } from '../meta-tools/search-session.ts'
import { SEARCH_RULES, type SearchOptions, type SearchResult } from '../search/search-result.ts'
import type { TokenCounter } from '../text.ts'
import type { CallResult, Listing, ToolCall } from '../tool.ts'
import type { Meter } from '../usage.ts'
import type { ActiveTools } from './active-tools.ts'
import {
  type Child,
  type ForkOptions,
  forkNumber,
  forkSettings,
  type Inherited,
  inheritedFrom,
} from './fork.ts'
import type { Kept } from './kept.ts'
import { NO_SCRIPTS, type PausedScripts, type SessionScripts } from './script-engine.ts'
import { type ScopeOptions, SessionScope } from './session-scope.ts'
import type { SessionViews } from './session-views.ts'
import { listOf, type SessionDialect, type SessionSettings } from './settings.ts'
import type { SharedDefinitions } from './shared-definitions.ts'
import type { ShownTools } from './shown-tools.ts'
import { type SessionState, writeState } from './state.ts'
import { type Stats, sessionStats } from './stats.ts'
import { type Surface, surfacedEvent } from './surface.ts'
import { type HostToolOf, type MessageOf, Turn, type TurnRequestOptions } from './turn.ts'

/** What a session is made of. */
export interface SessionParts<Dialect extends SessionDialect> {
  readonly settings: SessionSettings<Dialect>
  readonly scope: ScopeOptions
  readonly scripts: SessionScripts | undefined
  readonly shown: ShownTools
  readonly definitions: SharedDefinitions
  /** What has a copy in the store. */
  readonly persisted: readonly Pick<Kept<unknown>, 'refresh' | 'close'>[]
  readonly events: EventStream
  readonly runner: CallRunner
  readonly countTokens: TokenCounter | undefined
  /** From the calls during which it was forked. */
  readonly inherited: Inherited
  readonly fork: (child: Child) => Session
}

/** One conversation's activations, and the surface of each of its turns. Opened by `registry.openSession()`. */
export class Session<Dialect extends SessionDialect = SessionDialect> {
  /** The key of the session in its store, and what `sessionId` of its calls is. */
  readonly id: string
  /** The complete settings: the registry's options, overridden by its own. */
  readonly settings: SessionSettings<Dialect>
  /** Count what is spent here, the nearest caller's last: those of the calls during which the session was forked. */
  readonly meters: readonly Meter[]
  /** The scripts of this session that wait for a person. */
  readonly scripts: PausedScripts
  readonly #parts: SessionParts<Dialect>
  readonly #active: ActiveTools
  readonly #views: SessionViews
  #scope: SessionScope | undefined
  /** The scope that was last brought within the caps. */
  #settled: SessionScope | undefined
  #surface: Surface | undefined
  /** What forks inherit from each batch of calls under way. */
  readonly #batches = new Set<Inherited>()
  readonly #underWay = new Set<Promise<unknown>>()
  #forks = 0

  constructor(parts: SessionParts<Dialect>) {
    this.id = parts.scope.sessionId
    this.settings = parts.settings
    this.meters = parts.inherited.meters
    this.#parts = parts
    this.#active = parts.scope.active
    this.#views = parts.scope.views
    this.scripts = parts.scripts ?? NO_SCRIPTS
    // What does not fit or has changed since it was saved is reported now, not with the first surface.
    if (this.#active.all.length > 0) this.#settle()
  }

  /**
   * Opens one turn of a conversation with the session's dialect: `request` goes to the provider's client, and
   * `answer(response)` runs the calls and returns the messages to append. Throws `config-invalid` for a session that was
   * opened without a dialect.
   */
  turn(
    messages: readonly MessageOf<Dialect>[],
    options?: TurnRequestOptions<HostToolOf<Dialect>> & { readonly hint?: false },
  ): Turn<Dialect>
  /** With `hint: true`, the request has a line after the user's newest message if tools probably fit; see `hinted()`. */
  turn(
    messages: readonly MessageOf<Dialect>[],
    options: TurnRequestOptions<HostToolOf<Dialect>> & { readonly hint: true },
  ): Promise<Turn<Dialect>>
  turn(
    messages: readonly MessageOf<Dialect>[],
    options: TurnRequestOptions<HostToolOf<Dialect>> = {},
  ): Turn<Dialect> | Promise<Turn<Dialect>> {
    if (options.hint !== true) return new Turn(this, messages, options)
    return this.hinted(messages).then((hinted) => new Turn(this, hinted, options))
  }

  /**
   * Searches the newest message, if it is a user's, and returns the messages with a line after it that names tools which
   * probably fit. Lines of earlier messages are repeated, so that the cached prefix holds.
   */
  hinted<Message>(messages: readonly Message[]): Promise<readonly Message[]> {
    return this.#parts.scope.searches.hinted(messages)
  }

  /**
   * Returns the tools of this turn: frozen, and the same object until the catalogue or the activations change. With a
   * dialect, and a strategy other than append, all surfaces of a session begin with the bytes of the first one: tools that
   * come later are found by the search, and those that leave stay declared. `hostTools` is how many tools the host adds
   * to the request, where its provider limits their number.
   */
  surface(hostTools = 0): Surface {
    this.#views.leaveRoom(hostTools)
    const built = this.#grown(this.#surface)
    const prefix = this.scope().prefixFor(built)
    if (prefix) this.#views.begin(prefix)
    const surface = prefix?.sent.surface ?? built
    this.#surface = surface
    this.#parts.shown.noteShown()
    if (this.#parts.events.hasListeners) this.emit(surfacedEvent(surface))
    if (this.#parts.scope.pauses.isShared) void this.#track(this.#parts.scope.save())
    return surface
  }

  /**
   * Returns the surface to write the results of a turn with, given the one it began with: a server may have joined
   * meanwhile, and what a search found there is declared in the newest surface only.
   */
  surfaceAfter(before: Surface): Surface {
    if (before.deferredTools === undefined) return before
    const now = this.#grown(before)
    return now.strategy === before.strategy ? now : before
  }

  /** Finds tools this session may use. Activates nothing. Rejects with `config-invalid` for an unknown option. */
  async search(query: string, options: SearchOptions = {}): Promise<SearchResult> {
    checkOptions<SearchOptions>('search()', options, SEARCH_RULES)
    return this.#parts.scope.searches.all(query, options)
  }

  /**
   * Checks tools out, best first. Names that are unknown, denied or unavailable come back as `missing`. What is evicted is
   * also named in the next answer of the search tool.
   */
  async activate(names: readonly string[]): Promise<ActivationReport> {
    const report = await this.#track(this.#settle().search.activate(listOf(names, 'activate')))
    this.#active.noteEvictions(report.evicted)
    return report
  }

  /** Gives tools back; returns the names that were active. */
  async deactivate(names: readonly string[]): Promise<readonly string[]> {
    const gone = this.#active.deactivate(listOf(names, 'deactivate'))
    await this.#track(this.#parts.scope.save())
    return gone
  }

  /** Checks tools out permanently: outside the cap, never evicted. */
  async preload(names: string | readonly string[]): Promise<ActivationReport> {
    const wanted = listOf(typeof names === 'string' ? [names] : names, 'preload')
    const { candidates, visible, missing } = this.#settle().search.sort(wanted)
    this.#active.preload(candidates)
    await this.#track(this.#parts.scope.save())
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
    const refreshing = Promise.all(this.#parts.persisted.map((part) => part.refresh()))
    return this.#track(refreshing.then(() => undefined))
  }

  /** The tools behind the search: permitted, deferred and not active. */
  deferred(): readonly Listing[] {
    const waiting = [...this.scope().view.deferred.values()].filter(({ name }) => !this.#active.has(name))
    return waiting.map(({ listing }) => listing)
  }

  /**
   * Opens a session for a sub-agent: a copy of this one, with its own search. Nothing it does affects this one. Hooks
   * and meters of the calls that are running apply to it too. Throws `config-invalid` for an unknown key.
   */
  fork(options: ForkOptions = {}): Session {
    const settings = forkSettings(this.settings, options)
    const { inheritActive = true, id = `${this.id}/${this.#forks + 1}` } = options
    this.#forks = Math.max(this.#forks, forkNumber(this.id, id))
    const inherited = inheritedFrom([this.#parts.inherited, ...this.#batches])
    return this.#parts.fork({ id, settings, inheritActive, ...inherited })
  }

  /** What this session costs, as text: `MCP active: N/cap (a, b, c)`, tokens per source, tokens saved. */
  context(): string {
    return this.scope().context(this.#parts.countTokens)
  }

  /** Counts of the tools this session may use. */
  stats(): Stats {
    return sessionStats(this.scope().view, this.#active.all, this.settings.toolThreshold)
  }

  /** A paragraph for the system prompt; `''` when nothing is deferred. It changes with the catalogue, not on activation. */
  promptNote(): string {
    return this.scope().promptNote
  }

  /** Returns what `openSession({ state })` needs to continue later. Long lists of definitions are named by their hash. */
  toJSON(): SessionState {
    const told = { firstRequest: this.#views.sent, shown: this.#parts.shown.names }
    const state = writeState(this.id, this.#active.all, this.settings.allowlists, told)
    return this.#parts.definitions.shorten(state)
  }

  /** Whether a tool is checked out. */
  isActive(name: string): boolean {
    return this.#active.has(name)
  }

  /** Returns the tool and arguments that a call reaches: what goes through `call_tool` is a call of the tool named there. */
  reached(call: ToolCall): ToolCall {
    const target = this.scope().resolve(call)
    return target ? { toolCallId: call.toolCallId, name: target.entry.name, args: target.args ?? {} } : call
  }

  /** The session as it is now. The same object until the catalogue or the prompt prefix changes. */
  scope(): SessionScope {
    if (!this.#scope?.isCurrent) this.#scope = new SessionScope(this.#parts.scope)
    return this.#scope
  }

  /** Waits for running calls and saves. Throws `store-unavailable` when the state cannot be saved. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#underWay)
    const closing = this.#parts.persisted.map((part) => part.close())
    await Promise.allSettled(closing)
    await Promise.all(closing)
  }

  /** Calls the listener for what happens in this session. Returns how to unsubscribe. */
  subscribe(listener: Listener): () => void {
    return this.#parts.events.subscribe(listener, { sessionId: this.id })
  }

  /** Raises an event of this session on the registry's stream. */
  emit(event: EventBody): void {
    this.#parts.events.emit({ ...event, sessionId: this.id })
  }

  async #execute(
    calls: readonly ToolCall[],
    given: Omit<Partial<CallContext>, 'sessionId'>,
  ): Promise<CallResult[]> {
    const context = contextWith(given, this.id, this.#parts.inherited)
    // A context that the runner rejects may contain anything here.
    const meters = Array.isArray(context?.meters) ? context.meters : []
    const batch = { hooks: hooksOf(context?.hooks), onAsk: context?.onAsk, context: context?.context, meters }
    this.#batches.add(batch)
    const endUses = this.#active.beginBatch()
    const scope = this.#settle()
    const endScripts = this.#parts.scripts?.begin(calls, context ?? {})
    try {
      const results = await this.#parts.runner.execute(calls, context, scope)
      if (!context?.dryRun && this.#parts.scope.searches.isLearning)
        void this.#track(this.#parts.scope.searches.called(calls, results, scope))
      return this.#views.warn(results)
    } finally {
      this.#batches.delete(batch)
      endUses()
      endScripts?.()
      if (scope.pauses.isShared) await this.#parts.scope.save()
    }
  }

  /** The surface with the tools that joined since the first request. */
  #grown(before: Surface | undefined): Surface {
    const scope = this.#settle()
    const { availability } = this.#parts.scope
    this.#views.gather(
      ({ tool }) => availability.isAvailable(tool),
      (name) => this.isActive(name),
    )
    return scope.surface(before)
  }

  /** The scope within the caps. A tool that was checked out with another definition is reported, once for each. */
  #settle(): SessionScope {
    const scope = this.scope()
    if (scope === this.#settled) return scope
    this.#settled = scope
    this.#active.fit(scope.view)
    this.#active.reportChanges(scope.changedTools())
    return scope
  }

  #track<Value>(work: Promise<Value>): Promise<Value> {
    this.#underWay.add(work)
    work.catch(() => {}).then(() => this.#underWay.delete(work))
    return work
  }
}
