/** The first `maxChars` characters of a text; a surrogate pair is never torn. */
export function cutText(text: string, maxChars: number): string {
  const last = text.charCodeAt(maxChars - 1)
  const isHighSurrogate = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, Math.max(0, isHighSurrogate ? maxChars - 1 : maxChars))
}

/** A text that is shown for orientation only: within `maxChars`, with `…` where it goes on. */
export function clipText(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${cutText(text, maxChars - 1)}…`
}

/** A number within its range, whatever was asked for; `otherwise` when nothing was. */
export function clamp(
  value: number | undefined,
  range: { readonly min: number; readonly max: number; readonly otherwise: number },
): number {
  if (value === undefined || Number.isNaN(value)) return range.otherwise
  return Math.trunc(Math.min(range.max, Math.max(range.min, value)))
}
