import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BertTokens } from './bert-tokens.ts'
import { TextTokens } from './text-tokens.ts'
import { wordPieces } from './word-pieces.ts'

const WORDS = [
  '[CLS]',
  '[SEP]',
  '[UNK]',
  'list',
  'pull',
  'request',
  '##s',
  'github',
  'cafe',
  '搜',
  '索',
  'un',
  '##able',
  '!',
  'play',
  '##ing',
]
const vocabulary = new Map(WORDS.map((word, at) => [word, at]))
const idsOf = (...words: string[]): number[] => words.map((word) => vocabulary.get(word) ?? -1)

describe('word pieces', () => {
  it('are the longest in the vocabulary', () => {
    expect(wordPieces('playing', vocabulary)).toEqual(idsOf('play', '##ing'))
    expect(wordPieces('github', vocabulary)).toEqual(idsOf('github'))
  })

  it('are empty for a word that cannot be split', () => {
    expect(wordPieces('playzz', vocabulary)).toEqual([])
    expect(wordPieces('x'.repeat(1000), vocabulary)).toEqual([])
  })
})

describe('text tokens', () => {
  const tokens = new TextTokens(vocabulary)

  it('split names at underscores and capitals, but not a known word', () => {
    const expected = idsOf('list', 'pull', 'request', '##s')
    expect(tokens.read('list_pull_requests', 99)).toEqual(expected)
    expect(tokens.read('listPullRequests', 99)).toEqual(expected)
    expect(tokens.read('GitHub', 99)).toEqual(idsOf('github'))
  })

  it('read accents, other scripts and text after them', () => {
    expect(tokens.read('Café 搜索 list', 99)).toEqual(idsOf('cafe', '搜', '索', 'list'))
  })

  it('leave out punctuation and long numbers', () => {
    expect(tokens.read('list! 1234567, pull?', 99)).toEqual(idsOf('list', 'pull'))
  })

  it('stop at the limit, without cutting a word', () => {
    expect(tokens.read('playing playing playing', 3)).toEqual(idsOf('play', '##ing', 'play', '##ing'))
  })

  it('are tokens of the vocabulary, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(tokens.read(text, 50).every((token) => token >= 0 && token < WORDS.length)).toBe(true)
      }),
    )
  })
})

describe('BERT tokens', () => {
  const tokens = new BertTokens(vocabulary, 6)

  it('stand between marks, punctuation on its own, unknown words marked', () => {
    expect(tokens.idsOf('Unable!')).toEqual(idsOf('[CLS]', 'un', '##able', '!', '[SEP]'))
    expect(tokens.idsOf('zebra')).toEqual(idsOf('[CLS]', '[UNK]', '[SEP]'))
  })

  it('are cut to the limit, marks included', () => {
    expect(tokens.idsOf('list list list list list list list list')).toEqual(
      idsOf('[CLS]', 'list', 'list', 'list', 'list', '[SEP]'),
    )
  })
})
