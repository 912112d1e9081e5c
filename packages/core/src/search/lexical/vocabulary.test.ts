import { describe, expect, it } from 'vitest'
import { Vocabulary } from './vocabulary.ts'

function formsOf(vocabulary: Vocabulary, word: string): (number | undefined)[] {
  const forms: (number | undefined)[] = []
  const stem = vocabulary.findStem(word) ?? -1
  for (let form = vocabulary.firstForm(stem); form !== undefined; form = vocabulary.nextForm(form))
    forms.push(form)
  return forms
}

describe('Vocabulary', () => {
  it('chains the words of a stem, known or not', () => {
    const vocabulary = new Vocabulary()
    const [issue, issues] = [vocabulary.findOrAdd('issue'), vocabulary.findOrAdd('issues')]
    vocabulary.findOrAdd('file')
    expect(formsOf(vocabulary, 'issued').toSorted()).toEqual([issue, issues].toSorted())
    expect(vocabulary.findOrAdd('issue')).toBe(issue)
    expect(vocabulary.findStem('unheard')).toBeUndefined()
  })

  it.each([
    ['first', 'issued'],
    ['middle', 'issues'],
    ['last', 'issue'],
  ])('forgets the %s word of a chain and keeps the others', (_, forgotten) => {
    const vocabulary = new Vocabulary()
    const words = ['issue', 'issues', 'issued']
    for (const word of words) vocabulary.findOrAdd(word)
    vocabulary.forget(forgotten)
    const kept = words.filter((word) => word !== forgotten).map((word) => vocabulary.find(word))
    expect(formsOf(vocabulary, 'issue').toSorted()).toEqual(kept.toSorted())
    expect(vocabulary.find(forgotten)).toBeUndefined()
  })

  it('does not grow when ten thousand words are added and removed', () => {
    const vocabulary = new Vocabulary()
    vocabulary.findOrAdd('stays')
    const { byteLength } = vocabulary.postings
    for (let turn = 0; turn < 10_000; turn++) {
      const id = vocabulary.findOrAdd(`word${turn}`)
      vocabulary.postings.insert(id, turn << 8)
      vocabulary.postings.remove(id, turn)
      vocabulary.forget(`word${turn}`)
    }
    expect(vocabulary.size).toBe(1)
    expect(vocabulary.postings.byteLength).toBe(byteLength)
    expect(vocabulary.findOrAdd('next')).toBeLessThan(3)
  })
})
