import { checkOptions, type OptionRules } from '../check-options.ts'
import { describeError, ToolcribError } from '../errors.ts'
import type { StoredValue, WriteOptions } from './store.ts'

/** A value as a store keeps it: JSON text, or bytes. */
export type EncodedValue = string | Uint8Array

/**
 * The value as JSON text or as a copy of its bytes. Throws `config-invalid` for values that would not survive a round
 * trip: functions, dates, maps and other instances, numbers that are not finite, cycles, nested bytes.
 */
export function encodeValue(value: unknown): EncodedValue {
  if (value instanceof Uint8Array) return new Uint8Array(value)
  try {
    checkJson(value, 0)
  } catch (fault) {
    throw new ToolcribError('config-invalid', `a store keeps JSON or bytes: ${describeError(fault)}`)
  }
  return JSON.stringify(value)
}

/** A fresh copy of the value. */
export function decodeValue(encoded: EncodedValue): StoredValue {
  return typeof encoded === 'string' ? JSON.parse(encoded) : new Uint8Array(encoded)
}

const MAX_KEY_CHARS = 512

/** Throws `config-invalid` for an invalid key. */
export function checkKey(key: unknown): void {
  if (typeof key !== 'string' || key === '' || key.length > MAX_KEY_CHARS) {
    throw new ToolcribError('config-invalid', `a key of a store must have 1 to ${MAX_KEY_CHARS} characters`)
  }
  // Encoded as UTF-8, two keys with different lone surrogates would be equal.
  if (/\p{Surrogate}/u.test(key)) {
    throw new ToolcribError('config-invalid', 'a key of a store must be valid Unicode')
  }
}

/** When a value written now expires; Infinity if never. Throws `config-invalid` for options out of range. */
export function expiryOf(options: WriteOptions, now: number): number {
  checkOptions('a write to a store', options, WRITE_OPTIONS)
  return now + (options.ttlMs ?? Number.POSITIVE_INFINITY)
}

const WRITE_OPTIONS: OptionRules<WriteOptions> = {
  ttlMs: {
    expected: 'a number above 0',
    accepts: (value) => typeof value === 'number' && Number.isFinite(value) && value > 0,
  },
}

/** Deeper than any real data, and shallow enough for every recursive reader. */
const MAX_DEPTH = 200

function checkJson(value: unknown, depth: number): void {
  if (depth > MAX_DEPTH) throw new TypeError(`it is cyclic or more than ${MAX_DEPTH} levels deep`)
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`${value} is not a JSON number`)
  } else if (Array.isArray(value)) {
    // Not forEach, which skips the holes.
    for (const item of value) checkJson(item, depth + 1)
  } else if (isPlainObject(value)) {
    for (const nested of Object.values(value)) if (nested !== undefined) checkJson(nested, depth + 1)
  } else {
    throw new TypeError(`${describeKind(value)} is not JSON`)
  }
}

/** Also true for a plain object of another realm, such as a test runner's. */
function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function describeKind(value: unknown): string {
  if (typeof value !== 'object' || value === null)
    return value === undefined ? 'undefined' : `a ${typeof value}`
  const name: unknown = value.constructor?.name
  return typeof name === 'string' && name !== '' ? `an instance of ${name}` : 'an instance of a class'
}
