/** The seed of an FNV-1a hash; add characters with `hashed`. */
export const HASH_SEED = 0x811c9dc5

export function hashed(hash: number, code: number): number {
  return Math.imul(hash ^ code, 0x01000193)
}
