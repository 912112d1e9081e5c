import { wordsOf } from '../lexical/text-words.ts'
import type { Embedder } from './embedder.ts'

const DIMENSIONS = 256

/**
 * An embedder for tests: every word has its own direction, except that the words of one `meanings` entry share one. A
 * text's vector is the sum of its words'.
 */
export function fakeEmbedder(meanings: readonly (readonly string[])[] = []): Embedder {
  const leaders = new Map(meanings.flatMap((words) => words.map((word) => [word, words[0] ?? word] as const)))
  return {
    name: 'fake',
    dimensions: DIMENSIONS,
    relatedFrom: 0.24,
    embed: (texts) => texts.map((text) => sumOf(wordsOf(text).map((word) => leaders.get(word) ?? word))),
  }
}

/** The same, but asynchronous, like a remote model. */
export function slowEmbedder(embedder: Embedder): Embedder {
  return { ...embedder, embed: async (texts) => embedder.embed(texts) }
}

function sumOf(words: readonly string[]): Float32Array {
  const sum = new Float32Array(DIMENSIONS)
  for (const word of new Set(words)) {
    const direction = directionOf(word)
    for (let at = 0; at < DIMENSIONS; at++) sum[at] = (sum[at] ?? 0) + (direction[at] ?? 0)
  }
  const length = Math.hypot(...sum)
  return length === 0 ? sum : sum.map((value) => value / length)
}

/** Random signs from a hash of the word, so two words are almost perpendicular. */
function directionOf(word: string): number[] {
  let state = 0x811c9dc5
  for (const character of word) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return Array.from({ length: DIMENSIONS }, () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d)
    state = Math.imul(state ^ (state >>> 12), 0x297a2d39) + 0x6d2b79f5
    return (state >>> 16) & 1 ? 1 : -1
  })
}
