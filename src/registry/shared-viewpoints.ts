import { compilePolicy, type Gates } from './policy.ts'
import { type Scene, Viewpoint, type ViewSettings } from './viewpoint.ts'

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
