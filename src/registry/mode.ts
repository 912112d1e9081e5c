import type { Entry } from './entry.ts'

/** full: every schema, every turn. lazy: deferrable tools appear once activated. auto: lazy when there are many. */
export type Mode = 'full' | 'lazy' | 'auto'

/**
 * Which tools are deferrable. flagged: those with `deferred: true`. mcp: those and the tools of MCP servers and plugins.
 * auto: as mcp, and as all once the tools that would stay shown are too many. all: every tool that is not pinned.
 */
export type Defer = 'auto' | 'all' | 'mcp' | 'flagged'

export interface ModeSettings {
  readonly mode: Mode
  readonly defer: Defer
  readonly toolThreshold: number
  readonly thresholdPercent: number
  readonly contextWindow?: number | undefined
}

/** What a mode means for the catalogue as it is now. */
export interface ModeDecision {
  readonly isLazy: boolean
  /** True when auto mode chose lazy by itself. */
  readonly isAuto: boolean
  readonly reason: string
}

// Once lazy, auto mode stays so until the catalogue is clearly smaller: a server that comes and goes at the
// threshold would otherwise change every session's surface each time.
const HYSTERESIS = 0.8

export function decideMode(
  settings: ModeSettings,
  catalogue: { readonly size: number; readonly tokens: number },
  wasLazy: boolean,
): ModeDecision {
  if (settings.mode !== 'auto') {
    return { isLazy: settings.mode === 'lazy', isAuto: false, reason: `mode is ${settings.mode}` }
  }
  const slack = wasLazy ? HYSTERESIS : 1
  if (catalogue.size >= settings.toolThreshold * slack) {
    return {
      isLazy: true,
      isAuto: true,
      reason: `${catalogue.size} tools, threshold ${settings.toolThreshold}`,
    }
  }
  const maxTokens = ((settings.contextWindow ?? Number.POSITIVE_INFINITY) * settings.thresholdPercent) / 100
  // Without a context window nothing is counted: the estimate costs a pass over every schema.
  if (settings.contextWindow !== undefined && catalogue.tokens > maxTokens * slack) {
    return {
      isLazy: true,
      isAuto: true,
      reason: `definitions take ${catalogue.tokens} of ${maxTokens} tokens`,
    }
  }
  return {
    isLazy: false,
    isAuto: false,
    reason: `${catalogue.size} tools, threshold ${settings.toolThreshold}`,
  }
}

/**
 * Whether `defer: 'auto'` defers every tool: when those it would leave on the surface, besides what is pinned, are too
 * many themselves. With the same slack as the mode, so that one tool more or less does not change every surface.
 */
export function defersAll(
  deferrable: readonly Entry[],
  { defer, mode, toolThreshold }: ModeSettings,
  { isLazy, did }: { readonly isLazy: boolean; readonly did: boolean },
): boolean {
  if (defer !== 'auto' || !isLazy) return false
  const stays = deferrable.filter(
    (entry) => entry.deferral === 'unset' && !isDeferred(entry, { isLazy, mode, defer: 'mcp' }),
  )
  return stays.length >= toolThreshold * (did ? HYSTERESIS : 1)
}

/** Whether a tool is hidden until it is activated. */
export function isDeferred(
  entry: Entry,
  { isLazy, mode, defer }: { readonly isLazy: boolean; readonly mode: Mode; readonly defer: Defer },
): boolean {
  if (mode === 'full' || entry.deferral === 'pinned') return false
  if (entry.deferral === 'deferred') return true
  if (!isLazy) return false
  if (defer === 'all') return true
  return defer !== 'flagged' && entry.source.kind !== 'builtin'
}

/** What a decision depends on. `tokens` is read only for settings that count them. */
export interface CatalogueFigures {
  readonly size: number
  readonly tokens: number
}

/**
 * Caches the mode decision for each combination of settings. Every change of the catalogue decides again, so that
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

  /** Must be called after every change of the catalogue. */
  update(): void {
    for (const tracked of this.#decisions.values()) {
      tracked.decision = decideMode(tracked.settings, this.#figures, tracked.decision.isLazy)
    }
  }
}
