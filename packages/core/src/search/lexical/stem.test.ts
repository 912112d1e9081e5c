import fc from 'fast-check'
import { expect, it } from 'vitest'
import { stem } from './text-words.ts'

it.each([
  [['connect', 'connected', 'connecting', 'connection', 'connections'], 'connect'],
  [['relational', 'relate', 'relates'], 'relat'],
  [['hopping', 'hopped', 'hop'], 'hop'],
  [['hoping', 'hope'], 'hope'],
  [['category', 'categories'], 'categori'],
  [['agreed', 'agree'], 'agre'],
  [['adoption', 'adopt'], 'adopt'],
  [['summarize', 'summarizes', 'summarization'], 'summar'],
])('%j share the stem %j', (words, expected) => {
  expect(words.map(stem)).toEqual(words.map(() => expected))
})

it.each(['as', 'mp3', '天気', 'größe', 'class', 'news2'])('leaves %j alone', (word) => {
  expect(stem(word)).toBe(word)
})

it('never lengthens a word and never empties it', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z]{1,20}$/), (word) => {
      const { length } = stem(word)
      expect(length).toBeGreaterThan(0)
      expect(length).toBeLessThanOrEqual(word.length)
    }),
  )
})
