import { describe, expect, it } from 'vitest'
import { fitMatches, worthActivating } from './answer.ts'

const worth = (scores: readonly number[]) =>
  worthActivating(scores.map((score) => ({ name: String(score), score }))).map(Number)

describe('a match worth activating', () => {
  it('scores at least a tenth of the best', () => {
    expect(worth([2.198, 0.9, 0.22, 0.21, 0.017])).toEqual([2.198, 0.9, 0.22])
    expect(worth([0.8, 0.7])).toEqual([0.8, 0.7])
  })

  it('matches more than a filter, unless none does', () => {
    expect(worth([0.5, 0])).toEqual([0.5])
    expect(worth([0, 0])).toEqual([0, 0])
  })

  it('is compared with the best, wherever that is', () => {
    expect(worth([1, 12, 13])).toEqual([12, 13])
  })

  it('is not a fortieth as likely as one that is more likely right than not', () => {
    const likely = (...scores: number[]) =>
      worthActivating(scores.map((score) => ({ name: String(score), score, fit: 0.4 }))).map(Number)
    expect(likely(0.96, 0.03, 0.02, 0.01)).toEqual([0.96, 0.03])
    expect(likely(0.45, 0.03, 0.01)).toEqual([0.45, 0.03, 0.01])
  })
})

describe('the matches of an answer', () => {
  const definitions = new Map(
    ['wanted', 'unlikely', 'tiny'].map((name) => [
      name,
      {
        name,
        description:
          name === 'tiny' ? 'Small.' : `Does what ${name} says. ${'And much more of it. '.repeat(20)}`,
        parameters: {
          type: 'object',
          properties:
            name === 'tiny' ? {} : { id: { type: 'string', description: 'Which one it is. '.repeat(10) } },
          required: name === 'tiny' ? [] : ['id'],
        },
      },
    ]),
  )
  const session = {
    describe: (name: string) => definitions.get(name),
    tokensOf: (name: string) => Math.ceil(JSON.stringify(definitions.get(name)).length / 4),
  }
  const found = (name: string, score: number) => ({ name, score, fit: 0.4, description: '', reasons: [] })

  it('are short where they are not worth activating, and say so', () => {
    const limit = { maxTokens: 2_000, isDispatch: false }
    const [wanted, unlikely] = fitMatches([found('wanted', 0.96), found('unlikely', 0.01)], session, limit)
    expect(wanted).toMatchObject(definitions.get('wanted') ?? {})
    expect(unlikely?.description.length).toBeLessThan(200)
    expect(unlikely?.parameters).toEqual({
      type: 'object',
      properties: { id: { type: 'string' } },
      required: ['id'],
      $comment: 'shortened; load it by its name to see the whole schema',
    })
  })

  it('are whole where that is no longer', () => {
    const limit = { maxTokens: 2_000, isDispatch: false }
    const [, tiny] = fitMatches([found('wanted', 0.96), found('tiny', 0.01)], session, limit)
    expect(tiny).toMatchObject(definitions.get('tiny') ?? {})
  })
})
