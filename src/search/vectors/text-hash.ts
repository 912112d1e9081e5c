/** Where a hash starts; feed it characters with `hashed`. (FNV-1a) */
export const HASH_SEED = 0x811c9dc5

export function hashed(hash: number, code: number): number {
  return Math.imul(hash ^ code, 0x01000193)
}
