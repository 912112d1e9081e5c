/** As much of a text as is shown. */
export const MAX_CHARACTERS = 100_000

/** The value of a text that is JSON; undefined for any other text, and for one that takes too long to read. */
export function parsed(text: string): unknown {
  if (!/^\s*[[{]/.test(text) || text.length > 1_000_000) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
