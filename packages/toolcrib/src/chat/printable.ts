import { cut, plain } from '../terminal/text.ts'

/**
 * Prose that is safe to print. A model's text can contain control sequences that move the cursor, rename the window or
 * reverse text; only line breaks and tabs are kept.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (character) =>
    character === '\n' || character === '\t' ? character : '',
  )
}

/** Text on one line, cut to a length. */
export function oneLine(text: string, maxLength = 100): string {
  return cut(plain(text), maxLength)
}
