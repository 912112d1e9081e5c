/** What stands where a secret stood. */
const MASK = '***'
/** Pieces shorter than this are too common to be masked without wrecking the text. */
const MIN_LENGTH = 6
/** Lines of a longer secret (a key in PEM form) are masked each on its own from this length on. */
const MIN_LINE_LENGTH = 16
/** From this length on, the beginning of a secret that was cut off, or its end, gives it away. */
const MIN_CUT_LENGTH = 12

/**
 * Masks the values wherever they stand in a text: as they are, as JSON, a URL or HTML writes them, in hexadecimal and
 * in base64, also where they are a part of what was encoded (`Basic` credentials), and what is left of them where a text
 * was cut. Values shorter than 6 characters are not masked: they occur in ordinary text.
 */
export function maskValues(values: readonly string[]): (text: string) => string {
  const forms = [...new Set(values.filter(isMaskable).flatMap(formsOf))]
  return (text) => replaceRanges(text, mergedRanges(text, forms))
}

/** Whether a value is long enough to be told apart from ordinary text. */
export function isMaskable(value: string): boolean {
  return value.length >= MIN_LENGTH
}

function formsOf(value: string): string[] {
  const lines = value
    .split(/\r?\n/)
    .filter((line) => line.length >= MIN_LINE_LENGTH && !line.startsWith('-----'))
  const pieces = [value, value.trim(), ...lines].filter(isMaskable)
  return [...pieces, ...pieces.flatMap(encodingsOf)].filter(isMaskable)
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

/** As a JSON text writes it: with slashes and letters beyond ASCII escaped or not, and as JSON within JSON. */
function jsonForms(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1)
  const ascii = json.replace(/[\u0080-\uffff]/g, unicodeEscape)
  const forms = [json, json.replaceAll('/', '\\/'), ascii, ascii.replaceAll('/', '\\/'), upperEscapes(ascii)]
  return [...forms, ...forms.map((form) => JSON.stringify(form).slice(1, -1))]
}

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function upperEscapes(text: string): string {
  return text.replace(/(?<=\\u)[0-9a-f]{4}/g, (digits) => digits.toUpperCase())
}

/** Each way to write the two quotes, and letters beyond ASCII as they are or by number. */
function htmlForms(value: string): string[] {
  const escaped = value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const quoted = ['&quot;', '&#34;', '&#x22;', '"'].flatMap((double) =>
    ['&#39;', '&#x27;', '&apos;', '&#039;', "'"].map((single) =>
      escaped.replaceAll('"', double).replaceAll("'", single),
    ),
  )
  const numbered = (base: 10 | 16) => (form: string) =>
    form.replace(/[^\0-\x7f]/gu, (letter) => {
      const code = (letter.codePointAt(0) ?? 0).toString(base)
      return base === 16 ? `&#x${code};` : `&#${code};`
    })
  return [...quoted, ...quoted.map(numbered(10)), ...quoted.map(numbered(16))]
}

function hexForms(bytes: Uint8Array): string[] {
  const digits = [...bytes].map((byte) => byte.toString(16).padStart(2, '0'))
  return ['', ' ', ':'].flatMap((between) => {
    const lower = digits.join(between)
    return [lower, lower.toUpperCase()]
  })
}

/** Every byte as an escape, as some escape a whole value. */
function encodeAll(bytes: Uint8Array): string {
  return [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('')
}

/** Like encodeURIComponent, which throws on half a surrogate pair. */
function percentEncode(value: string): string {
  return encodeURIComponent(new TextDecoder().decode(new TextEncoder().encode(value)))
}

function lowerEscapes(text: string): string {
  return text.replace(/%[0-9A-F]{2}/g, (octet) => octet.toLowerCase())
}

/**
 * Base64 packs three bytes into four letters, so a value looks different at each of three offsets in a longer
 * text. The letters that its neighbours share are left out; the rest is the same whatever they are.
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

/** Where any of the forms stands. Those that overlap become one, so that no rest of a secret is left over. */
function mergedRanges(text: string, forms: readonly string[]): [start: number, end: number][] {
  const found: [start: number, end: number][] = []
  for (const form of forms) {
    for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + 1))
      found.push([at, at + form.length])
  }
  for (const form of forms) found.push(...cutRanges(text, form))
  found.sort(([first], [second]) => first - second)
  const merged: [start: number, end: number][] = []
  for (const [start, end] of found) {
    const last = merged.at(-1)
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end)
    else merged.push([start, end])
  }
  return merged
}

/** What follows the beginning of a text that was cut, and what stands before the end of one. */
const CUT_AFTER = /^(?:…|\.{3}|\r?\n|$)/
const CUT_BEFORE = /(?:^|…|\n)$/

/** Where a text was cut in the middle of this form: its beginning before a cut, its end after one. */
function cutRanges(text: string, form: string): [start: number, end: number][] {
  const found: [start: number, end: number][] = []
  // The frame of a key in PEM form is not a secret.
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

function replaceRanges(text: string, ranges: readonly (readonly [start: number, end: number])[]): string {
  let masked = ''
  let from = 0
  for (const [start, end] of ranges) {
    masked += text.slice(from, start) + MASK
    from = end
  }
  return masked + text.slice(from)
}
