import type { Emit } from '../events.ts'
import type { Catalogue, Snapshot } from './catalogue.ts'
import type { Entry } from './entry.ts'
import { defersAll, isDeferred, type ModeDecision, type ModeSettings, type ModeTracker } from './mode.ts'
import { type CompiledPolicy, compilePolicy, type Gates, matcher } from './policy.ts'
import { denialOf, View } from './view.ts'

/** What decides how a session sees the catalogue. */
export interface ViewSettings extends ModeSettings {
  readonly pinned: readonly string[]
  readonly searchTool: string
}

/** What a viewpoint looks at. */
export interface Scene {
  readonly catalogue: Catalogue
  readonly modes: ModeTracker
  readonly emit: Emit
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
  #view: View | undefined
  #defersAll = false

  /** `gate` decides whether the search tool may be shown; the policy itself when absent. */
  constructor(settings: ViewSettings, policy: CompiledPolicy, scene: Scene, gate: CompiledPolicy = policy) {
    this.policy = policy
    this.#settings = settings
    this.#scene = scene
    this.#canSearch = gate.denialOfMetaTool(settings.searchTool) === undefined
    this.#isPinned = matcher(settings.pinned) ?? (() => false)
    // Requested now, so that hysteresis counts from here on.
    scene.modes.decision(settings)
  }

  current(): View {
    const snapshot = this.#scene.catalogue.snapshot()
    if (this.#view?.snapshot !== snapshot) this.#view = this.#look(snapshot, this.#view)
    return this.#view
  }

  #look(snapshot: Snapshot, before: View | undefined): View {
    const mode = this.#canSearch ? this.#scene.modes.decision(this.#settings) : NO_SEARCH
    if (before && before.mode.isLazy !== mode.isLazy) {
      this.#scene.emit({
        type: 'mode-changed',
        mode: mode.isLazy ? 'lazy' : 'full',
        reason: mode.reason,
      })
    }
    const permitted = snapshot.sorted.filter((entry) => denialOf(entry, snapshot, this.policy) === undefined)
    return new View(snapshot, mode, this.policy, this.#divide(permitted, mode.isLazy))
  }

  #divide(permitted: readonly Entry[], isLazy: boolean): { shown: Entry[]; deferred: Entry[] } {
    if (!this.#canSearch) return { shown: [...permitted], deferred: [] }
    const deferrable = permitted.filter(({ name }) => !this.#isPinned(name))
    this.#defersAll = defersAll(deferrable, this.#settings, { isLazy, did: this.#defersAll })
    const deferral = {
      ...this.#settings,
      isLazy,
      defer: this.#defersAll ? 'all' : this.#settings.defer,
    } as const
    const shown: Entry[] = []
    const deferred: Entry[] = []
    for (const entry of permitted) {
      const isHidden = isDeferred(entry, deferral) && !this.#isPinned(entry.name)
      if (isHidden) deferred.push(entry)
      else shown.push(entry)
    }
    return { shown, deferred }
  }
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
