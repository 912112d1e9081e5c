import { cutText } from '../text.ts'

/**
 * The text within a limit. What is cut ends in a marker that says how long the whole is; the marker counts against
 * the limit, and a limit with no room for it just cuts. A surrogate pair is never torn.
 */
export function trimText(text: string, limitChars: number, handle?: string): string {
  if (text.length <= limitChars) return text
  const marker = markerOf(text)
  const pointers =
    handle === undefined
      ? []
      : [` Read the rest with read_result, handle "${handle}".`, ` read_result "${handle}"`]
  const endings = [...pointers.map((pointer) => marker + pointer), marker]
  const ending = endings.find((candidate) => candidate.length <= limitChars) ?? ''
  return cutText(text, limitChars - ending.length) + ending
}

/** What a text that was cut ends in. */
export function markerOf(text: string): string {
  return `\n[truncated — ${text.length} chars total]`
}
