import type { Finding } from '@toolcrib/core'
import { nameSkeletons, withoutHidden } from '@toolcrib/core/internal'
import type { ConnectedServers } from '@toolcrib/mcp'

/** How many characters around the judged passage an excerpt shows, if it begins or ends with `…`. */
const AROUND = 40
/** Far more than a sentence has: a text without an end is shown in part. */
const MAX_SENTENCE = 600

/**
 * A finding with the sentence that was judged, as the server wrote it: the scanner reads texts in lower case, with
 * letters of other scripts replaced. Text that was decoded first stays an excerpt.
 */
export function asWritten(finding: Finding, servers: ConnectedServers): Finding {
  const { server, tool, item, place, excerpt } = finding
  if (item !== undefined && item !== 'instructions') return finding
  const definition = servers.tools(server)?.find(({ name }) => name === tool)
  const text = item === 'instructions' ? servers.info(server)?.instructions : textAt(definition, place)
  const sentence = text === undefined ? undefined : sentenceOf(text, excerpt)
  return sentence === undefined ? finding : { ...finding, excerpt: sentence }
}

/** The sentences of a text around the passage of an excerpt; undefined if it is not there. */
export function sentenceOf(text: string, excerpt: string): string | undefined {
  const isCutBefore = excerpt.startsWith('…')
  const isCutAfter = excerpt.endsWith('…')
  // Hidden characters are written out in an excerpt.
  const passage = excerpt
    .slice(isCutBefore ? 1 : 0, isCutAfter ? -1 : undefined)
    .replaceAll(/\\u\{[0-9a-f]+\}/g, '')
  const written = lettersOf(text)
  const wanted = lettersOf(passage)
  const at = written.letters.indexOf(wanted.letters)
  if (at < 0 || wanted.letters === '') return undefined
  const before = isCutBefore ? lettersOf(passage.slice(0, AROUND)).letters.length : 0
  const after = isCutAfter ? lettersOf(passage.slice(-AROUND)).letters.length : 0
  const first = at + Math.min(before, wanted.letters.length - 1)
  const last = Math.max(first, at + wanted.letters.length - 1 - after)
  return wholeSentences(text, written.places[first] ?? 0, written.places[last] ?? text.length)
}

/** The letters and digits of a text as the scanner reads them, and where each of them is. */
function lettersOf(text: string): { readonly letters: string; readonly places: readonly number[] } {
  let letters = ''
  const places: number[] = []
  let at = 0
  for (const character of text) {
    for (const letter of readAs(character)) {
      letters += letter
      places.push(at)
    }
    at += character.length
  }
  return { letters, places }
}

function readAs(character: string): string {
  if (/[a-z0-9]/.test(character)) return character
  if (/[A-Z]/.test(character)) return character.toLowerCase()
  if (character.charCodeAt(0) < 128) return ''
  const read = nameSkeletons(withoutHidden(character)).at(-1) ?? ''
  return read.replaceAll(/[^\p{L}\p{N}]/gu, '')
}

/** Where a sentence ends: lines of wrapped prose do not end one, paragraphs and entries of lists do. */
const SENTENCE_END = /[.!?](?=\s)\s*|\n\s*\n\s*|\n\s*(?=[-*#<\d])/g

/** From the beginning of the sentence at `from` to the end of the one at `to`. */
function wholeSentences(text: string, from: number, to: number): string {
  const ends = [...text.matchAll(SENTENCE_END)].map(({ index, 0: end }) => index + end.length)
  const start = Math.max(ends.findLast((end) => end <= from) ?? 0, from - MAX_SENTENCE)
  const end = Math.min(ends.find((end) => end > to) ?? text.length, to + MAX_SENTENCE)
  return `${start > 0 ? '… ' : ''}${text.slice(start, end).trim()}${end < text.length ? ' …' : ''}`
}

/** The text at a place such as `inputSchema.properties.path.description`. */
function textAt(definition: unknown, place: string): string | undefined {
  let value = definition
  let rest = place
  while (rest !== '') {
    if (typeof value !== 'object' || value === null) return undefined
    const parts: object = value
    // The names of properties may have dots in them.
    const key = Object.keys(parts).find((each) => rest === each || rest.startsWith(`${each}.`))
    if (key === undefined) return undefined
    value = Reflect.get(parts, key)
    rest = rest.slice(key.length + 1)
  }
  return typeof value === 'string' ? value : undefined
}
