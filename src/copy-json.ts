/** Deeper than any real arguments, shallow enough for every recursive reader that comes after. */
const MAX_DEPTH = 200

/**
 * A deep copy of JSON data, so that whoever gets it may change it. Throws, with the reason, for what is not JSON:
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

/** Sets a key that assigning would take for the prototype. */
export function setOwn(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
}
