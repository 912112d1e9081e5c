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
    expect(spelling.near('fils')).toEqual(['file', 'files'])
    expect(spelling.near('fiel')).toEqual(['file'])
    expect(spelling.near('raed')).toEqual(['read'])
    expect(spelling.near('opne')).toEqual(['open'])
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
