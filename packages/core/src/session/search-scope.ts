import type {
  ActivationReport,
  DeferredResult,
  Origin,
  SearchSession,
  ServerChanges,
} from '../meta-tools/search-session.ts'
import type { ToolTypes } from '../meta-tools/tool-types.ts'
import { isApproved, sourceKey } from '../names.ts'
import type { Availability } from '../registry/availability.ts'
import type { Entry } from '../registry/entry.ts'
import type { ServerStatus } from '../registry/server-directory.ts'
import type { SearchOptions } from '../search/search-result.ts'
import type { ToolFinder } from '../search/tool-finder.ts'
import type { Tool, ToolDefinition } from '../tool.ts'
import type { ActivationCandidate } from './activations.ts'
import type { ActiveTools } from './active-tools.ts'
import type { SessionSearch } from './session-search.ts'
import type { SessionViews } from './session-views.ts'

/** What meta-tools work with. */
export interface SearchScopeOptions {
  readonly sessionId: string
  readonly views: SessionViews
  readonly active: ActiveTools
  readonly searches: SessionSearch
  readonly finder: ToolFinder
  readonly availability: Availability
  /** Runs `run_script`. */
  readonly scripts: { readonly tool: Tool } | undefined
  /** Saves what is checked out. */
  readonly save: () => Promise<void>
}

/** How many tools of one name are listed; few catalogues have as many. */
const MAX_NAMESAKES = 25

/** What the meta-tools of a session do. They look at the newest catalogue: servers may have connected during a turn. */
export class SearchScope implements SearchSession {
  readonly sessionId: string
  readonly #options: SearchScopeOptions
  /** Whether requests declare what is active. */
  readonly #declaresActive: boolean

  constructor(options: SearchScopeOptions, { declaresActive }: { readonly declaresActive: boolean }) {
    this.sessionId = options.sessionId
    this.#options = options
    this.#declaresActive = declaresActive
  }

  searchDeferred(query: string, options: SearchOptions): Promise<DeferredResult> {
    return this.#options.searches.deferred(query, options)
  }

  async activate(names: readonly string[]): Promise<ActivationReport> {
    const { active, views, save } = this.#options
    const { candidates, visible, missing } = this.sort(names)
    const { activated, evicted } = active.activate(candidates, views.current())
    await save()
    const isCallable = new Set([...visible, ...activated])
    return { activated: names.filter((name) => isCallable.has(name)), evicted, missing }
  }

  /** Sorts names into what can be checked out, what is shown anyway, and what is unknown, denied or unavailable. */
  sort(names: readonly string[]): {
    candidates: ActivationCandidate[]
    visible: string[]
    missing: string[]
  } {
    const view = this.#options.views.current()
    const candidates: ActivationCandidate[] = []
    const visible: string[] = []
    const missing: string[] = []
    for (const name of names) {
      const entry = view.snapshot.get(name)
      if (!entry || view.denial(entry) !== undefined || !this.#isAvailable(entry)) missing.push(name)
      else if (view.deferred.has(name)) candidates.push(candidateOf(entry))
      else visible.push(name)
    }
    return { candidates, visible, missing }
  }

  describe(name: string): ToolDefinition | undefined {
    const { finder, views } = this.#options
    const entry = finder.findByName(name, views.current())
    return entry && this.#isAvailable(entry) ? entry.definition : undefined
  }

  async typesOf(names: readonly string[]): Promise<ReadonlyMap<string, ToolTypes>> {
    const entries = this.#options.scripts ? names.flatMap((name) => this.#entry(name) ?? []) : []
    if (entries.length === 0) return new Map()
    const { typesOf } = await import('../meta-tools/tool-types.ts')
    const types = typesOf(entries)
    return new Map(
      entries.flatMap(({ name }, at): [string, ToolTypes][] => (types[at] ? [[name, types[at]]] : [])),
    )
  }

  noteSeen(definitions: readonly ToolDefinition[]): void {
    this.#options.active.noteSeen(definitions)
  }

  tokensOf(name: string): number {
    return this.#entry(name)?.tokens ?? 0
  }

  isActive(name: string): boolean {
    return this.#options.active.has(name)
  }

  isDeclared(name: string): boolean {
    return this.#declaresActive && this.isActive(name)
  }

  originOf(name: string): Origin | undefined {
    const entry = this.#entry(name)
    return entry && { source: sourceKey(entry.source), isApproved: isApproved(entry.listing) }
  }

  isGone(name: string): boolean {
    const { continued } = this.#options.views
    const wasHere = continued?.prefix.declared(name, continued.told) !== undefined || this.isActive(name)
    return wasHere && this.#entry(name) === undefined
  }

  suggest(name: string): readonly string[] {
    const { finder, views } = this.#options
    const view = views.current()
    const namesakes = finder.namesakes(name.replace(/^functions\./, ''), view)
    if (namesakes.length > 1) return namesakes.slice(0, MAX_NAMESAKES)
    return finder.suggest(name, (entry) => view.denial(entry) === undefined)
  }

  serverNames(): readonly string[] {
    return this.#options.views.current().serverNames()
  }

  deferrableCount(): number {
    return this.#options.views.current().deferred.size
  }

  takeServerChanges(): ServerChanges {
    return this.#options.views.takeServerChanges()
  }

  takeEvictions(): readonly string[] {
    return this.#options.active.takeEvictions()
  }

  waitForServers(): Promise<readonly ServerStatus[]> {
    const { finder, views } = this.#options
    return finder.waitForServers((server) => views.policy.permitsServer(server))
  }

  #entry(name: string): Entry | undefined {
    return this.#options.views.current().snapshot.get(name)
  }

  #isAvailable({ tool }: Entry): boolean {
    return this.#options.availability.isAvailable(tool)
  }
}

/** A tool as it is checked out. */
export function candidateOf({ name, fingerprint, tokens }: Entry): ActivationCandidate {
  return { name, fingerprint, tokens }
}
