import type { SessionStep } from '../../../record/session-log.ts'

/** A turn with its surface: what was shown, and what was checked out when it began. */
export interface TurnSurface {
  readonly turn: number
  readonly tokens: number
  readonly isExact: boolean
  readonly deferred: number
  readonly names: readonly string[]
}

/** The turns of a session. A client that lists its tools once sends the same list with each turn, until it lists them again. */
export function turnsOf(steps: readonly SessionStep[]): TurnSurface[] {
  const turns = new Map<number, TurnSurface>()
  const active = new Set<string>()
  let shown: Pick<TurnSurface, 'tokens' | 'isExact' | 'deferred'> | undefined
  for (const { kind, turn, tokens = 0, isExact = false, deferred = 0, names = [] } of steps) {
    if (kind === 'surface') {
      shown = { tokens, isExact, deferred }
      turns.set(turn, { turn, ...shown, names })
    } else if (shown && turn > 0 && !turns.has(turn)) turns.set(turn, { turn, ...shown, names: [...active] })
    if (kind === 'activated' || kind === 'reached') for (const name of names) active.add(name)
    if (kind === 'evicted' || kind === 'returned') for (const name of names) active.delete(name)
  }
  return [...turns.values()]
}
