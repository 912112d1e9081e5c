import type { Entry } from './entry.ts'

/** full: every schema, every turn. lazy: deferrable tools appear once activated. auto: lazy when there are many. */
export type Mode = 'full' | 'lazy' | 'auto'

/** Which tools are deferrable: all, those of MCP servers, or only those flagged `deferred: true`. */
export type Defer = 'all' | 'mcp' | 'flagged'

export interface ModeSettings {
  readonly mode: Mode
  readonly defer: Defer
  readonly toolThreshold: number
  readonly thresholdPercent: number
  readonly contextWindow?: number | undefined
}

/** What a mode comes to for the catalogue as it is now. */
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

/** Whether a tool is hidden until it is activated. */
export function isDeferred(
  entry: Entry,
  { isLazy, mode, defer }: { isLazy: boolean; mode: Mode; defer: Defer },
): boolean {
  if (mode === 'full' || entry.deferral === 'pinned') return false
  if (entry.deferral === 'deferred') return true
  if (!isLazy) return false
  return defer === 'all' || (defer === 'mcp' && entry.source.kind === 'mcp')
}
