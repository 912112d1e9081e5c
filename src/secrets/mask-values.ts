/** Replaces a secret. */
const MASK = '***'
/** Shorter values are too common to mask without damaging the text. */
const MIN_LENGTH = 6
/** From this length on, lines of a multi-line secret (such as a PEM key) are also masked individually. */
const MIN_LINE_LENGTH = 16
/** From this length on, the start or end of a truncated secret reveals too much. */
const MIN_CUT_LENGTH = 12

/**
 * Masks the values wherever they occur in a text: verbatim, escaped for JSON, URLs or HTML, in hexadecimal and in
 * base64, including as part of a longer encoded text (`Basic` credentials), and truncated. Values shorter than 6
 * characters are not masked, since they occur in ordinary text.
 */
export function maskValues(values: readonly string[]): (text: string) => string {
  const pieces = [...new Set(values.filter(isMaskable).flatMap(piecesOf))]
  const forms = [...new Set([...pieces, ...pieces.flatMap(encodingsOf)].filter(isMaskable))]
  return (text) => {
    const found = [...rangesOf(text, forms), ...htmlRanges(text, pieces)]
    return replaceRanges(text, merged(found))
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
  return [value, value.trim(), ...lines].filter(isMaskable)
}

function encodingsOf(value: string): string[] {
  const bytes = new TextEncoder().encode(value)
  const encoded = percentEncode(value)
  const form = new URLSearchParams([['', value]]).toString().slice(1)
  return [
    ...jsonForms(value),
    ...htmlForms(value),
    encoded,
    lowerEscapes(encoded),
    encodeAll(bytes),
    lowerEscapes(encodeAll(bytes)),
    form,
    lowerEscapes(form),
    ...hexForms(bytes),
    ...base64Forms(bytes),
  ]
}

/** The value as JSON writes it: with slashes, non-ASCII or all letters escaped or not, and as JSON within JSON. */
function jsonForms(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1)
  const ascii = json.replace(/[\u0080-\uffff]/g, unicodeEscape)
  const escaped = Array.from({ length: value.length }, (_, at) => unicodeEscape(value.charAt(at))).join('')
  const forms = [
    ...[json, json.replaceAll('/', '\\/'), ascii, ascii.replaceAll('/', '\\/'), upperEscapes(ascii)],
    ...[escaped, upperEscapes(escaped)],
  ]
  return [...forms, ...forms.map((form) => JSON.stringify(form).slice(1, -1))]
}

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function upperEscapes(text: string): string {
  return text.replace(/(?<=\\u)[0-9a-f]{4}/g, (digits) => digits.toUpperCase())
}

/** The value as HTML writes it: each form of the two quotes, and non-ASCII or all letters verbatim or numeric. */
function htmlForms(value: string): string[] {
  const escaped = value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const quoted = ['&quot;', '&#34;', '&#x22;', '"'].flatMap((double) =>
    ['&#39;', '&#x27;', '&apos;', '&#039;', "'"].map((single) =>
      escaped.replaceAll('"', double).replaceAll("'", single),
    ),
  )
  const numbered = (base: 10 | 16, letters: RegExp) => (form: string) =>
    form.replace(letters, (letter) => {
      const code = (letter.codePointAt(0) ?? 0).toString(base)
      return base === 16 ? `&#x${code};` : `&#${code};`
    })
  const beyondAscii = /[^\0-\x7f]/gu
  return [
    ...quoted,
    ...quoted.map(numbered(10, beyondAscii)),
    ...quoted.map(numbered(16, beyondAscii)),
    numbered(10, /./gsu)(value),
    numbered(16, /./gsu)(value),
  ]
}

function hexForms(bytes: Uint8Array): string[] {
  const digits = [...bytes].map((byte) => byte.toString(16).padStart(2, '0'))
  return ['', ' ', ':'].flatMap((between) => {
    const lower = digits.join(between)
    return [lower, lower.toUpperCase()]
  })
}

/** Percent-encodes every byte, as some libraries do. */
function encodeAll(bytes: Uint8Array): string {
  return [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('')
}

/** Like encodeURIComponent, which throws on a lone surrogate. */
function percentEncode(value: string): string {
  return encodeURIComponent(new TextDecoder().decode(new TextEncoder().encode(value)))
}

function lowerEscapes(text: string): string {
  return text.replace(/%[0-9A-F]{2}/g, (octet) => octet.toLowerCase())
}

/**
 * Base64 packs three bytes into four characters, so a value looks different at each of three offsets in a longer
 * text. The characters shared with neighbouring bytes are left out; the rest is the same in any context.
 */
function base64Forms(bytes: Uint8Array): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const padded = new Uint8Array(offset + bytes.length)
    padded.set(bytes, offset)
    const letters = Buffer.from(padded).toString('base64').replaceAll('=', '')
    const own = letters.slice(Math.ceil((offset * 8) / 6), Math.floor((padded.length * 8) / 6))
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')]
  })
}

type Range = [start: number, end: number]

/** Where any of the forms occurs, whole or truncated. */
function rangesOf(text: string, forms: readonly string[]): Range[] {
  const found: Range[] = []
  for (const form of forms) {
    for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + 1))
      found.push([at, at + form.length])
  }
  for (const form of forms) found.push(...cutRanges(text, form))
  return found
}

/** The ranges by their start. Overlapping ones are merged, so that no part of a secret remains. */
function merged(ranges: readonly Range[]): Range[] {
  const all: Range[] = []
  for (const [start, end] of ranges.toSorted(([first], [second]) => first - second)) {
    const last = all.at(-1)
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end)
    else all.push([start, end])
  }
  return all
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
  readonly source: Range
  readonly plain: Range
}

/** Where a text contains the values once its HTML references are characters: there are too many spellings to list. */
function htmlRanges(text: string, values: readonly string[]): Range[] {
  if (values.length === 0) return []
  const found = rangesOf(text.replace(REFERENCE, letterOf), values)
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
  const placeOf = (at: number): Range => {
    while ((references[nth]?.plain[1] ?? Number.POSITIVE_INFINITY) <= at) nth++
    const reference = references[nth]
    if (reference && reference.plain[0] <= at) return reference.source
    const before = references[nth - 1]
    const moved = at + (before === undefined ? 0 : before.source[1] - before.plain[1])
    return [moved, moved + 1]
  }
  return ranges.map(([start, end]) => [placeOf(start)[0], placeOf(end - 1)[1]])
}

/** What follows the start of a truncated text, and what precedes the end of one. */
const CUT_AFTER = /^(?:…|\.{3}|\r?\n|$)/
const CUT_BEFORE = /(?:^|…|\n)$/

/** Where the text contains a truncated part of this form: its start before a cut, or its end after one. */
function cutRanges(text: string, form: string): Range[] {
  const found: Range[] = []
  // The header and footer lines of a PEM key are not secret.
  if (form.length < 2 * MIN_CUT_LENGTH || form.startsWith('-----')) return found
  const head = form.slice(0, MIN_CUT_LENGTH)
  for (let at = text.indexOf(head); at !== -1; at = text.indexOf(head, at + 1)) {
    let length = head.length
    while (length < form.length && text[at + length] === form[length]) length++
    if (CUT_AFTER.test(text.slice(at + length, at + length + 3))) found.push([at, at + length])
  }
  const tail = form.slice(-MIN_CUT_LENGTH)
  for (let at = text.indexOf(tail); at !== -1; at = text.indexOf(tail, at + 1)) {
    const end = at + tail.length
    let length = tail.length
    while (length < form.length && text[end - length - 1] === form[form.length - length - 1]) length++
    if (CUT_BEFORE.test(text.slice(Math.max(0, end - length - 1), end - length)))
      found.push([end - length, end])
  }
  return found
}

function replaceRanges(text: string, ranges: readonly Range[]): string {
  let masked = ''
  let from = 0
  for (const [start, end] of ranges) {
    masked += text.slice(from, start) + MASK
    from = end
  }
  return masked + text.slice(from)
}
