import type { Listing } from '../../packages/core/src/tool.ts'
import { seededRandom } from './random.ts'

/** Signs per group: 512 groups. */
const SIGNS = 9
const SEED = 5

/**
 * Groups listings that mean something similar, whatever their source: those on the same sides of some random planes through the
 * middle of all. In a batch, they are each other's hardest negatives, as in a large catalogue.
 */
export function likeGroups(
  listings: readonly Listing[],
  vectors: readonly Float32Array[],
): (listing: Listing) => string {
  const dimensions = vectors[0]?.length ?? 0
  const middle = new Float32Array(dimensions)
  for (const vector of vectors)
    for (let at = 0; at < dimensions; at++)
      middle[at] = (middle[at] as number) + (vector[at] as number) / vectors.length
  const random = seededRandom(SEED)
  const planes = Array.from({ length: SIGNS }, () =>
    Float32Array.from({ length: dimensions }, () => random() + random() + random() - 1.5),
  )
  const sideOf = (vector: Float32Array, plane: Float32Array): number => {
    let sum = 0
    for (let at = 0; at < dimensions; at++)
      sum += (plane[at] as number) * ((vector[at] as number) - (middle[at] as number))
    return sum > 0 ? 1 : 0
  }
  const groups = new Map<Listing, string>()
  for (const [at, listing] of listings.entries())
    groups.set(listing, `like ${planes.map((plane) => sideOf(vectors[at] as Float32Array, plane)).join('')}`)
  return (listing) => groups.get(listing) ?? 'none'
}
