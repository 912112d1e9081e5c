import type { AskHandler } from '../call/ask.ts'
import { CallRunner, contextWith, sessionIdOf } from '../call/call-runner.ts'
import type { CallContext, CallHooks, CallSettings } from '../call/call-scope.ts'
import { CallState } from '../call/call-state.ts'
import type { Spill } from '../call/spill.ts'
import { ToolcribError } from '../errors.ts'
import { EventStream } from '../events.ts'
import { DeferredNotes, SearchLimit } from '../meta-tools/session-meta-tools.ts'
import type { SessionSkills } from '../meta-tools/skills.ts'
import { Availability } from '../registry/availability.ts'
import type { Catalogue } from '../registry/catalogue.ts'
import { ModeHistory } from '../registry/mode.ts'
import type { CompiledPolicy } from '../registry/policy.ts'
import { isAwaited, PermittedServers, type ServerDirectory } from '../registry/server-directory.ts'
import { SharedViewBuilders, type ViewBuilder, type ViewSource } from '../registry/view-builder.ts'
import type { SearchOptions, SearchResult } from '../search/search-result.ts'
import { ToolFinder } from '../search/tool-finder.ts'
import { mapTexts } from '../secrets/map-texts.ts'
import { maskFor } from '../secrets/mask-results.ts'
import { type SearchKind, SkillShelf } from '../skills/skill-shelf.ts'
import { sharedSlices } from '../slices.ts'
import type { Store } from '../store/store.ts'
import type { TokenCounter } from '../text.ts'
import { scheduleInBackground, scheduleWithTimers } from '../time.ts'
import type { CallResult, ToolCall } from '../tool.ts'
import type { Meter } from '../usage.ts'
import { ActiveTools } from './active-tools.ts'
import { CatalogueScope } from './catalogue-scope.ts'
import { type Conversation, NEW_CONVERSATION } from './conversation.ts'
import { type Explanation, explainTool, type Viewer } from './explain-tool.ts'
import { type Child, forkActivations } from './fork.ts'
import { NO_KEEPER } from './kept.ts'
import type { FoundSession, SavedSessions, WantedSession } from './load-session.ts'
import { type SentRequest, SharedPrefixes, settingsId } from './prompt-prefix.ts'
import type { ScriptEngine } from './script-engine.ts'
import { Session } from './session.ts'
import { type ScopeOptions, SessionScope } from './session-scope.ts'
import { memoryOf, SessionSearch } from './session-search.ts'
import { SessionViews } from './session-views.ts'
import type { SessionDialect, SessionSettings } from './settings.ts'
import { SharedDefinitions } from './shared-definitions.ts'
import { ShownTools } from './shown-tools.ts'
import { SingleUse } from './single-use.ts'
import { type SessionState, withLists } from './state.ts'

/** The complete settings of a registry for all its sessions and calls. */
export interface ServiceSettings extends Omit<CallSettings, 'availability' | 'emit'> {
  readonly countTokens: TokenCounter | undefined
  /** Runs scripts; undefined when sessions have none. */
  readonly scripts: ScriptEngine | undefined
  readonly searchKinds: readonly SearchKind[]
  readonly now: () => number
  /** Returns the id of a session that was opened without one. */
  readonly newId: () => string
  /** How long a search waits for servers that are connecting. */
  readonly serverWaitMs: number
  /** The size limit of one answer of a search tool, in tokens. */
  readonly answerTokens: number
  /** The size limit of the list of names in the description of the search tool, in tokens. */
  readonly noteTokens: number
  readonly searchLimit: number
  readonly suggestions: number
}

/** Where a session comes from, and where it is saved. */
export interface SessionOrigin {
  /** A random id when absent. */
  readonly id?: string
  /** What `toJSON()` returned, to continue where that session stopped. Replaces what the store has under its id. */
  readonly state?: SessionState
  /** Loads the session by `id`, and saves it after every change. A store that fails or hangs breaks nothing. */
  readonly store?: Store
  /** The only tools it may use, besides what its policy says: names and globs, as in `fork({ tools })`. */
  readonly tools?: readonly string[]
}

/** What a session starts with. */
interface SessionStart<Dialect extends SessionDialect> {
  readonly id: string
  readonly settings: SessionSettings<Dialect>
  readonly conversation: Conversation
  /** What its requests begin with, when some were sent already. */
  readonly sent?: SentRequest | undefined
  /** True when those replace the stored state, because the host passed them. */
  readonly replacesSaved?: boolean
  readonly store?: Store | undefined
  /** The same store for values with long lists of definitions. */
  readonly sharing?: Store | undefined
  readonly parentId?: string
  /** Hooks of the calls during which it was forked; they apply here too. */
  readonly hooks?: readonly CallHooks[]
  readonly onAsk?: AskHandler | undefined
  readonly context?: unknown
  readonly meters?: readonly Meter[]
  readonly searchLimit?: SearchLimit
}

const NOTHING: FoundSession = { saved: undefined, sharing: undefined }

/** Opens the sessions of a registry, and owns what they share. */
export class Sessions {
  readonly events: EventStream
  readonly availability: Availability
  readonly finder: ToolFinder
  readonly skills: SkillShelf
  readonly runner: CallRunner
  readonly source: ViewSource
  readonly slices = sharedSlices
  readonly settings: ServiceSettings
  readonly #builders: SharedViewBuilders
  readonly #notes: DeferredNotes
  readonly #prefixes = new SharedPrefixes()
  readonly #definitions = new SharedDefinitions()
  #saved: SavedSessions | undefined
  /** Loaded once there is a skill. */
  #SessionSkills: typeof SessionSkills | undefined

  constructor(catalogue: Catalogue, settings: ServiceSettings) {
    const { now, noteTokens } = settings
    const mask = maskFor(settings.backends)
    this.events = new EventStream({ now, mask: mask && ((event) => mapTexts(event, mask) as typeof event) })
    const { emit } = this.events
    this.availability = new Availability(emit)
    const shared = { ...settings, availability: this.availability, emit }
    this.finder = new ToolFinder({ ...shared, catalogue, slices: this.slices })
    this.skills = new SkillShelf(this.finder)
    this.runner = new CallRunner(shared, new CallState({ now }))
    this.source = { catalogue, modes: new ModeHistory(catalogue, emit) }
    this.settings = settings
    this.#builders = new SharedViewBuilders(this.source)
    this.#notes = new DeferredNotes(noteTokens)
  }

  /** Opens a new session, or one from saved state or a store. Throws `config-invalid` for a state that cannot be used. */
  async open<Dialect extends SessionDialect>(
    { id: givenId, state, store, tools }: SessionOrigin,
    settings: SessionSettings<Dialect>,
  ): Promise<Session<Dialect>> {
    if (store && givenId === undefined && state === undefined)
      throw new ToolcribError('config-invalid', 'a session with a store needs an id, to be found by later')
    await this.#prepareMemory(settings)
    if (this.skills.size > 0) this.#SessionSkills ??= (await import('../meta-tools/skills.ts')).SessionSkills
    const isSaved = state !== undefined || store !== undefined
    const { saved, sharing } = isSaved
      ? await this.#savedAs({ id: givenId, state, store }, settings)
      : NOTHING
    const id = saved?.id ?? givenId ?? this.settings.newId()
    return this.#start({
      id,
      settings: { ...settings, allowlists: withLists(saved?.allowlists ?? [], tools ? [tools] : []) },
      conversation: saved?.conversation ?? NEW_CONVERSATION,
      sent: saved?.sent,
      replacesSaved: state !== undefined,
      store,
      sharing,
    })
  }

  /** Most sessions never were saved: the code that reads them is loaded with the first that was. */
  async #savedAs(origin: WantedSession, settings: SessionSettings): Promise<FoundSession> {
    const { SavedSessions } = await import('./load-session.ts')
    this.#saved ??= new SavedSessions(this.#definitions, this.events.emit, this.settings.now)
    const hasDialect = settings.dialect !== undefined
    return this.#saved.find(origin, { newest: this.#builderFor(settings), hasDialect })
  }

  /** Runs calls without a session. Never throws. */
  execute(calls: readonly ToolCall[], context: CallContext, policy: CompiledPolicy): Promise<CallResult[]> {
    const { spill } = this.settings
    const spilled = spill && { spill, sessionId: sessionIdOf(context) }
    return this.runner.execute(calls, context, this.#scope(policy, spilled))
  }

  /** Finds what the policy permits, without a session. */
  async search(
    query: string,
    options: SearchOptions,
    settings: SessionSettings,
    policy: CompiledPolicy,
  ): Promise<SearchResult> {
    await this.#prepareMemory(settings)
    const { searcher } = settings
    const audience = this.#scope(policy)
    const request = { ...options, query, searcher, audience, memory: await memoryOf(settings) }
    const { result } = await this.finder.find(request)
    return result
  }

  /** What a memory knows belongs to the searcher's model, which the default searcher knows once it is loaded. */
  async #prepareMemory({ memory, searcher }: SessionSettings): Promise<void> {
    if (memory && searcher === this.finder.standard) await this.finder.standard.load()
  }

  /** Explains why the viewer can or cannot use a tool. */
  explain(name: string, viewer: Viewer): Explanation {
    const { finder, availability } = this
    const { catalogue } = this.source
    return explainTool(name, viewer, { catalogue, finder, availability, backends: this.settings.backends })
  }

  #scope(policy: CompiledPolicy, spilled?: { readonly spill: Spill; readonly sessionId: string }) {
    return new CatalogueScope({ catalogue: this.source.catalogue, finder: this.finder }, policy, spilled)
  }

  /** Starts a session, or a fork of one. */
  #start<Dialect extends SessionDialect>(start: SessionStart<Dialect>): Session<Dialect> {
    const { id, settings, store, sent, parentId, replacesSaved = false } = start
    const { spill, now, newId, countTokens, answerTokens } = this.settings
    const { events, finder, availability } = this
    const { dialect, allowlists } = settings
    const emit: typeof events.emit = (event) => events.emit({ ...event, sessionId: id })
    const parent = parentId === undefined ? {} : { parentId }
    emit({ type: 'session-opened', restored: start.conversation.active.length, ...parent })
    const [schedule, background] = [scheduleWithTimers, scheduleInBackground]
    const place = { id, writer: store ? newId() : '', store, schedule, background, emit }
    const skills = this.#skillsFor(settings)
    const made = dialect && settingsId(dialect, settings, { ...this.settings, skills })
    const begun = sent && sent.settings === made ? this.#prefixes.of({ ...sent, lateTools: [] }) : undefined
    // Without a dialect there is no prefix, but a state that the host passes replaces a stored one.
    const placeOfLists = { ...place, store: dialect || replacesSaved ? start.sharing : undefined }
    const keeper = store ? (this.#saved?.keeper(place, placeOfLists) ?? NO_KEEPER) : NO_KEEPER
    const prefix = keeper.prefix(begun, { settings: made, prefixes: this.#prefixes })
    const kept = keeper.active(start.conversation.active, {
      caps: settings,
      allowlists,
      onMerge: (now, past) => active.noteMerge(now, past),
    })
    const told = keeper.told(start.conversation.told, (now, past) => views.noteMerge(now, past))
    const active = new ActiveTools(kept, settings, emit)
    const names = keeper.shown(start.conversation.shown ?? [])
    const shown = new ShownTools(this.#builderFor(settings), names)
    const views = new SessionViews(shown, { prefix, told }, dialect)
    const shared = { sessionId: id, settings, views, active, finder }
    const searches = new SessionSearch({ ...shared, now, background, emit })
    const searchLimit = start.searchLimit ?? new SearchLimit(settings.searchesPerMinute, now)
    const servers = awaitable(finder.servers, views)
    const persisted = [kept, told, prefix, names]
    const save = async () => void (await Promise.all(persisted.map((part) => part.save())))
    if (replacesSaved) for (const part of persisted) part.replace()
    const { runner } = this
    const { hooks = [], onAsk, context = settings.context, meters = [] } = start
    const inherited = { hooks, onAsk, context, meters }
    const scripts = this.settings.scripts?.openSession({
      sessionId: id,
      runner,
      searches,
      searchLimit,
      makeScope: () => new SessionScope({ ...scope, isForScripts: true }),
      idleContext: contextWith({}, id, inherited) ?? {},
      emit,
    })
    const scope: ScopeOptions = {
      ...shared,
      searches,
      searchLimit,
      servers,
      mayWait: servers?.statuses().some(isAwaited) === true,
      availability,
      notes: this.#notes,
      prefixes: this.#prefixes,
      spill,
      skills,
      scripts,
      answerTokens,
      save,
      pauses: new SingleUse({ id, store }, newId),
    }
    const fork = ({ inheritActive, ...child }: Child) => {
      const view = this.#builderFor(child.settings).current()
      const inheritedTools = inheritActive ? forkActivations(active.all, view, child.settings) : []
      const began = {
        ...NEW_CONVERSATION,
        active: inheritedTools,
        shown: inheritActive ? shown.names : [],
      }
      return this.#start({ ...child, parentId: id, conversation: began, searchLimit })
    }
    return new Session({
      settings,
      scope,
      scripts,
      shown,
      definitions: this.#definitions,
      persisted,
      events,
      runner,
      countTokens,
      inherited,
      fork,
    })
  }

  /** The skills that a session may use; undefined if there are none as it opens: no meta-tool appears later. */
  #skillsFor(settings: SessionSettings): SessionSkills | undefined {
    if (this.#SessionSkills === undefined || this.skills.size === 0) return undefined
    const views = this.#builderFor(settings)
    const skills = new this.#SessionSkills(this.skills, { ...this.settings, ...settings }, views)
    return skills.list().length > 0 ? skills : undefined
  }

  #builderFor(settings: SessionSettings): ViewBuilder {
    const { policy, allowlists } = settings
    return this.#builders.of(settings, { ...policy, allowlists })
  }
}

/**
 * The servers that `wait_for_servers` waits for; undefined where there is no such tool. A session asks once: a meta-tool
 * that appears later would disturb the prompt cache of a running conversation.
 */
function awaitable(directory: ServerDirectory | undefined, views: SessionViews): ServerDirectory | undefined {
  if (directory === undefined || views.current().deferred.size > 0) return undefined
  const permitted = new PermittedServers(directory, views.policy)
  const isDenied = permitted.statuses().length === 0 && directory.statuses().length > 0
  return isDenied ? undefined : permitted
}
