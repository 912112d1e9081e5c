import { FormFinder, merged, type Range } from './form-finder.ts'
import { formsOf } from './secret-forms.ts'

/** Replaces a secret. */
const MASK = '***'
/** Shorter values are too common to mask without damaging the text. */
const MIN_LENGTH = 6
/** From this length on, lines of a multi-line secret (such as a PEM key) are also masked individually. */
const MIN_LINE_LENGTH = 16
/** The size of a text up to which forms are also found that white space interrupts. */
const MAX_JOINED = 262_144
/** From this length on, letters with white space between them are hardly anything else. */
const MIN_JOINED_LENGTH = 12

/**
 * Masks the values wherever they occur in a text, in any of the forms of `formsOf()`, truncated, or with white space
 * between their letters. Values shorter than 6 characters are not masked, since they occur in ordinary text. `maskOf`
 * returns what takes the place of a value. Costs one pass over a text that contains none.
 */
export function maskValues(
  values: readonly string[],
  maskOf: (value: string) => string = () => MASK,
): (text: string) => string {
  const masks = new Map<string, string>()
  for (const value of values.filter(isMaskable))
    for (const form of piecesOf(value).flatMap(formsOf))
      if (isMaskable(form) && !masks.has(form)) masks.set(form, maskOf(value))
  if (masks.size === 0) return (text) => text
  const finder = new FormFinder(masks)
  const unbroken = [...masks].filter(([form]) => form.length >= MIN_JOINED_LENGTH && !/\s/.test(form))
  const joinedFinder = new FormFinder(new Map(unbroken), { isCutAlso: false })
  return (text) => {
    const found = [
      ...finder.rangesIn(text),
      ...htmlRanges(text, finder),
      ...(text.length > MAX_JOINED ? [] : joinedRanges(text, joinedFinder)),
    ]
    return found.length === 0 ? text : replaceRanges(text, merged(found))
  }
}

/** Whether a value is long enough to be distinct from ordinary text. */
export function isMaskable(value: string): boolean {
  return value.length >= MIN_LENGTH
}

/** The value, and those of its lines that are secrets by themselves. */
function piecesOf(value: string): string[] {
  const lines = value
    .split(/\r?\n/)
    .filter((line) => line.length >= MIN_LINE_LENGTH && !line.startsWith('-----'))
  return [...new Set([value, value.trim(), ...lines])].filter(isMaskable)
}

/** Where a text contains a form once its white space is removed, as in wrapped base64. */
function joinedRanges(text: string, forms: FormFinder): Range[] {
  const joined = text.replace(/\s+/g, '')
  const found = joined.length === text.length ? [] : forms.rangesIn(joined)
  if (found.length === 0) return []
  const places: number[] = []
  for (let at = 0; at < text.length; at++) if (!/\s/.test(text.charAt(at))) places.push(at)
  return found.map(([start, end, mask]) => [places[start] ?? 0, (places[end - 1] ?? 0) + 1, mask])
}

/** A character of HTML by number or by name. Parsers accept capitals, leading zeros and a missing semicolon. */
const REFERENCE = /&(?:#x[\da-f]+|#\d+|(?:amp|lt|gt|quot|apos)(?=;));?/gi
const NAMED: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
}

/** A reference in a text, and where its character is in the text without references. */
interface Reference {
  readonly source: readonly [number, number]
  readonly plain: readonly [number, number]
}

/** Where a text contains a form once its HTML references are characters: there are too many spellings to list. */
function htmlRanges(text: string, forms: FormFinder): Range[] {
  if (!text.includes('&')) return []
  const found = forms.rangesIn(text.replace(REFERENCE, letterOf))
  return found.length === 0 ? [] : inSource(merged(found), referencesIn(text))
}

function letterOf(reference: string): string {
  if (reference[1] !== '#') return NAMED[reference.toLowerCase()] ?? reference
  const isHexadecimal = reference[2] === 'x' || reference[2] === 'X'
  const code = Number.parseInt(reference.slice(isHexadecimal ? 3 : 2), isHexadecimal ? 16 : 10)
  return code <= 0x10ffff ? String.fromCodePoint(code) : reference
}

function referencesIn(text: string): Reference[] {
  let shorter = 0
  return Array.from(text.matchAll(REFERENCE), (match) => {
    const [reference] = match
    const after = match.index + reference.length
    const start = match.index - shorter
    const end = start + letterOf(reference).length
    shorter = after - end
    return { source: [match.index, after], plain: [start, end] }
  })
}

/** Ranges of the text without references as those of the text with them. Both lists are in order. */
function inSource(ranges: readonly Range[], references: readonly Reference[]): Range[] {
  let nth = 0
  const placeOf = (at: number): readonly [number, number] => {
    while ((references[nth]?.plain[1] ?? Number.POSITIVE_INFINITY) <= at) nth++
    const reference = references[nth]
    if (reference && reference.plain[0] <= at) return reference.source
    const before = references[nth - 1]
    const moved = at + (before === undefined ? 0 : before.source[1] - before.plain[1])
    return [moved, moved + 1]
  }
  return ranges.map(([start, end, mask]) => [placeOf(start)[0], placeOf(end - 1)[1], mask])
}

function replaceRanges(text: string, ranges: readonly Range[]): string {
  let masked = ''
  let from = 0
  for (const [start, end, mask] of ranges) {
    masked += text.slice(from, start) + mask
    from = end
  }
  return masked + text.slice(from)
}
