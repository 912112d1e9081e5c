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

export function statsOf(view: View, threshold: number, isActive: (name: string) => boolean): Stats {
  const active = [...view.deferred.keys()].filter(isActive).length
  const names = [...view.shown.map(({ name }) => name), ...view.deferred.keys()].sort()
  return {
    total_registered: names.length,
    loaded: view.shown.length + active,
    deferred: view.deferred.size - active,
    deferred_mode: view.mode.isLazy,
    auto_deferred: view.mode.isAuto,
    threshold,
    tool_names: names,
  }
}
