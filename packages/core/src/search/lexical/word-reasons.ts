import { FIELDS } from './listing-terms.ts'
import type { QueryTerm, WeightedWord } from './query-terms.ts'
import { folded } from './text-words.ts'
import type { Vocabulary } from './vocabulary.ts'

/** A match whose reasons are asked for. */
export interface Matched {
  /** -1 if no word of the query is in it. */
  readonly number: number
}

/** A query, as it was read. */
export interface ReadQuery {
  readonly words: readonly WeightedWord[]
  readonly terms: readonly QueryTerm[]
  readonly vocabulary: Vocabulary
}

/** Maximum words of a tool to name for one word of a query: a sentence without spaces has many. */
const MAX_NAMED = 4

/**
 * For each match, the words of the query that it contains and in which fields. Where a match has another form of a word, the
 * reason names that form: `"scheduling" as "schedule" in name`. All matches are described at once, word by word, since a
 * search ranks more of them than it returns.
 */
export function wordReasons(matches: readonly Matched[], query: ReadQuery): string[][] {
  const { postings } = query.vocabulary
  const sorted = matches.map(({ number }, at) => ({ number, at })).sort((a, b) => a.number - b.number)
  const numbers = Uint32Array.from(
    sorted.filter(({ number }) => number >= 0),
    ({ number }) => number,
  )
  const first = sorted.length - numbers.length
  const reasons = matches.map((): string[] => [])
  const literal = new Uint8Array(numbers.length)
  for (const [word, lists] of listsByWord(query)) {
    const asked = folded(word.text.normalize('NFKC'))
    const others = new Map<number, OtherForm[]>()
    literal.fill(0)
    for (const list of lists) {
      const own = query.vocabulary.wordOf(list)
      // "meeting" is in "meetings".
      const isLiteral = own.includes(asked)
      postings.findAll(list, numbers, (at, place) => {
        const fields = postings.notes[at] as number
        if (isLiteral) literal[place] = (literal[place] as number) | fields
        else if (others.get(place)?.push({ own, fields }) === undefined) others.set(place, [{ own, fields }])
      })
    }
    const label = quoted(word)
    for (let place = 0; place < numbers.length; place++) {
      const places = describePlaces(literal[place] as number, others.get(place))
      if (places !== '') reasons[sorted[first + place]?.at ?? 0]?.push(`${label} ${places}`)
    }
  }
  return reasons
}

/** The posting lists of each word of the query. */
function listsByWord({ words, terms }: ReadQuery): Map<WeightedWord, number[]> {
  const lists = new Map<WeightedWord, number[]>()
  for (const { forms, written } of terms) {
    const word = words[written[0] ?? 0]
    if (word === undefined) continue
    const own = lists.get(word) ?? []
    for (const { list } of forms) own.push(list)
    lists.set(word, own)
  }
  return lists
}

/** Another form of a word of the query that a match contains, with a bit for each field. */
interface OtherForm {
  readonly own: string
  readonly fields: number
}

function describePlaces(literal: number, others: readonly OtherForm[] | undefined): string {
  const asWritten = literal === 0 ? '' : `in ${FIELD_LABELS[literal]}`
  if (others === undefined) return asWritten
  const named = others
    .toSorted((a, b) => firstField(a.fields) - firstField(b.fields))
    .map(({ own, fields }) => `as "${own}" in ${FIELD_LABELS[fields]}`)
  return [asWritten, ...named].filter(Boolean).slice(0, MAX_NAMED).join(', ')
}

function firstField(fields: number): number {
  return FIELDS.findIndex((_, at) => (fields & (1 << at)) !== 0)
}

function quoted({ text, written, isMisspelt }: WeightedWord): string {
  if (written === undefined) return `"${text}"`
  return isMisspelt ? `"${written}" read as "${text}",` : `"${written}" ("${text}")`
}

/** Field names for reasons, indexed by field bits. */
const FIELD_LABELS: readonly string[] = Array.from({ length: 1 << FIELDS.length }, (_, fields) =>
  FIELDS.filter((_, at) => (fields & (1 << at)) !== 0)
    .map(({ label }) => label)
    .join(', '),
)
