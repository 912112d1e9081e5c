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
  let first = HASH_SEED
  let second = 0x1b873593
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    // As `hashed` does: a call for each character takes longer than the rest, until the code is compiled.
    first = Math.imul(first ^ unit, HASH_PRIME)
    second = Math.imul(second ^ unit ^ (first >>> 15), HASH_PRIME)
  }
  return hexadecimal(first) + hexadecimal(second)
}

const HASH_PRIME = 0x01000193

/** The seed of a 32-bit FNV-1a hash; add characters with `hashed`. */
export const HASH_SEED = 0x811c9dc5

/** Adds a character to a 32-bit FNV-1a hash. */
export function hashed(hash: number, code: number): number {
  return Math.imul(hash ^ code, HASH_PRIME)
}

function hexadecimal(lane: number): string {
  return (lane >>> 0).toString(16).padStart(8, '0')
}

/** Deeper than any real arguments, and shallow enough for every recursive function that reads the copy. */
const MAX_DEPTH = 200

/**
 * A deep copy of JSON data, which its receiver may change. Throws, with the reason, for data that is not JSON:
 * functions, big integers, numbers that are not finite, cycles, and data more than 200 levels deep.
 */
export function copyJson(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object') return checkScalar(value)
  if (value === null) return null
  if (depth > MAX_DEPTH) throw new TypeError(`it is cyclic or more than ${MAX_DEPTH} levels deep`)
  if (Array.isArray(value))
    return value.map((item) => (item === undefined ? null : copyJson(item, depth + 1)))
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') return copyJson(toJSON.call(value), depth + 1)
  const copy: Record<string, unknown> = {}
  for (const [key, nested] of Object.entries(value)) {
    if (nested === undefined) continue
    const nestedCopy = copyJson(nested, depth + 1)
    if (key === '__proto__') setOwn(copy, key, nestedCopy)
    else copy[key] = nestedCopy
  }
  return copy
}

function checkScalar(value: unknown): unknown {
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new TypeError(
    typeof value === 'number' ? `${value} is not a JSON number` : `a ${typeof value} is not JSON`,
  )
}

/** Sets a key even if it is `__proto__`, which an assignment would treat as the prototype. */
export function setOwn(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
}

/**
 * Reads the arguments of a call leniently: absent ones are `{}`, and JSON in a string is parsed, unless it has more keys
 * than any real arguments.
 */
export function readArguments(given: unknown): unknown {
  if (given === undefined || given === null) return {}
  if (typeof given !== 'string') return given
  if (given.trim() === '') return {}
  const read = hasMoreKeys(given, MAX_TEXT_KEYS) ? undefined : parseJson(given)
  return read === undefined ? given : read
}

/** The value of a text that is JSON; undefined for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The maximum number of keys, objects and lists in JSON inside a string; a longer text is not parsed. */
export const MAX_TEXT_KEYS = 50_000

/**
 * Whether a JSON text has more than `most` keys, objects and lists, or ten times as many items. Costs a fraction of
 * parsing, and stops at the limit: a key or item costs far more to parse than a character of text.
 */
export function hasMoreKeys(text: string, most: number): boolean {
  if (text.length <= most) return false
  const mostItems = most * ITEMS_PER_KEY
  let keys = 0
  let items = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === COMMA) {
      if (++items > mostItems) return true
    } else if ((code === COLON || code === OPEN_OBJECT || code === OPEN_LIST) && ++keys > most) return true
  }
  return false
}

/** An item of a list costs about a tenth of a key. */
const ITEMS_PER_KEY = 10
const [QUOTE, COMMA, BACKSLASH, COLON, OPEN_OBJECT, OPEN_LIST] = [0x22, 0x2c, 0x5c, 0x3a, 0x7b, 0x5b]

/** Where the string that begins at `start` ends. */
function endOfString(text: string, start: number): number {
  let at = start + 1
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) break
    if (code === BACKSLASH) at++
  }
  return at
}
