import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eachWord, wordsOf } from './text-words.ts'

describe('wordsOf', () => {
  it.each([
    ['Read a file.', ['read', 'a', 'file']],
    ['list_pull-requests', ['list', 'pull', 'requests']],
    ['searchIssues', ['searchissues', 'search', 'issues']],
    ['HTTPServer2Go', ['httpserver2go', 'http', 'server2', 'go']],
    ['mp3 utf8', ['mp3', 'utf8']],
    ['URLs', ['urls']],
    ['', []],
    ['Café déjà', ['cafe', 'deja']],
    ['ПогодаСегодня', ['погодасегодня', 'погода', 'сегодня']],
    ['天気予報', ['天気', '気予', '予報']],
    ['雨', ['雨']],
    ['东京weather', ['东京', 'weather']],
    ['ｆｕｌｌ width', ['full', 'width']],
  ])('%j → %j', (text, words) => {
    expect(wordsOf(text)).toEqual(words)
  })

  it('gives the same words with and without a letter of another script in the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'aB1_ -.x'), maxLength: 30 }), (text) => {
        expect(wordsOf(`${text} ж`)).toEqual([...wordsOf(text), 'ж'])
      }),
    )
  })

  it('stops when the visitor says so', () => {
    const seen: string[] = []
    expect(eachWord('one twoThree 天気予報 four', (word) => seen.push(word) < 4)).toBe(false)
    expect(seen).toEqual(['one', 'twothree', 'two', 'three'])
  })
})
