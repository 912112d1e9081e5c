import type { View } from '../registry/viewer.ts'

/** Counts of one registry or session; `loaded + deferred = total_registered`. */
export interface Stats {
  readonly total_registered: number
  readonly loaded: number
  readonly deferred: number
  /** True while deferrable tools are hidden until activated. */
  readonly deferred_mode: boolean
  /** True when auto mode chose that by itself. */
  readonly auto_deferred: boolean
  readonly threshold: number
  /** All names, sorted. */
  readonly tool_names: readonly string[]
}

export interface StatsFigures {
  /** Every tool that counts, sorted. */
  readonly names: readonly string[]
  readonly loaded: number
  readonly threshold: number
}

export function statsOf(view: View, { names, loaded, threshold }: StatsFigures): Stats {
  return {
    total_registered: names.length,
    loaded,
    deferred: names.length - loaded,
    deferred_mode: view.mode.isLazy,
    auto_deferred: view.mode.isAuto,
    threshold,
    tool_names: names,
  }
}
