import { decideMode, type ModeDecision, type ModeSettings } from './mode.ts'

/** What a decision looks at. `tokens` is asked for only by settings that count them. */
export interface CatalogueFigures {
  readonly size: number
  readonly tokens: number
}

/**
 * Keeps what each mode setting in use comes to. It is decided anew at every change of the catalogue, so that
 * hysteresis does not depend on who looked when.
 */
export class ModeTracker {
  readonly #figures: CatalogueFigures
  readonly #decisions = new Map<string, { readonly settings: ModeSettings; decision: ModeDecision }>()

  constructor(figures: CatalogueFigures) {
    this.#figures = figures
  }

  /** The decision for these settings; from now on it is kept up to date. */
  decision({ mode, defer, toolThreshold, thresholdPercent, contextWindow }: ModeSettings): ModeDecision {
    const settings = { mode, defer, toolThreshold, thresholdPercent, contextWindow }
    const key = JSON.stringify(settings)
    const tracked = this.#decisions.get(key)
    if (tracked) return tracked.decision
    const decision = decideMode(settings, this.#figures, false)
    this.#decisions.set(key, { settings, decision })
    return decision
  }

  /** To be called after every change of the catalogue. */
  update(): void {
    for (const tracked of this.#decisions.values()) {
      tracked.decision = decideMode(tracked.settings, this.#figures, tracked.decision.isLazy)
    }
  }
}
