import { type Surface, surfaceTokens } from './surface.ts'
import { Turn, type TurnOptions } from './turn.ts'

/**
 * The turns of one session: a turn is used until the catalogue or the first request changes, and its surface is the same
 * object as the one before while nothing changes.
 */
export class Turns {
  readonly #options: TurnOptions
  /** By name: the changed definition that was reported last. */
  readonly #reportedChanges = new Map<string, string>()
  #turn: Turn | undefined
  #surface: Surface | undefined

  constructor(options: TurnOptions) {
    this.#options = options
  }

  get current(): Turn {
    if (this.#turn?.isCurrent) return this.#turn
    const turn = new Turn(this.#options)
    this.#turn = turn
    this.#options.checkout.fit()
    this.#reportChanges(turn)
    return turn
  }

  surface(hostTools: number): Surface {
    const { viewpoint, services } = this.#options
    viewpoint.leaveRoom(hostTools)
    this.#surface = this.current.surface(this.#surface)
    if (services.events.hasListeners) this.#emitSurfaced(this.#surface)
    return this.#surface
  }

  surfaceAfter(before: Surface): Surface {
    if (before.deferredTools === undefined) return before
    const now = this.current.surface(before)
    return now.strategy === before.strategy ? now : before
  }

  #emitSurfaced(surface: Surface): void {
    const { sessionId, services } = this.#options
    const { deferredCount, fingerprint, tools } = surface
    const cost = { tools: tools.length, tokens: surfaceTokens(surface) }
    services.events.emit({ type: 'surfaced', ...cost, deferredCount, fingerprint, sessionId })
  }

  /** A tool that was checked out with another definition is reported, once for each definition. */
  #reportChanges(turn: Turn): void {
    const { sessionId, services } = this.#options
    for (const { name, fingerprint } of turn.changedTools()) {
      if (this.#reportedChanges.get(name) === fingerprint) continue
      this.#reportedChanges.set(name, fingerprint)
      services.events.emit({ type: 'definition-changed', name, sessionId })
    }
  }
}
