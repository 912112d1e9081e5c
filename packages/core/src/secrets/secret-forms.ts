/**
 * The forms in which a value may be written: verbatim, in other case or reversed, escaped for JSON, URLs, HTML, mail or
 * a program, as numbers, in hexadecimal, base32 and base64, also twice or as part of a longer encoded text.
 */
export function formsOf(value: string): string[] {
  const bytes = new TextEncoder().encode(value)
  const encoded = percentEncode(value)
  const form = new URLSearchParams([['', value]]).toString().slice(1)
  return [
    value,
    value.toUpperCase(),
    value.toLowerCase(),
    [...value].reverse().join(''),
    percentEncode(encoded),
    quotedPrintable(value),
    ...numberForms(bytes),
    ...base32Forms(bytes),
    ...base64Forms(utf16(value)),
    ...base64Forms(new TextEncoder().encode(base64(bytes).replaceAll('=', ''))),
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
  return ['', ' ', ':', '-', '\\x', ', 0x', ',0x', ' 0x'].flatMap((between) => {
    const lower = digits.join(between)
    return [lower, digits.map((digit) => digit.toUpperCase()).join(between)]
  })
}

/** Bytes as decimal numbers, and as the octal escapes of a shell. */
function numberForms(bytes: Uint8Array): string[] {
  const octal = [...bytes].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`)
  return [[...bytes].join(','), [...bytes].join(', '), [...bytes].join(' '), octal.join('')]
}

/** As mail writes it: only = and what is not ASCII is escaped. */
function quotedPrintable(value: string): string {
  const escaped = (byte: number) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`
  return value.replace(/[=\u0080-\uffff]+/g, (part) =>
    [...new TextEncoder().encode(part)].map(escaped).join(''),
  )
}

/** Base32 without the last character, which depends on what follows. */
function base32Forms(bytes: Uint8Array): string[] {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const letters = (bits.match(/.{5}/g) ?? []).map((five) => BASE32.charAt(Number.parseInt(five, 2))).join('')
  return [letters, letters.toLowerCase()]
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

function utf16(value: string): Uint8Array {
  const units = Uint16Array.from({ length: value.length }, (_, at) => value.charCodeAt(at))
  return new Uint8Array(units.buffer)
}

function base64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
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
    const letters = base64(padded).replaceAll('=', '')
    const own = letters.slice(Math.ceil((offset * 8) / 6), Math.floor((padded.length * 8) / 6))
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')]
  })
}
