import type { CallScope, CallTarget } from '../call/call-scope.ts'
import type { Spill } from '../call/spill.ts'
import { isRecord } from '../json.ts'
import { readSearchAnswer } from '../meta-tools/answer.ts'
import { dispatchedCall } from '../meta-tools/call-tool.ts'
import {
  type DeferredNotes,
  promptNote,
  type SearchLimit,
  sessionMetaTools,
} from '../meta-tools/session-meta-tools.ts'
import type { SessionSkills } from '../meta-tools/skills.ts'
import { isDispatchTool } from '../names.ts'
import type { Entry } from '../registry/entry.ts'
import type { CompiledPolicy } from '../registry/policy.ts'
import {
  isAwaited,
  missingServersOf,
  PermittedServers,
  type ServerDirectory,
  type ServerStatus,
} from '../registry/server-directory.ts'
import type { View } from '../registry/view.ts'
import type { TokenCounter } from '../text.ts'
import { isReadOnly, type ToolCall, type ToolResult } from '../tool.ts'
import { describeContext } from './describe-context.ts'
import type { Viewer } from './explain-tool.ts'
import { type PromptPrefix, type SentRequest, type SharedPrefixes, settingsId } from './prompt-prefix.ts'
import { candidateOf, SearchScope, type SearchScopeOptions } from './search-scope.ts'
import type { SessionSettings } from './settings.ts'
import type { SingleUse } from './single-use.ts'
import { buildSurface, type Strategy, type Surface, type SurfaceParts } from './surface.ts'

/** What a scope is made of. */
export interface ScopeOptions extends SearchScopeOptions {
  readonly settings: SessionSettings
  readonly notes: DeferredNotes
  readonly prefixes: SharedPrefixes
  readonly spill: Spill | undefined
  /** The size limit of one answer of a search tool, in tokens. */
  readonly answerTokens: number
  readonly searchLimit: SearchLimit
  /** The runs of agents that wait for a person: each continues once. */
  readonly pauses: SingleUse
  /** Servers for `wait_for_servers`; undefined when this session has no such tool. */
  readonly servers: ServerDirectory | undefined
  /** Whether one of them was not ready when the session was opened: no meta-tool appears later. */
  readonly mayWait: boolean
  /** What `load_skill` loads; undefined when this session has none. */
  readonly skills: SessionSkills | undefined
  /** True for the calls of scripts: they check nothing out, and reach no meta-tool. */
  readonly isForScripts?: boolean
}

/**
 * A session as it is now: a view of the catalogue, a strategy and the meta-tools over what is checked out. It builds the
 * surface the model sees, and the model's calls run in it. Asking it changes nothing but what calls check out.
 */
export class SessionScope implements CallScope, Viewer {
  readonly view: View
  readonly strategy: Strategy
  readonly #metaTools: readonly Entry[]
  /** A paragraph for the system prompt; '' when nothing is deferred. */
  readonly promptNote: string
  readonly pauses: SingleUse
  readonly search: SearchScope
  readonly #options: ScopeOptions
  readonly #behind: string
  readonly #hostTools: number
  readonly #prefix: PromptPrefix | undefined

  constructor(options: ScopeOptions) {
    const { settings, views, notes } = options
    this.#options = options
    this.pauses = options.pauses
    this.view = views.current()
    this.#prefix = views.prefix
    this.#hostTools = views.hostTools
    const sent = this.#prefix?.sent
    this.#behind = sent?.behind ?? options.skills?.behind(notes.of(this.view)) ?? notes.of(this.view)
    this.strategy = sent?.surface.strategy ?? views.strategyFor(settings.strategy, () => this.#nativeCount())
    // A session that returns everything again may hold several conversations.
    const declaresActive = this.strategy === 'append' && settings.searchAgain !== 'all'
    this.search = new SearchScope(options, { declaresActive })
    this.#metaTools = options.isForScripts ? [] : this.#metaToolsFor(this.strategy, this.search)
    const isDispatch = this.strategy === 'dispatch'
    this.promptNote = sent?.promptNote ?? promptNote(this.view.deferred.size, { ...settings, isDispatch })
  }

  /** The meta-tools that are shown: `wait_for_servers` only as long as there is one to wait for. */
  get metaTools(): readonly Entry[] {
    const { mayWait, servers } = this.#options
    const waits = mayWait && servers?.statuses().some(isAwaited) === true
    return waits ? this.#metaTools : this.#metaTools.filter(({ name }) => name !== 'wait_for_servers')
  }

  /** Builds the tools of a turn: frozen, and the same object as `before` while nothing changed. */
  surface(before?: Surface): Surface {
    const { continued } = this.#options.views
    if (continued?.prefix.hasSearch) return continued.prefix.grown(this.view, continued.told, before)
    const parts = this.surfaceParts()
    // Without a search, what has joined or become available since has to be shown.
    const isSent =
      continued && parts.shown.every(({ name }) => continued.prefix.declared(name, continued.told))
    return isSent ? continued.prefix.sent.surface : buildSurface(parts, before)
  }

  /** The prefix that the next requests begin with if this surface is sent; undefined where nothing new begins. */
  prefixFor(surface: Surface): PromptPrefix | undefined {
    const { settings, views } = this.#options
    const { prefix } = views
    if (prefix?.hasSearch || prefix?.sent.surface === surface || settings.dialect === undefined)
      return undefined
    // What is deferred must be within reach of a search.
    const isReachable = this.view.deferred.size === 0 || this.searchToolName !== undefined
    if (this.strategy === 'append' || !isReachable) return undefined
    const sent: SentRequest = {
      settings: settingsId(settings.dialect, settings, this.#options),
      surface,
      behind: this.#behind,
      promptNote: this.promptNote,
      lateTools: [],
      servers: this.view.serverNames(),
      // The description of the search tool, or the system prompt, has the warning where there is such a server.
      isWarned: surface.untrustedServers !== undefined,
    }
    return this.#options.prefixes.of(sent, this.view)
  }

  /** False once the catalogue, the prefix or the room that the host needs has changed. */
  get isCurrent(): boolean {
    const { views } = this.#options
    const isSameView = views.current() === this.view
    return isSameView && views.prefix === this.#prefix && views.hostTools === this.#hostTools
  }

  /** What the surface is built of: available tools only. */
  surfaceParts(): SurfaceParts {
    const { active, availability } = this.#options
    const { view, strategy } = this
    const isAvailable = ({ tool }: Entry) => availability.isAvailable(tool)
    const activated = active.all.flatMap(({ name }) => view.deferred.get(name) ?? [])
    return {
      shown: view.shown.filter(isAvailable),
      metaTools: this.metaTools,
      activated: activated.filter(isAvailable),
      view,
      strategy,
    }
  }

  /** Active tools whose definition is not the one they were checked out with. */
  changedTools(): readonly Entry[] {
    return this.#options.active.all.flatMap(({ name, fingerprint }) => {
      const entry = this.view.deferred.get(name)
      return entry !== undefined && entry.fingerprint !== fingerprint ? [entry] : []
    })
  }

  /** What the session shows and what that costs, as text. */
  context(countTokens: TokenCounter | undefined): string {
    const { active, settings, views } = this.#options
    return describeContext(this.surfaceParts(), {
      sent: views.prefix?.sent.surface.tools,
      activations: active.all,
      changed: this.changedTools().map(({ name }) => name),
      maxActive: settings.maxActive,
      countTokens,
    })
  }

  get policy(): CompiledPolicy {
    return this.view.policy
  }

  explain(entry: Entry): string {
    return this.#options.views.explain(entry)
  }

  isActive(name: string): boolean {
    return this.#options.active.has(name)
  }

  isKept(name: string): boolean {
    return this.#options.active.all.some((activation) => activation.name === name && activation.isKept)
  }

  get searchToolName(): string | undefined {
    return this.#metaTool(this.#options.settings.searchTool)?.name
  }

  get canReadResults(): boolean {
    return this.#metaTool('read_result') !== undefined
  }

  /** A call of a dispatch tool resolves to the tool it names; a call it cannot resolve is explained by that dispatch tool. */
  resolve({ name, args }: ToolCall, { hidesDenied = false } = {}): CallTarget | undefined {
    const shown = (target: CallTarget | undefined) =>
      hidesDenied && target && this.denial(target) !== undefined ? undefined : target
    const metaTool = this.#metaTool(name)
    if (metaTool && isDispatchTool(name))
      return shown(this.#resolveDispatched(name, args)) ?? { entry: metaTool, args }
    const entry = metaTool ?? this.#find(name)
    return shown(entry && { entry, args })
  }

  denial({ entry }: CallTarget): string | undefined {
    // A meta-tool that is shown is permitted; its name is reserved, so it cannot be another tool's.
    return this.#metaTools.includes(entry) ? undefined : this.view.denial(entry)
  }

  asks({ entry }: CallTarget): boolean {
    if (this.#metaTools.includes(entry)) return false
    const used = entry.tool.uses?.flatMap((name) => this.view.snapshot.get(name) ?? []) ?? []
    return [entry, ...used].some((one) => this.policy.asks(one))
  }

  isGone(name: string): boolean {
    return this.search.isGone(name)
  }

  missingServers(name: string): readonly ServerStatus[] {
    const { finder, views } = this.#options
    if (finder.servers === undefined) return []
    const permitted = new PermittedServers(finder.servers, views.policy).statuses()
    return missingServersOf(name, permitted, views.current().serverNames().length > 0)
  }

  suggest(name: string): readonly string[] {
    return this.search.suggest(name)
  }

  /** The model has seen the schema of what is on the surface, or was checked out with the definition it has now. */
  needsSchema({ entry }: CallTarget): boolean {
    const { continued } = this.#options.views
    if (continued?.prefix.declaresOther(entry, continued.told)) return true
    if (!this.view.deferred.has(entry.name)) return false
    if (this.strategy === 'dispatch') return true
    return !this.isActive(entry.name) || this.changedTools().includes(entry)
  }

  isUnseen(target: CallTarget): boolean {
    return this.needsSchema(target) && !this.#options.active.hasSeen(target.entry.definition)
  }

  noteSchemas(targets: readonly CallTarget[]): void {
    if (this.#options.isForScripts) return
    this.#options.active.noteSeen(targets.map(({ entry }) => entry.definition))
  }

  noteUses(targets: readonly CallTarget[]): void {
    if (this.#options.isForScripts) return
    const { active, views } = this.#options
    const deferred = targets.map(({ entry }) => entry).filter(({ name }) => this.view.deferred.has(name))
    active.noteUses(deferred.map(candidateOf), views.current())
  }

  /** The tool's own server, or those whose tools a search describes. */
  untrustedServers({ entry }: CallTarget, result: ToolResult): readonly string[] {
    if (entry.untrustedServer !== undefined) return [entry.untrustedServer]
    if (!this.#metaTools.includes(entry)) return []
    const { snapshot } = this.#options.views.current()
    const described =
      entry.name === 'run_script'
        ? namesCalled(result)
        : readSearchAnswer(result.ok ? result.structured : {}).described
    return [...new Set(described.flatMap((name) => snapshot.get(name)?.untrustedServer ?? []))].sort()
  }

  /** How many tools a request sends where the provider defers. */
  #nativeCount(): number {
    const { shown, deferred } = this.view
    const search = new SearchScope(this.#options, { declaresActive: false })
    return shown.length + deferred.size + this.#metaToolsFor('native', search).length
  }

  #metaToolsFor(strategy: Strategy, search: SearchScope): readonly Entry[] {
    const { settings, views, answerTokens, spill, servers, searchLimit } = this.#options
    return sessionMetaTools(search, {
      ...settings,
      isDispatch: strategy === 'dispatch',
      dispatchesLateTools: strategy === 'native' && views.callsLateTools,
      policy: views.policy,
      behind: this.#behind,
      maxAnswerTokens: answerTokens,
      spill,
      servers,
      searchLimit,
      scripts: this.#options.scripts,
      skills: this.#options.skills,
    })
  }

  #metaTool(name: string): Entry | undefined {
    return this.#metaTools.find((metaTool) => metaTool.name === name)
  }

  /** The tool with a registered name, or the only one that another spelling means: `github.search`, `search`. */
  #find(name: string): Entry | undefined {
    const entry = this.view.snapshot.get(name)
    // What was shown under this very name and has left must not become another tool.
    if (entry || this.isGone(name)) return entry
    // Some models write the namespace that their provider keeps functions in.
    const own = name.replace(/^functions\./, '')
    return this.view.snapshot.get(own) ?? this.#options.finder.findByName(own, this.view)
  }

  #resolveDispatched(dispatchTool: string, args: unknown): CallTarget | undefined {
    const named = dispatchedCall(args)
    if (named === undefined) return undefined
    const entry = this.#metaTool(named.name) ?? this.#find(named.name)
    if (!entry || (dispatchTool === 'call_read_tool' && !isReadOnly(entry.tool))) return undefined
    return { entry, args: named.args }
  }
}

/** The tools that a script called. */
function namesCalled({ structured }: ToolResult): readonly string[] {
  return isRecord(structured) && isRecord(structured.calls) ? Object.keys(structured.calls) : []
}
