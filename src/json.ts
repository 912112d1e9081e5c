/** JSON with sorted keys: equal data gives equal text, regardless of key order. */
export function canonicalJson(value: unknown): string {
  return (
    JSON.stringify(value, (_key, nested: unknown) => (isRecord(nested) ? sortKeys(nested) : nested)) ?? 'null'
  )
}

/** True for an object that is neither null nor an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function sortKeys(record: Record<string, unknown>): Record<string, unknown> {
  // No prototype, so that a key named __proto__ is an ordinary key.
  const sorted: Record<string, unknown> = Object.create(null)
  for (const key of Object.keys(record).sort()) sorted[key] = record[key]
  return sorted
}

/**
 * A 64-bit FNV-1a-style hash of a text, as 16 hexadecimal digits. It distinguishes versions of a text but does not
 * resist deliberate collisions (the lockfile uses SHA-256).
 */
export function hashText(text: string): string {
  // Two 32-bit lanes with different seeds. Exact FNV-64 needs BigInt, which is thirty times slower.
  let first = 0x811c9dc5
  let second = 0x1b873593
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    first = Math.imul(first ^ unit, 0x01000193)
    second = Math.imul(second ^ unit ^ (first >>> 15), 0x01000193)
  }
  return hexadecimal(first) + hexadecimal(second)
}

function hexadecimal(lane: number): string {
  return (lane >>> 0).toString(16).padStart(8, '0')
}
