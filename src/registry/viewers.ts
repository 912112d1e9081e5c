import type { Emit } from '../events.ts'
import type { Snapshot } from './catalogue.ts'
import type { ModeSettings } from './mode.ts'
import type { ModeTracker } from './mode-tracker.ts'
import { type CompiledPolicy, compilePolicy, type Gates } from './policy.ts'
import { Viewer } from './viewer.ts'

/** What decides how a session sees the catalogue. */
export interface ViewSettings extends ModeSettings {
  readonly pinned: readonly string[]
  readonly searchTool: string
}

export interface ViewersOptions {
  readonly modes: ModeTracker
  snapshot(): Snapshot
  emit: Emit
}

export interface SharedView {
  readonly viewer: Viewer
  readonly policy: CompiledPolicy
}

/** How many ways of seeing are kept; a service opens its sessions in a handful of ways. */
const MAX_VIEWERS = 100

/** Shares viewers: sessions that see the catalogue alike look at it once, however many they are. */
export class Viewers {
  readonly #options: ViewersOptions
  readonly #shared = new Map<string, SharedView>()

  constructor(options: ViewersOptions) {
    this.#options = options
  }

  of(settings: ViewSettings, gates: Gates): SharedView {
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
    const shared = this.#shared.get(key) ?? this.#create(settings, gates)
    // Put back at the end: the first is the one that was asked for longest ago.
    this.#shared.delete(key)
    this.#shared.set(key, shared)
    const [oldest] = this.#shared.keys()
    if (this.#shared.size > MAX_VIEWERS && oldest !== undefined) this.#shared.delete(oldest)
    return shared
  }

  #create(settings: ViewSettings, gates: Gates): SharedView {
    const { modes, snapshot, emit } = this.#options
    const policy = compilePolicy(gates)
    const canSearch = policy.denialOfMetaTool(settings.searchTool) === undefined
    // Asked for now, so that hysteresis counts from here on.
    modes.decision(settings)
    const viewer = new Viewer({
      settings,
      policy,
      canSearch,
      snapshot,
      emit,
      mode: () => modes.decision(settings),
    })
    return { viewer, policy }
  }
}
