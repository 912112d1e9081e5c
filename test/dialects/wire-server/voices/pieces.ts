/** A text in the small pieces it is streamed in. */
export function pieces(text: string, size = 3): string[] {
  return text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []
}

/** JSON as a value; text that is not JSON stays text. Empty text is nothing. */
export function readJson(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
