import { isRecord } from '../json.ts'
import type { Reducer } from './reducer.ts'

export interface JsonReducerOptions {
  readonly toolName: string
  /** Arrays up to this long stay whole; 20. */
  readonly maxItems?: number
  /** How many items of a longer array are shown; 5. */
  readonly sampleItems?: number
  /** Texts up to this long stay whole; 2,000. */
  readonly maxTextChars?: number
}

const MAX_DEPTH = 100

/** Shortens JSON and leaves it JSON: a long array becomes a sample and a count, a long text its beginning. */
export function json({
  toolName,
  maxItems = 20,
  sampleItems = 5,
  maxTextChars = 2_000,
}: JsonReducerOptions): Reducer {
  function shorten(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return shortenText(value)
    if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value
    if (Array.isArray(value)) return shortenArray(value, depth)
    return Object.fromEntries(Object.entries(value).map(([key, nested]) => [key, shorten(nested, depth + 1)]))
  }

  function shortenArray(items: readonly unknown[], depth: number): unknown[] {
    if (items.length <= maxItems) return items.map((item) => shorten(item, depth + 1))
    const sample = items.slice(0, sampleItems).map((item) => shorten(item, depth + 1))
    const left = items.length - sample.length
    return [...sample, `[${left} more of ${items.length} items left out; ask for a page, or for fewer]`]
  }

  function shortenText(text: string): string {
    if (text.length <= maxTextChars) return text
    const shown = text.slice(0, maxTextChars).replace(/[\uD800-\uDBFF]$/, '')
    return `${shown}… [${text.length - shown.length} more of ${text.length} chars left out]`
  }

  return {
    toolName,
    reduce(result) {
      if (!result.ok) return undefined
      const data = parse(result.value)
      if (!Array.isArray(data) && !isRecord(data)) return undefined
      const value = JSON.stringify(shorten(data, 0))
      return value.length < result.value.length ? { ...result, value } : undefined
    },
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
