import { withoutHidden } from '@toolcrib/core/internal'

/** A text as written, or decoded. */
export interface Reading {
  readonly text: string
  /** How it was encoded; undefined for the text as written. */
  readonly encoding?: string
}

const ROUNDS = 3
const MAX_READINGS = 12
const MAX_DECODED = 60_000

/**
 * Returns every reading of a text: as written, and with character references, percent encoding, escapes, base64,
 * hexadecimal bytes, rotated and reversed letters decoded, repeatedly. Runs in linear time.
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

/** A run of characters encoded one by one without need. */
const ENCODED_RUN =
  /(?:&#x?[0-9a-f]{2,6};){12}|(?:%[0-9a-f]{2}){12}|(?:\\u00[0-7][0-9a-f]){12}|(?:\\x[0-7][0-9a-f]){12}/i
const MIN_HIDDEN_WORDS = 3

/** Returns an encoded text of several words, whatever it says; undefined when there is none. */
export function encodedText(text: string): Required<Reading> | undefined {
  const hidden = (text.match(/[A-Za-z0-9+/_-]{16,}={0,2}/g) ?? [])
    .map(fromBase64)
    .find((decoded) => decoded !== undefined && isProse(decoded))
  if (hidden !== undefined) return { text: hidden, encoding: 'base64' }
  if (!ENCODED_RUN.test(text)) return undefined
  const [, first] = readingsOf(text)
  return first && isProse(first.text)
    ? { text: first.text, encoding: first.encoding ?? 'escapes' }
    : undefined
}

function isProse(text: string): boolean {
  return (text.match(/(?:^|\s)\p{L}{2,}/gu)?.length ?? 0) >= MIN_HIDDEN_WORDS
}

interface Decoder {
  readonly name: string
  /** A quick check that rules out most texts. */
  isUsed(text: string): boolean
  decode(text: string): string
}

function decodeBy({ name, isUsed, decode }: Decoder, { text, encoding }: Reading): Reading[] {
  if (!isUsed(text)) return []
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

/** Sixteen bytes in a row, written apart or as one word: shorter ones are colours, versions and identifiers. */
const HEX_BYTES = /(?:(?:0x|\\x)?[0-9a-f]{2}[\s,:]{0,2}){16,2000}/i
const HEX_BYTE = /[0-9a-f]{2}/gi

/** Frequent words with each letter moved by thirteen places, and written backwards. */
const ROTATED_WORDS = /\b(?:gur|naq|lbh|lbhe|guvf|jvgu|abg|sbe|bs|nyy|hfre|gbby|pnyy)\b/gi
const REVERSED_WORDS = /\b(?:eht|dna|uoy|ruoy|siht|htiw|ton|fo|lla|resu|loot|llac|tuoba|morf)\b/gi
/** Fewer may be names. */
const MIN_WORDS = 3

const DECODERS: readonly Decoder[] = [
  {
    name: 'character references',
    isUsed: (text) => /&(?:#|lt;|gt;|amp;|quot;|apos;|nbsp;)/i.test(text),
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
    isUsed: (text) => /%[0-9a-f]{2}/i.test(text),
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
    isUsed: (text) => /\\(?:u\{?|x)[0-9a-f]{2}/i.test(text),
    decode: (text) =>
      text.replace(
        /\\(?:u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|x([0-9a-f]{2}))/gi,
        (whole, braced, four, two) => fromCode(Number.parseInt(braced ?? four ?? two, 16)) ?? whole,
      ),
  },
  {
    name: 'base64',
    isUsed: (text) => /[A-Za-z0-9+/_-]{16}/.test(text),
    // Keeps only decoded base64; the rest has already been read.
    decode: (text) =>
      (text.match(/[A-Za-z0-9+/_-]{16,}={0,2}/g) ?? [])
        .map(fromBase64)
        .filter((decoded) => decoded !== undefined)
        .join(' '),
  },
  {
    name: 'hexadecimal bytes',
    isUsed: (text) => HEX_BYTES.test(text),
    // Keeps only decoded bytes; the rest has already been read.
    decode: (text) =>
      (text.match(new RegExp(HEX_BYTES, 'gi')) ?? [])
        .map((run) =>
          readable(Uint8Array.from(run.match(HEX_BYTE) ?? [], (byte) => Number.parseInt(byte, 16))),
        )
        .filter((decoded) => decoded !== undefined)
        .join(' '),
  },
  {
    name: 'rotated letters',
    isUsed: (text) => (text.match(ROTATED_WORDS)?.length ?? 0) >= MIN_WORDS,
    decode: (text) => text.replace(/[a-z]/gi, rotated),
  },
  {
    name: 'reversed letters',
    isUsed: (text) => (text.match(REVERSED_WORDS)?.length ?? 0) >= MIN_WORDS,
    decode: (text) => [...text].reverse().join(''),
  },
]

function rotated(letter: string): string {
  const first = letter < 'a' ? 65 : 97
  return String.fromCharCode(((letter.charCodeAt(0) - first + 13) % 26) + first)
}

function fromCode(code: number): string | undefined {
  return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
    ? String.fromCodePoint(code)
    : undefined
}

/** Decodes base64 if the result is readable text: tool names and long words look like base64, too. */
function fromBase64(run: string): string | undefined {
  const binary = atobOrNothing(run.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, ''))
  if (binary === undefined) return undefined
  return readable(Uint8Array.from(binary, (character) => character.charCodeAt(0)))
}

function readable(bytes: Uint8Array): string | undefined {
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
