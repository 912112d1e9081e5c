import type { Emit } from '../events.ts'
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

/** What a mode means for the current catalogue. */
export interface ModeDecision {
  readonly isLazy: boolean
  /** True when auto mode chose lazy by itself. */
  readonly isAuto: boolean
  readonly reason: string
}

// A figure must fall by more than a fifth before anything changes back: a server that comes and goes at the threshold
// would otherwise change every session's surface each time.
const MAX_LAG = 1.25

/**
 * A figure that follows growth at once and decline with a lag: it is at most a quarter above the current one. It
 * reaches a threshold exactly if the figure itself has reached it and has not been clearly below it since. So one
 * number decides for every threshold, regardless of who asks and when.
 */
export class SteadyFigure {
  #value: number

  constructor(now: number) {
    this.#value = now
  }

  get value(): number {
    return this.#value
  }

  follow(now: number): void {
    this.#value = Math.max(now, Math.min(this.#value, now * MAX_LAG))
  }
}

/** What a decision depends on: the catalogue's current and earlier figures. */
export interface ModeFigures {
  readonly size: number
  readonly steadySize: number
  /** Read only for settings with a context window: counting costs a pass over every schema. */
  readonly tokens: number
  readonly steadyTokens: number
}

/** Decides what a mode means for a catalogue. */
export function decideMode(settings: ModeSettings, figures: ModeFigures): ModeDecision {
  const { mode, toolThreshold, thresholdPercent, contextWindow } = settings
  if (mode !== 'auto') return { isLazy: mode === 'lazy', isAuto: false, reason: `mode is ${mode}` }
  const bySize = `${figures.size} tools, threshold ${toolThreshold}`
  if (figures.steadySize >= toolThreshold) return { isLazy: true, isAuto: true, reason: bySize }
  if (contextWindow !== undefined) {
    const maxTokens = (contextWindow * thresholdPercent) / 100
    const byTokens = `definitions take ${figures.tokens} of ${maxTokens} tokens`
    if (figures.steadyTokens > maxTokens) return { isLazy: true, isAuto: true, reason: byTokens }
  }
  return { isLazy: false, isAuto: false, reason: bySize }
}

/**
 * Whether `defer: 'auto'` defers every tool: if the unpinned tools that would stay shown are too many themselves.
 * `recentlyGone` tools that recently left the catalogue count too, with the same lag as the mode, so that one tool more
 * or less does not change every surface.
 */
export function defersAll(
  staying: number,
  { defer, toolThreshold }: Pick<ModeSettings, 'defer' | 'toolThreshold'>,
  { isLazy, recentlyGone }: { readonly isLazy: boolean; readonly recentlyGone: number },
): boolean {
  if (defer !== 'auto' || !isLazy) return false
  return Math.min(staying + recentlyGone, staying * MAX_LAG) >= toolThreshold
}

/** Whether `defer: 'auto'` leaves a tool on the surface as long as there are few such tools. */
export function isLeftShown(entry: Entry, state: Omit<DeferState, 'defer'>): boolean {
  const isUndecided = entry.deferral === 'unset' || (entry.deferral === 'while-few' && !state.isFew)
  return isUndecided && !isDeferred(entry, { ...state, defer: 'mcp' })
}

/** What decides which tools are deferred. */
interface DeferState {
  readonly isLazy: boolean
  readonly mode: Mode
  readonly defer: Defer
  /** Whether there are fewer than `toolThreshold` tools. */
  readonly isFew?: boolean
}

/** Whether a tool is hidden until it is activated. */
export function isDeferred(entry: Entry, { isLazy, mode, defer, isFew = false }: DeferState): boolean {
  if (mode === 'full' || entry.deferral === 'pinned') return false
  if (entry.deferral === 'while-few' && isFew) return false
  if (entry.deferral === 'deferred') return true
  if (!isLazy) return false
  if (defer === 'all') return true
  return defer !== 'flagged' && entry.source.kind !== 'builtin'
}

/** The figures of a catalogue as it is now. */
export interface CatalogueFigures {
  readonly size: number
  readonly tokens: number
  /** Built-in tools for which `defer` decides whether they are deferred. */
  readonly undecided: number
}

/** How many combinations of settings are watched for changes of mode; a service has a handful. */
const MAX_WATCHED = 100

/**
 * The catalogue's figures over time, and the resulting mode decisions. A decision depends only on the catalogue's
 * history, not on who looked when. Emits `mode-changed` once for each combination of settings in use.
 */
export class ModeHistory implements ModeFigures {
  readonly #catalogue: CatalogueFigures
  readonly #emit: Emit
  readonly #size: SteadyFigure
  readonly #undecided: SteadyFigure
  #tokens: SteadyFigure | undefined
  readonly #watched = new Map<string, { readonly settings: ModeSettings; isLazy: boolean }>()

  constructor(catalogue: CatalogueFigures, emit: Emit) {
    this.#catalogue = catalogue
    this.#emit = emit
    this.#size = new SteadyFigure(catalogue.size)
    this.#undecided = new SteadyFigure(catalogue.undecided)
  }

  get size(): number {
    return this.#catalogue.size
  }

  get steadySize(): number {
    return this.#size.value
  }

  get tokens(): number {
    return this.#catalogue.tokens
  }

  /** Recorded from the first query on: counting from the start would cost every registry. */
  get steadyTokens(): number {
    this.#tokens ??= new SteadyFigure(this.#catalogue.tokens)
    return this.#tokens.value
  }

  /** How many undecided tools left the catalogue and still count. */
  get recentlyGone(): number {
    return this.#undecided.value - this.#catalogue.undecided
  }

  /** Returns the decision for these settings, and watches from now on whether it changes. */
  decision({ mode, defer, toolThreshold, thresholdPercent, contextWindow }: ModeSettings): ModeDecision {
    const settings = { mode, defer, toolThreshold, thresholdPercent, contextWindow }
    const decision = decideMode(settings, this)
    if (mode === 'auto') this.#watch(settings, decision.isLazy)
    return decision
  }

  /** Must be called after every change of the catalogue. */
  update(): void {
    this.#size.follow(this.#catalogue.size)
    this.#undecided.follow(this.#catalogue.undecided)
    this.#tokens?.follow(this.#catalogue.tokens)
    for (const watched of this.#watched.values()) {
      const { isLazy, reason } = decideMode(watched.settings, this)
      if (isLazy === watched.isLazy) continue
      watched.isLazy = isLazy
      this.#emit({ type: 'mode-changed', mode: isLazy ? 'lazy' : 'full', reason })
    }
  }

  #watch(settings: ModeSettings, isLazy: boolean): void {
    const key = JSON.stringify(settings)
    // Moved to the end, so that the first one is the least recently requested.
    this.#watched.delete(key)
    this.#watched.set(key, { settings, isLazy })
    const [oldest] = this.#watched.keys()
    if (this.#watched.size > MAX_WATCHED && oldest !== undefined) this.#watched.delete(oldest)
  }
}
