import { cut, plain } from '../terminal.ts'

/**
 * Prose that may go to a terminal. What a model says can hold control sequences that move the cursor, rename the window
 * or turn text around; of those only line breaks and tabs are let through.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (character) =>
    character === '\n' || character === '\t' ? character : '',
  )
}

/** On one line, and no longer than a line. */
export function oneLine(text: string, maxLength = 100): string {
  return cut(plain(text), maxLength)
}
