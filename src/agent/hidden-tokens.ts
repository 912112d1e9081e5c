import type { View } from '../registry/view.ts'
import type { Session } from '../session/session.ts'
import type { Surface } from '../session/surface.ts'
import { estimateTokens } from '../text.ts'

type Deferred = View['deferred']

/** Estimates what full mode would have sent in addition. */
export class HiddenTokens {
  /** By the map of deferred tools of a view, which is a new object whenever the catalogue changes. */
  readonly #deferredTokens = new WeakMap<Deferred, number>()

  /**
   * About how many tokens of definitions a turn saved: those of deferred, inactive tools, minus the meta-tools that
   * replace them. Active tools cost the same in both modes.
   */
  of(session: Session, surface: Surface): number {
    const { deferred, shown } = session.currentTurn().view
    if (deferred.size === 0) return 0
    let hidden = this.#deferredTokens.get(deferred) ?? tokensOf(deferred)
    this.#deferredTokens.set(deferred, hidden)
    for (const { name, tokens } of session.toJSON().activations) if (deferred.has(name)) hidden -= tokens
    const own = new Set(shown.map(({ name }) => name))
    const metaTools = surface.tools.filter(({ name }) => !own.has(name) && !deferred.has(name))
    for (const tool of metaTools) hidden -= estimateTokens(JSON.stringify(tool))
    return Math.max(0, hidden)
  }
}

/** Counting every definition of a huge catalogue would delay the first turn by most of a second. */
const MAX_COUNTED = 1000

/** About how many tokens all definitions take; for a large catalogue, from an even sample. */
function tokensOf(deferred: Deferred): number {
  const step = Math.ceil(deferred.size / MAX_COUNTED)
  let place = 0
  let counted = 0
  let tokens = 0
  for (const entry of deferred.values()) {
    if (place++ % step !== 0) continue
    counted++
    tokens += entry.tokens
  }
  return Math.round((tokens * deferred.size) / counted)
}
