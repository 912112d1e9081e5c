import { onFirstUse } from '@toolcrib/core/internal'
import { BIAS, MIN_SCORE, WEIGHTS } from './instruction-weights.ts'

/** The number of distinct features; a power of two. */
export const BUCKETS: number = 1 << 18

/** A sentence with fewer features counts as if it had this many: a few telling words prove little. */
const MIN_FEATURES = 100

const MAX_SENTENCE = 400
/** Chinese needs few characters. */
const MIN_SENTENCE = 6
const MAX_TOKENS = 120

/**
 * Whether a sentence reads like an instruction to the model: a linear model over its words and word pairs, trained on
 * instructions and harmless texts in eight languages (`npm run train -- scanner`). Expects lower case without accents.
 */
export function isInstruction(sentence: string): boolean {
  return scoreOf(featuresOf(sentence), ownWeights(), BIAS) >= MIN_SCORE
}

const ownWeights = onFirstUse(() => readWeights(WEIGHTS))

/** How much a sentence with these features reads like an instruction: 1 for typical ones, -1 for typical others. */
export function scoreOf(features: readonly number[], weights: Float32Array, bias: number): number {
  let sum = 0
  for (const feature of features) sum += weights[feature] ?? 0
  return sum * scaleOf(features) + bias
}

/** The weight of each feature of a sentence. */
export function scaleOf(features: readonly number[]): number {
  return 1 / Math.sqrt(Math.max(features.length, MIN_FEATURES))
}

/** The features of a sentence, each once: its words, their beginnings, and pairs and triples of neighbours. */
export function featuresOf(sentence: string): number[] {
  const words: number[] = []
  const beginnings: number[] = []
  let signs = 0
  for (const [token] of sentence.matchAll(TOKEN)) {
    if (words.length >= MAX_TOKENS) break
    const word = hashOf(/^\d+$/.test(token) ? '0' : token)
    if (SIGN.test(token)) signs++
    words.push(word)
    beginnings.push(token.length < 6 ? word : hashOf(`${token.slice(0, 5)}~`))
  }
  const isInSigns = signs > words.length / 3
  const features = new Set<number>()
  for (const [at, word] of words.entries()) {
    const first = beginnings[at] ?? 0
    const [second, third, fourth] = [beginnings[at + 1], beginnings[at + 2], beginnings[at + 3]]
    features.add(bucketOf(word))
    features.add(bucketOf(first))
    if (second === undefined) continue
    features.add(bucketOf(first, second))
    if (third === undefined) continue
    features.add(bucketOf(first, second, third))
    if (!isInSigns) features.add(bucketOf(first, APART, third))
    if (fourth === undefined) continue
    features.add(isInSigns ? bucketOf(first, second, third, fourth) : bucketOf(first, APART, fourth))
  }
  return [...features]
}

/** A word, a Chinese or Japanese character, or a mark that occurs in paths, addresses and quoted code. */
const TOKEN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{N}]+(?:'\p{L}+)?|[@~`]|:\/\//gu
const SIGN = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]$/u
/** Stands for one or two skipped words. */
const APART = 0x5bd1e995

function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash
}

function bucketOf(...hashes: readonly number[]): number {
  let mixed = 0
  for (const hash of hashes) {
    mixed = Math.imul(mixed ^ hash, 0x9e3779b1)
    mixed ^= mixed >>> 15
  }
  mixed = Math.imul(mixed, 0x85ebca6b)
  return (mixed ^ (mixed >>> 13)) & (BUCKETS - 1)
}

/** Reads what the training wrote: for each weight the distance to the next bucket in one or more bytes, and its value. */
function readWeights(text: string): Float32Array {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  const values = new Float32Array(BUCKETS)
  let bucket = -1
  for (let at = 0; at < bytes.length; at++) {
    let byte = bytes[at] ?? 0
    for (; byte === 255; byte = bytes[++at] ?? 0) bucket += 255
    bucket += byte + 1
    values[bucket] = ((bytes[++at] ?? 0) - 128) / STEPS
  }
  return values
}

/** The precision of stored weights. */
export const STEPS = 24

export interface Sentence {
  readonly sentence: string
  readonly at: number
}

/** A full stop ends a sentence only before whitespace: `~/.ssh` does not. A list item ends one, too. */
const SENTENCE_END = /[.!?](?=\s|$)|[。！？]|\n\s{0,8}(?=[\n\-*•#]|\d{1,2}[.)])/g

/** The sentences of a text. An overlong one is split into overlapping pieces, so that the work stays linear. */
export function* sentencesOf(text: string): Generator<Sentence> {
  let start = 0
  for (const end of text.matchAll(SENTENCE_END)) {
    yield* piecesOf(text, start, end.index + 1)
    start = end.index + 1
  }
  yield* piecesOf(text, start, text.length)
}

function* piecesOf(text: string, start: number, end: number): Generator<Sentence> {
  for (let at = start; at < end; at += MAX_SENTENCE) {
    const sentence = text.slice(at, Math.min(end, at + 2 * MAX_SENTENCE)).replace(/\s+/g, ' ')
    if (sentence.length >= MIN_SENTENCE && /\S/.test(sentence)) yield { sentence, at }
    if (at + 2 * MAX_SENTENCE >= end) return
  }
}

/** Removes accents from Latin letters: `\b` does not handle them, and writers often omit them. */
export function withoutAccents(text: string): string {
  return text.replace(/[\u00c0-\u024f]/g, (letter) => letter.normalize('NFD').charAt(0))
}
