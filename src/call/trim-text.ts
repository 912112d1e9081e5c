import { cutText } from '../text.ts'

/**
 * The text within a limit. What is cut ends in a marker that says how long the whole is; the marker counts against
 * the limit, and a limit with no room for it just cuts. A surrogate pair is never torn.
 */
export function trimText(text: string, limitChars: number, handle?: string): string {
  if (text.length <= limitChars) return text
  const marker = `\n[truncated — ${text.length} chars total]`
  const pointer = handle === undefined ? '' : ` Read the rest with read_result, handle "${handle}".`
  const ending = [marker + pointer, marker].find((candidate) => candidate.length <= limitChars) ?? ''
  return cutText(text, limitChars - ending.length) + ending
}
