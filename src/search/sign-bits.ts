/**
 * A sketch of a vector: the signs of its coordinates, 32 to a number, after a fixed rotation. The angle between two
 * vectors shows in how many signs differ; the rotation spreads what a vector says evenly, so that each sign tells as
 * much as any other.
 */
export function signBits(vector: Float32Array): Uint32Array {
  const rotated = spread(vector)
  const bits = new Uint32Array(rotated.length / WORD)
  for (let at = 0; at < rotated.length; at++)
    if ((rotated[at] as number) > 0) bits[at >>> 5] = (bits[at >>> 5] as number) | (1 << (at & 31))
  return bits
}

const WORD = 32
/** Sketches are compared eight numbers at a time. */
const SMALLEST = 8 * WORD

/** Two rounds of: flip some signs, then a Walsh–Hadamard transform. Takes n·log n steps instead of n². */
function spread(vector: Float32Array): Float32Array {
  let size = SMALLEST
  while (size < vector.length) size *= 2
  const values = new Float32Array(size)
  values.set(vector)
  for (const seed of [0x9e3779b1, 0x85ebca6b]) {
    for (let at = 0; at < size; at++)
      if ((Math.imul(at + 1, seed) >>> 16) & 1) values[at] = -(values[at] as number)
    for (let half = 1; half < size; half *= 2) {
      for (let start = 0; start < size; start += 2 * half) {
        for (let at = start; at < start + half; at++) {
          const left = values[at] as number
          const right = values[at + half] as number
          values[at] = left + right
          values[at + half] = left - right
        }
      }
    }
  }
  return values
}
