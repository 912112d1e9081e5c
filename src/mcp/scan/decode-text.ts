import { withoutHidden } from '../../names.ts'

/** A text as it stands, or what it says once an encoding is taken off. */
export interface Reading {
  readonly text: string
  /** How it was encoded; undefined for the text as it stands. */
  readonly encoding?: string
}

const ROUNDS = 3
const MAX_READINGS = 12
const MAX_DECODED = 60_000

/**
 * Everything a text may say: as it stands, and with character references, percent signs, escapes, base64 and letters
 * written apart decoded, several times over. Takes time linear in the text.
 */
export function readingsOf(text: string): Reading[] {
  const readings: Reading[] = [{ text }]
  let last: readonly Reading[] = readings
  for (let round = 0; round < ROUNDS && last.length > 0; round++) {
    const known = new Set(readings.map((reading) => reading.text))
    last = last
      .flatMap((reading) => DECODERS.flatMap((decoder) => decodeBy(decoder, reading)))
      .filter(({ text: decoded }) => decoded !== '' && !known.has(decoded))
      .slice(0, MAX_READINGS - readings.length)
    readings.push(...last)
  }
  return readings
}

interface Decoder {
  readonly name: string
  /** A quick look that rules out most texts. */
  readonly sign: RegExp
  decode(text: string): string
}

function decodeBy({ name, sign, decode }: Decoder, { text, encoding }: Reading): Reading[] {
  if (!sign.test(text)) return []
  const decoded = decode(text).slice(0, MAX_DECODED)
  if (decoded === text) return []
  return [{ text: decoded, encoding: encoding === undefined ? name : `${encoding}, ${name}` }]
}

const NAMED: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
  nbsp: ' ',
}

const DECODERS: readonly Decoder[] = [
  {
    name: 'character references',
    sign: /&(?:#|lt;|gt;|amp;|quot;|apos;|nbsp;)/i,
    decode: (text) =>
      text.replace(
        /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(lt|gt|amp|quot|apos|nbsp));/gi,
        (whole, hex, decimal, name) => {
          if (name !== undefined) return NAMED[String(name).toLowerCase()] ?? whole
          return fromCode(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)) ?? whole
        },
      ),
  },
  {
    name: 'percent signs',
    sign: /%[0-9a-f]{2}/i,
    decode: (text) =>
      text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
        try {
          return decodeURIComponent(run)
        } catch {
          return run
        }
      }),
  },
  {
    name: 'escapes',
    sign: /\\(?:u\{?|x)[0-9a-f]{2}/i,
    decode: (text) =>
      text.replace(
        /\\(?:u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|x([0-9a-f]{2}))/gi,
        (whole, braced, four, two) => fromCode(Number.parseInt(braced ?? four ?? two, 16)) ?? whole,
      ),
  },
  {
    name: 'base64',
    sign: /[A-Za-z0-9+/_-]{16}/,
    // What is not base64 of a readable text is left out: the rest has been read already.
    decode: (text) =>
      (text.match(/[A-Za-z0-9+/_-]{16,}={0,2}/g) ?? [])
        .map(fromBase64)
        .filter((decoded) => decoded !== undefined)
        .join(' '),
  },
  {
    name: 'letters written apart',
    sign: /(?:^|\s)\S \S \S \S \S(?:\s|$)/,
    decode: joinLetters,
  },
]

function fromCode(code: number): string | undefined {
  return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
    ? String.fromCodePoint(code)
    : undefined
}

/** What base64 says, when that is a text: names of tools and long words look like base64, too. */
function fromBase64(run: string): string | undefined {
  const binary = atobOrNothing(run.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, ''))
  if (binary === undefined) return undefined
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0))
  const text = new TextDecoder('utf-8').decode(bytes)
  const isReadable = !text.includes('\uFFFD') && withoutHidden(text) === text && /[\p{L}\p{N}]{2}/u.test(text)
  return isReadable ? text : undefined
}

function atobOrNothing(run: string): string | undefined {
  try {
    return atob(run.length % 4 === 1 ? run.slice(0, -1) : run)
  } catch {
    return undefined
  }
}

/** `I g n o r e  t h i s` → `Ignore this`: between letters one blank is left out, several are one. */
function joinLetters(text: string): string {
  let joined = ''
  let runLength = 0
  for (const word of text.split(/(\s+)/)) {
    const isLetter = [...word].length === 1 && word.trim() !== ''
    const isBlank = word.trim() === ''
    if (isBlank && runLength > 0) joined += word.length > 1 ? ' ' : ''
    else joined += word
    if (!isBlank) runLength = isLetter ? runLength + 1 : 0
  }
  return joined
}
