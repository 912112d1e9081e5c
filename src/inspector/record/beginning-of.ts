/** The beginning of a text that is kept for long, as a copy: a slice would keep all of a long text in memory. */
export function beginningOf(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : Buffer.from(text.slice(0, maxChars)).toString()
}
