import type { Catalogue } from './catalogue.ts'
import { Divider } from './division.ts'
import type { Entry } from './entry.ts'
import { defersAll, type ModeDecision, type ModeHistory, type ModeSettings } from './mode.ts'
import { type CompiledPolicy, compilePolicy, type Gates, matcher } from './policy.ts'
import type { Snapshot } from './snapshot.ts'
import { View } from './view.ts'

/** What decides how a session sees the catalogue. */
export interface ViewSettings extends ModeSettings {
  readonly pinned: readonly string[]
  readonly searchTool: string
}

/** What a viewpoint looks at. */
export interface Scene {
  readonly catalogue: Catalogue
  readonly modes: ModeHistory
}

const NO_SEARCH: ModeDecision = { isLazy: false, isAuto: false, reason: 'no search tool is permitted' }

/**
 * How one or more sessions see the catalogue: settings and a policy. Keeps the view of the newest snapshot, so looking
 * again at an unchanged catalogue costs nothing.
 */
export class Viewpoint {
  readonly policy: CompiledPolicy
  readonly #settings: ViewSettings
  readonly #scene: Scene
  /** False when no search tool may be shown: nothing is deferred then, since nothing could bring it back. */
  readonly #canSearch: boolean
  readonly #isPinned: (name: string) => boolean
  #divider: Divider | undefined
  #view: View | undefined

  /** `gate` decides whether the search tool may be shown; the policy itself when absent. */
  constructor(settings: ViewSettings, policy: CompiledPolicy, scene: Scene, gate: CompiledPolicy = policy) {
    this.policy = policy
    this.#settings = settings
    this.#scene = scene
    this.#canSearch = gate.denialOfMetaTool(settings.searchTool) === undefined
    this.#isPinned = matcher(settings.pinned) ?? (() => false)
  }

  current(): View {
    const snapshot = this.#scene.catalogue.snapshot()
    if (this.#view?.snapshot !== snapshot) this.#view = this.#look(snapshot)
    return this.#view
  }

  /** Says why a permitted tool is shown or deferred. */
  explain({ name, deferral, source }: Entry): string {
    const { mode, deferred } = this.current()
    const { defer, toolThreshold } = this.#settings
    if (!this.#canSearch) return `nothing is deferred: ${NO_SEARCH.reason}`
    if (this.#isPinned(name)) return 'pinned by name'
    if (deferral === 'pinned') return 'pinned: it was registered as never deferred'
    if (this.#settings.mode === 'full') return `nothing is deferred: ${mode.reason}`
    if (deferral === 'deferred') return 'registered as deferred'
    if (!mode.isLazy) return `only tools that ask for it are deferred: ${mode.reason}`
    if (!deferred.has(name)) return `defer is ${defer}, which leaves ${source.kind} tools shown`
    const isByNumber = defer === 'auto' && source.kind === 'builtin'
    const why = isByNumber ? `${toolThreshold} or more tools would stay shown` : `defer is ${defer}`
    return `${mode.reason}; ${why}`
  }

  #look(snapshot: Snapshot): View {
    const mode = this.#canSearch ? this.#scene.modes.decision(this.#settings) : NO_SEARCH
    if (this.#divider?.isLazy !== mode.isLazy) this.#divider = this.#dividerFor(mode)
    const division = this.#divider.divide(snapshot)
    const { shown, leftShown } = division
    const { recentlyGone } = this.#scene.modes
    const isAll = defersAll(leftShown.length, this.#settings, { isLazy: mode.isLazy, recentlyGone })
    return new View({
      mode,
      policy: this.policy,
      division,
      shown: isAll || leftShown.length === 0 ? shown : [...shown, ...leftShown].sort(byName),
    })
  }

  #dividerFor({ isLazy }: ModeDecision): Divider {
    const { mode, defer } = this.#settings
    return new Divider({
      policy: this.policy,
      mode,
      defer,
      isLazy,
      canDefer: this.#canSearch,
      isPinned: this.#isPinned,
    })
  }
}

function byName(a: Entry, b: Entry): number {
  return a.name < b.name ? -1 : 1
}

/** How many are kept; a service opens its sessions in a handful of ways. */
const MAX_VIEWPOINTS = 100

/** Shares viewpoints: sessions that see the catalogue alike divide it once, however many they are. */
export class SharedViewpoints {
  readonly #scene: Scene
  readonly #shared = new Map<string, Viewpoint>()

  constructor(scene: Scene) {
    this.#scene = scene
  }

  of(settings: ViewSettings, gates: Gates): Viewpoint {
    const { mode, defer, toolThreshold, thresholdPercent, contextWindow, pinned, searchTool } = settings
    const key = JSON.stringify([
      mode,
      defer,
      toolThreshold,
      thresholdPercent,
      contextWindow,
      pinned,
      searchTool,
      gates,
    ])
    const shared = this.#shared.get(key) ?? new Viewpoint(settings, compilePolicy(gates), this.#scene)
    // Put back at the end: the first is the one that was requested longest ago.
    this.#shared.delete(key)
    this.#shared.set(key, shared)
    const [oldest] = this.#shared.keys()
    if (this.#shared.size > MAX_VIEWPOINTS && oldest !== undefined) this.#shared.delete(oldest)
    return shared
  }
}
