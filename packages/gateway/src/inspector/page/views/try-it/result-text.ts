import { parseJson } from '@toolcrib/core/internal'

/** The value of a text that is JSON; undefined for any other text, and for one that takes too long to read. */
export function parsed(text: string): unknown {
  return /^\s*[[{]/.test(text) && text.length <= 1_000_000 ? parseJson(text) : undefined
}
