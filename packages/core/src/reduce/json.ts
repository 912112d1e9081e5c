import { anyText, checkOptions, type OptionRules, required, wholeNumber } from '../check-options.ts'
import { isRecord, parseJson } from '../json.ts'
import { withoutHiding } from '../names.ts'
import { cutText } from '../text.ts'
import type { Reducer } from './reducer.ts'

/** Which tool's JSON to shorten, and the limits. */
export interface JsonReducerOptions {
  readonly toolName: string
  /** Arrays up to this length are kept whole. 20 by default. */
  readonly maxItems?: number
  /** How many items of a longer array to show. 5 by default. */
  readonly sampleItems?: number
  /** Strings up to this length are kept whole. 2,000 by default. */
  readonly maxTextChars?: number
}

const OPTIONS: OptionRules<JsonReducerOptions> = {
  toolName: required(anyText),
  maxItems: wholeNumber(),
  sampleItems: wholeNumber(),
  maxTextChars: wholeNumber(),
}

const MAX_DEPTH = 100

/**
 * Shortens JSON and keeps it valid: a long array becomes a sample and a count, a long string its beginning. JSON
 * without long parts is unchanged, and numbers keep all their digits.
 */
export function jsonReducer(options: JsonReducerOptions): Reducer {
  checkOptions('jsonReducer()', options, OPTIONS)
  const { toolName, maxItems = 20, sampleItems = 5, maxTextChars = 2_000 } = options
  return {
    toolName,
    reduce(result) {
      if (!result.ok) return undefined
      const data = parseJson(quoteLongNumbers(result.value))
      if (!Array.isArray(data) && !isRecord(data)) return undefined
      let isShortened = false
      // What was hidden behind escapes of JSON must not come out.
      const value = withoutHiding(unquoteLongNumbers(JSON.stringify(shorten(data, 0))))
      return isShortened && value.length < result.value.length ? { ...result, value } : undefined

      function shorten(value: unknown, depth: number): unknown {
        if (typeof value === 'string') return shortenText(value)
        if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value
        if (Array.isArray(value)) return shortenArray(value, depth)
        return Object.fromEntries(
          Object.entries(value).map(([key, nested]) => [key, shorten(nested, depth + 1)]),
        )
      }

      function shortenArray(items: readonly unknown[], depth: number): unknown[] {
        if (items.length <= maxItems) return items.map((item) => shorten(item, depth + 1))
        isShortened = true
        const sample = items.slice(0, sampleItems).map((item) => shorten(item, depth + 1))
        const left = items.length - sample.length
        return [...sample, `[${left} more of ${items.length} items left out; request a page or fewer items]`]
      }

      function shortenText(text: string): string {
        if (text.length <= maxTextChars) return text
        isShortened = true
        const shown = cutText(text, maxTextChars)
        return `${shown}… [${text.length - shown.length} more of ${text.length} chars left out]`
      }
    },
  }
}

// A number with more digits than a double holds is carried as a string and restored at the end.
const QUOTED = '\\u0000number '
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g
const LONG_NUMBER = /\d[\d.]{14,}|[eE]/

function quoteLongNumbers(text: string): string {
  if (!LONG_NUMBER.test(text)) return text
  return text.replace(TOKENS, (token) => {
    const isLong = !token.startsWith('"') && LONG_NUMBER.test(token)
    return isLong ? `"${QUOTED}${token}"` : token
  })
}

function unquoteLongNumbers(text: string): string {
  return text.replace(/"\\u0000number (-?\d[\d.eE+-]*)"/g, '$1')
}
