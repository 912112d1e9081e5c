import { HASH_SEED, hashed } from '../json.ts'
import { sourceName } from '../names.ts'
import type { Listing } from '../tool.ts'
import { listingTerms, ParameterWalk } from './lexical/listing-terms.ts'
import { stem } from './lexical/text-words.ts'
import { listingText } from './vectors/listing-text.ts'

/** Parts of a saved index, by name. */
export type Sections = Readonly<Record<string, Uint8Array>>

/** First bytes of a saved index, with the version of its layout. */
const MAGIC = 'TCINDEX1'
const HEADER_START = 24
const ALIGNMENT = 8

interface Header {
  readonly recipe: string
  readonly sections: readonly (readonly [name: string, bytes: number])[]
}

/**
 * Puts sections into one array of bytes: the magic, the length of all, a checksum, the length of the header, the header
 * as JSON, the sections, each aligned to eight bytes.
 */
export function packSections(recipe: string, sections: Sections): Uint8Array {
  const header: Header = {
    recipe,
    sections: Object.entries(sections).map(([name, bytes]) => [name, bytes.length]),
  }
  const headerBytes = new TextEncoder().encode(JSON.stringify(header))
  let at = alignedTo(HEADER_START + headerBytes.length)
  const starts = header.sections.map(([, length]) => {
    const start = at
    at = alignedTo(at + length)
    return start
  })
  const bytes = new Uint8Array(at)
  bytes.set(new TextEncoder().encode(MAGIC))
  bytes.set(headerBytes, HEADER_START)
  for (const [place, section] of Object.values(sections).entries()) bytes.set(section, starts[place] ?? 0)
  const view = new DataView(bytes.buffer)
  view.setUint32(8, bytes.length, true)
  view.setUint32(16, headerBytes.length, true)
  view.setUint32(12, checksum(bytes), true)
  return bytes
}

/**
 * What bytes are: an index that can be used, one of another release or embedder (outdated), or damaged: then they are not
 * of this layout, were changed, or were cut short.
 */
export type ReadIndex =
  | { readonly state: 'ready'; readonly sections: Sections }
  | { readonly state: 'outdated' | 'damaged' }

/** Reads the output of `packSections`. The sections are parts of the bytes: copy what is to be changed. */
export function readSections(bytes: Uint8Array, recipe: string): ReadIndex {
  const whole = aligned(bytes)
  const read = readHeader(whole)
  if (read === undefined) return { state: 'damaged' }
  if (read.header.recipe !== recipe) return { state: 'outdated' }
  let at = alignedTo(read.end)
  const sections = read.header.sections.map(([name, length]) => {
    const section = whole.subarray(at, at + length)
    at = alignedTo(at + length)
    return [name, section] as const
  })
  return { state: 'ready', sections: Object.fromEntries(sections) }
}

/** The header and where it ends; undefined for damaged bytes, for those that were cut short and for another layout. */
function readHeader(bytes: Uint8Array): { readonly header: Header; readonly end: number } | undefined {
  if (bytes.length < HEADER_START) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (new TextDecoder().decode(bytes.subarray(0, MAGIC.length)) !== MAGIC) return undefined
  if (view.getUint32(8, true) !== bytes.length || view.getUint32(12, true) !== checksum(bytes))
    return undefined
  const end = HEADER_START + view.getUint32(16, true)
  return { header: JSON.parse(new TextDecoder().decode(bytes.subarray(HEADER_START, end))), end }
}

/** The bytes at an offset where numbers can be read. */
function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % ALIGNMENT === 0 ? bytes : bytes.slice()
}

/** A checksum of all bytes but its own place, four at a time. */
function checksum(bytes: Uint8Array): number {
  const numbers = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 2)
  let sum = HASH_SEED
  for (let at = 0; at < numbers.length; at++) if (at !== 3) sum = hashed(sum, numbers[at] as number)
  return sum >>> 0
}

function alignedTo(offset: number): number {
  return Math.ceil(offset / ALIGNMENT) * ALIGNMENT
}

/** Reads differently whenever a change of the code makes other words, stems or texts of the same listing. */
const PROBE: Listing = {
  name: 'mcp__office-suite__sendHTMLMessages2Go',
  ownName: 'sendHTMLMessages2Go',
  title: 'Send formatted messages',
  searchHint: 'mail, e-mail, notify',
  description:
    'Sends the given messages to several people at once; returns their identifiers. Überraschung, 送信する, café.',
  inputSchema: {
    type: 'object',
    properties: {
      recipients: { type: 'array', items: { type: 'string', description: 'addresses of the recipients' } },
      format: { enum: ['plain', 'rich'], description: 'how it is written' },
    },
  },
  source: { kind: 'mcp', server: 'office-suite' },
  trust: 0,
}

/** Changes with what a saved index consists of. */
const SECTIONS_VERSION = '5'

/** What an index is made by: one that was saved under another recipe is of no use. */
export function indexRecipe(embedder: string, dimensions: number): string {
  const terms = [...listingTerms(PROBE)].map(([word, { frequency, fields }]) => [
    word,
    stem(word),
    frequency,
    fields,
  ])
  return digestOf([SECTIONS_VERSION, embedder, String(dimensions), JSON.stringify(terms), listingText(PROBE)])
}

/** Differs for listings whose index entries differ. */
export function digestOfListings(listings: readonly Listing[]): string {
  const digest = new Digest()
  const onName = (name: string) => digest.add(name, PARAMETER_NAME)
  const onText = (text: string) => digest.add(text)
  for (const { ownName, title = '', searchHint = '', description, inputSchema, source } of listings) {
    digest.add(ownName, LISTING)
    digest.add(title)
    digest.add(searchHint)
    digest.add(description)
    new ParameterWalk(onName, onText).visit(inputSchema, 0)
    digest.add(sourceName(source))
  }
  return digest.toString()
}

/** Kinds of texts: the first one of a listing, and the name of a parameter, which is not a text about it. */
const LISTING = 2
const PARAMETER_NAME = 1

function digestOf(texts: readonly string[]): string {
  const digest = new Digest()
  for (const text of texts) digest.add(text)
  return digest.toString()
}

/** A 64-bit digest of several texts. Tells versions apart; does not resist deliberate collisions. */
class Digest {
  #first = HASH_SEED
  #second = 0x9747b28c

  /** Adds a text, and of which kind it is. */
  add(text: string, kind = 0): void {
    let first = this.#first
    let second = this.#second
    // Two letters at a time; past the end there is NaN, which counts as 0.
    for (let at = 0; at < text.length; at += 2) {
      const letters = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16)
      first = hashed(first, letters)
      second = Math.imul(second ^ letters, 0x5bd1e995) ^ (second >>> 15)
    }
    // The end of a text counts, and its length: a word cannot move from one text to the next.
    this.#first = hashed(hashed(first, text.length), 0x10000 + kind)
    this.#second = hashed(hashed(second, text.length), 0x20000 + kind)
  }

  toString(): string {
    return `${(this.#first >>> 0).toString(16)}-${(this.#second >>> 0).toString(16)}`
  }
}
