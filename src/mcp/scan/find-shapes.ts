import type { Trace } from '../../finding.ts'
import { excerptAt } from './hidden-characters.ts'
import { SHAPES, withoutAccents } from './instruction-words.ts'

const MAX_SENTENCE = 400
/** Chinese needs few characters. */
const MIN_SENTENCE = 6

/** Finds sentences that have the shape of an instruction to the model, one trace per message. Expects lower case. */
export function findShapes(accented: string): Trace[] {
  const text = withoutAccents(accented)
  const traces = new Map<string, Trace>()
  const shapes = SHAPES.filter(({ gate }) => gate.test(text))
  if (shapes.length === 0) return []
  for (const { sentence, at } of sentencesOf(text)) {
    for (const { kind, severity, message, parts } of shapes) {
      if (traces.has(message) || !parts.every((part) => part.test(sentence))) continue
      const first = Math.min(...parts.map((part) => sentence.search(part)))
      traces.set(message, { kind, severity, message, excerpt: excerptAt(text, at + first, 60) })
    }
  }
  return [...traces.values()]
}

interface Sentence {
  readonly sentence: string
  readonly at: number
}

/** A full stop ends a sentence only before whitespace: `~/.ssh` does not. A list item ends one, too. */
const SENTENCE_END = /[.!?](?=\s|$)|[。！？]|\n\s{0,8}(?=[\n\-*•#]|\d{1,2}[.)])/g

function* sentencesOf(text: string): Generator<Sentence> {
  let start = 0
  for (const end of text.matchAll(SENTENCE_END)) {
    yield* piecesOf(text, start, end.index + 1)
    start = end.index + 1
  }
  yield* piecesOf(text, start, text.length)
}

/** Splits an overlong sentence into overlapping pieces, so that the work stays linear. */
function* piecesOf(text: string, start: number, end: number): Generator<Sentence> {
  for (let at = start; at < end; at += MAX_SENTENCE) {
    const sentence = text.slice(at, Math.min(end, at + 2 * MAX_SENTENCE)).replace(/\s/g, ' ')
    if (sentence.length >= MIN_SENTENCE && /\S/.test(sentence)) yield { sentence, at }
    if (at + 2 * MAX_SENTENCE >= end) return
  }
}
