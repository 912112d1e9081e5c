/** JSON with sorted keys: equal data gives equal text, whatever the order it was written in. */
export function canonicalJson(value: unknown): string {
  return (
    JSON.stringify(value, (_key, nested: unknown) => (isRecord(nested) ? sortKeys(nested) : nested)) ?? 'null'
  )
}

/** An object that is neither null nor an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function sortKeys(record: Record<string, unknown>): Record<string, unknown> {
  // Without a prototype, so that a key named __proto__ is a key like any other.
  const sorted: Record<string, unknown> = Object.create(null)
  for (const key of Object.keys(record).sort()) sorted[key] = record[key]
  return sorted
}

/**
 * A 64-bit FNV-1a-style hash of a text as 16 hexadecimal digits. It tells versions of a text apart; it is no
 * defence against someone who forges one (the lockfile uses SHA-256).
 */
export function hashText(text: string): string {
  // Two 32-bit lanes with different seeds: BigInt would be exact FNV-64, and thirty times slower.
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
