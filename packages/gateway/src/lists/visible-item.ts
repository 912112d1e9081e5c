import { withoutHidden } from '@toolcrib/core/internal'
import { isJson, type Json } from '../json-rpc.ts'
import { wellFormed } from './well-formed.ts'

/** Keywords of a schema whose values are compared exactly. */
const EXACT = ['enum', 'const', 'required', 'dependentRequired', '$ref']
/** Deeper than any real schema. */
const MAX_DEPTH = 100

/**
 * A tool, prompt, resource or template as clients list it: as its server sent it, without malformed fields and without
 * characters that hide text from people. `_meta` is for programs and stays unchanged. An output schema with such
 * characters in its names or values is left out: without them, results would no longer match it.
 */
export function visibleItem(listed: Json): Json {
  const item = wellFormed(listed)
  const { _meta, ...shown } = item
  // True for nearly all of them, so usually nothing is copied.
  if (isPlain(shown)) return item
  const { outputSchema, ...texts } = shown
  const visible = withoutHiddenTexts(texts, 0)
  return {
    ...(isJson(visible) ? visible : {}),
    ...(outputSchema === undefined || hidesNames(outputSchema, 0)
      ? {}
      : { outputSchema: withoutHiddenTexts(outputSchema, 0) }),
    ...(_meta === undefined ? {} : { _meta }),
  }
}

/** Whether a name or a URI has hidden characters: without them it would be a different one. */
export function hidesText(key: string): boolean {
  return withoutHidden(key) !== key
}

/** Whether an item certainly needs no change: it is printable ASCII with line breaks and tabs, and not too deep. */
function isPlain(item: Json): boolean {
  try {
    const text = JSON.stringify(item)
    return /^[\x20-\x7e]*$/.test(text) && !/\\[bfru]/.test(text) && !isDeep(item, 0)
  } catch {
    // Nested too deep to be serialized.
    return false
  }
}

function isDeep(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth > MAX_DEPTH || Object.values(value).some((each) => isDeep(each, depth + 1))
}

function withoutHiddenTexts(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return withoutHidden(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth > MAX_DEPTH) return null
  if (Array.isArray(value)) return value.map((each) => withoutHiddenTexts(each, depth + 1))
  const entries = Object.entries(value).map(([key, each]) => [
    withoutHidden(key),
    withoutHiddenTexts(each, depth + 1),
  ])
  return Object.fromEntries(entries)
}

/** Whether a schema has hidden characters that cannot be removed: in names, and in values that are compared. */
function hidesNames(schema: unknown, depth: number, isExact = false): boolean {
  if (typeof schema === 'string') return isExact && hidesText(schema)
  if (typeof schema !== 'object' || schema === null) return false
  if (depth > MAX_DEPTH) return true
  return Object.entries(schema).some(
    ([key, value]) => hidesText(key) || hidesNames(value, depth + 1, isExact || EXACT.includes(key)),
  )
}
