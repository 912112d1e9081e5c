/** Copies the beginning of a text that is kept for long: a slice would keep the whole text in memory. */
export function beginningOf(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : Buffer.from(text.slice(0, maxChars)).toString()
}
