import type { Lift, SearchMemory } from 'toolcrib'

/** A past request, and the tools that were called for it. */
export interface PastRequest {
  readonly query: string
  readonly called: readonly string[]
}

/** Requests less similar than this have nothing to do with each other. */
const SIMILAR_FROM = 0.35

/** The lift per cosine above `LIFT_FROM`, on the scale of `Ranked.fit`. */
const LIFT = 0.16
const LIFT_FROM = 0.3

/** Replays past use: lifts the tools that were called for similar requests, by the most similar one. */
export class PastUse implements SearchMemory {
  readonly #episodes: { readonly vector: Float32Array; readonly id: string }[] = []

  remember(vector: Float32Array, id: string): void {
    this.#episodes.push({ vector, id })
  }

  lifts(vector: Float32Array): readonly Lift[] {
    const best = new Map<string, number>()
    for (const { vector: past, id } of this.#episodes) {
      let cosine = 0
      for (let at = 0; at < vector.length; at++) cosine += (vector[at] ?? 0) * (past[at] ?? 0)
      if (cosine > SIMILAR_FROM) best.set(id, Math.max(best.get(id) ?? 0, cosine))
    }
    return Array.from(best, ([id, cosine]) => ({ id, lift: LIFT * (cosine - LIFT_FROM) }))
  }
}
