import { describe, expect, it } from 'vitest'
import { Spelling } from './spelling.ts'

const spelling = new Spelling([
  'file',
  'files',
  'field',
  'search',
  'read',
  'raid',
  'open',
  'one',
  'message',
  'url',
])

describe('a misspelt word', () => {
  it.each([
    ['serch', 'a missing letter'],
    ['searrch', 'an added one'],
    ['seatch', 'a replaced one'],
    ['serach', 'two that changed places'],
    ['esarch', 'also the first two'],
  ])('is near to search: %s, %s', (word) => {
    expect(spelling.near(word)).toEqual(['search'])
  })

  it('may have two mistakes if it is long', () => {
    expect(spelling.near('messsagge')).toEqual(['message'])
    expect(spelling.near('mesagge')).toEqual([])
    expect(spelling.near('reaad')).toEqual(['read'])
  })

  it('is near to every word with as few mistakes, and rather to one with the same letters', () => {
    expect(new Spelling(['mails', 'malis']).near('mals')).toEqual(['mails', 'malis'])
    expect(spelling.near('fils')).toEqual(['files'])
    expect(spelling.near('fiel')).toEqual(['file'])
    expect(spelling.near('raed')).toEqual(['read'])
    expect(spelling.near('opne')).toEqual(['open'])
  })

  it('is no name that looks like a word: a letter replaced in a short one, two in a long one, or letters added', () => {
    const words = new Spelling(['code', 'deep', 'look', 'video', 'market', 'person', 'calendar'])
    for (const name of ['coda', 'deel', 'loom', 'vimeo', 'marketo', 'personio', 'calendly'])
      expect(words.near(name)).toEqual([])
    expect(words.near('calender')).toEqual(['calendar'])
    expect(words.near('marketr')).toEqual([])
    expect(words.near('marrket')).toEqual(['market'])
  })

  it('is an accepted word, also if others are nearer', () => {
    const words = new Spelling(['issue', 'isues'])
    expect(words.near('isue', (word) => word === 'issue')).toEqual(['issue'])
  })

  it('is not a short one, one that begins otherwise, one with digits, or one of another script', () => {
    for (const word of ['ur', 'ulr', 'mearch', 'se4rch', 'sеarch', '', 'x'.repeat(10_000)])
      expect(spelling.near(word)).toEqual([])
  })

  it('is compared with a limited number of words, however many there are', () => {
    const many = Array.from({ length: 50_000 }, (_, at) => `s${at.toString(26).padStart(5, '0')}`)
    const letters = many.map((word) => word.replace(/[0-9]/g, (digit) => 'abcdefghij'[Number(digit)] ?? ''))
    expect(new Spelling(letters).near('search').length).toBeLessThanOrEqual(8)
  })
})
