import type { View } from '../registry/view.ts'

/** Counts of one registry or session; `loaded + deferred = total_registered`. */
export interface Stats {
  readonly total_registered: number
  readonly loaded: number
  readonly deferred: number
  /** True when something is deferred: hidden until it is activated. */
  readonly deferred_mode: boolean
  /** True when auto mode turned lazy by itself, and something is deferred. */
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
    deferred_mode: view.deferred.size > 0,
    auto_deferred: view.mode.isAuto && view.deferred.size > 0,
    threshold,
    tool_names: names,
  }
}

/** The same for one session: its shown tools, and those that it has checked out, are loaded. */
export function sessionStats(
  view: View,
  active: readonly { readonly name: string }[],
  threshold: number,
): Stats {
  const names = [...view.shown.map(({ name }) => name), ...view.deferred.keys()].sort()
  const loaded = view.shown.length + active.filter(({ name }) => view.deferred.has(name)).length
  return statsOf(view, { names, loaded, threshold })
}
