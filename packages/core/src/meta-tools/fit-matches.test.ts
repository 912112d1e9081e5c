import { describe, expect, it } from 'vitest'
import { fitMatches } from './fit-matches.ts'
import { worthActivating } from './worth-activating.ts'

/** Tools of one server, none of which is active. */
const session = {
  isActive: () => false,
  originOf: (_name: string) => ({ source: 'mcp:desk', isApproved: false }),
}

const worth = (scores: readonly number[]) =>
  worthActivating(
    scores.map((score) => ({ name: String(score), score })),
    session,
  ).map(Number)

describe('a match worth activating', () => {
  it('scores at least a tenth of the best', () => {
    expect(worth([2.198, 0.9, 0.22, 0.21, 0.017])).toEqual([2.198, 0.9, 0.22])
    expect(worth([0.8, 0.7])).toEqual([0.8, 0.7])
  })

  it('is compared with the best of the pages before', () => {
    const leaders = [{ name: 'best', score: 2.198 }]
    const page = [0.22, 0.21].map((score) => ({ name: String(score), score }))
    expect(worthActivating(page, session, leaders)).toEqual(['0.22'])
  })

  it('matches more than a filter, unless none does', () => {
    expect(worth([0.5, 0])).toEqual([0.5])
    expect(worth([0, 0])).toEqual([0, 0])
  })

  it('is compared with the best, wherever that is', () => {
    expect(worth([1, 12, 13])).toEqual([12, 13])
  })

  const likely = (scores: readonly number[], of: Partial<typeof session> = {}) =>
    worthActivating(
      scores.map((score) => ({ name: String(score), score, fit: 0.4 })),
      { ...session, ...of },
    ).map(Number)

  it('is not a fortieth as likely as one of its server that is more likely right than not', () => {
    expect(likely([0.96, 0.03, 0.02, 0.01])).toEqual([0.96, 0.03])
    expect(likely([0.45, 0.03, 0.01])).toEqual([0.45, 0.03, 0.01])
  })

  it('is active already', () => {
    expect(likely([0.96, 0.01], { isActive: () => true })).toEqual([0.96, 0.01])
  })

  it('is one that another server makes look unlikely, unless that server is approved', () => {
    const originOf = (isApproved: boolean) => (name: string) =>
      name === '0.96' ? { source: 'mcp:other', isApproved } : { source: 'mcp:desk', isApproved: false }
    expect(likely([0.96, 0.01], { originOf: originOf(false) })).toEqual([0.96, 0.01])
    expect(likely([0.96, 0.01], { originOf: originOf(true) })).toEqual([0.96])
  })
})

describe('matches of several servers that nobody approved', () => {
  const worthOf = (isApproved: boolean) =>
    worthActivating(
      ['best 0.96', 'best 0.022', 'other 0.01', 'best 0.005'].map((name) => ({
        name,
        score: Number(name.split(' ')[1]),
        fit: 0.4,
      })),
      { isActive: () => false, originOf: (name) => ({ source: `mcp:${name.split(' ')[0]}`, isApproved }) },
    )

  it('are loaded best first: none stays out while a less likely one comes in', () => {
    expect(worthOf(false)).toEqual(['best 0.96', 'best 0.022', 'other 0.01'])
    expect(worthOf(true)).toEqual(['best 0.96'])
  })
})

describe('the matches of an answer', () => {
  const definitions = new Map(
    ['wanted', 'unlikely', 'tiny'].map((name) => [
      name,
      {
        name,
        description:
          name === 'tiny' ? 'Small.' : `Does what ${name} says.${' And much more of it.'.repeat(20)}`,
        parameters: {
          type: 'object',
          properties:
            name === 'tiny' ? {} : { id: { type: 'string', description: 'Which one it is. '.repeat(10) } },
          required: name === 'tiny' ? [] : ['id'],
        },
      },
    ]),
  )
  const shop = {
    ...session,
    describe: (name: string) => definitions.get(name),
    isDeclared: (_name: string) => false,
    tokensOf: (name: string) => Math.ceil(JSON.stringify(definitions.get(name)).length / 4),
  }
  const match = (name: string, score: number) => ({ name, score, fit: 0.4, description: '', reasons: [] })
  const found = (...matches: ReturnType<typeof match>[]) => ({
    kind: 'keyword' as const,
    answerable: matches.reduce((sum, { score }) => sum + score, 0),
    matches,
    leaders: [],
  })

  it('are short where they are not worth activating, and say so', () => {
    const limit = { maxTokens: 2_000, isDispatch: false, schemaBy: 'load it' }
    const { shown, worthActivating } = fitMatches(
      found(match('wanted', 0.96), match('unlikely', 0.01)),
      shop,
      limit,
    )
    const [wanted, unlikely] = shown
    expect(worthActivating).toEqual(['wanted'])
    expect(wanted).toMatchObject(definitions.get('wanted') ?? {})
    expect(unlikely?.description.length).toBeLessThan(200)
    expect(unlikely).toMatchObject({ schema: 'short; load it' })
    expect(unlikely).not.toHaveProperty('parameters')
  })

  it('are short, and none is worth activating, where the best of them is poor', () => {
    const limit = { maxTokens: 2_000, isDispatch: true, schemaBy: 'load it' }
    const poor = found(match('wanted', 0.1), match('unlikely', 0.09))
    const { shown, worthActivating } = fitMatches(poor, shop, limit)
    expect(worthActivating).toEqual([])
    for (const match of shown) expect(match).toMatchObject({ schema: 'short; load it' })
    const isActive = (name: string) => name === 'unlikely'
    expect(fitMatches(poor, { ...shop, isActive }, limit).worthActivating).toEqual(['unlikely'])
  })

  it('are short under dispatch where they are unlikely, whoever made them so', () => {
    const active = { ...shop, isActive: () => true }
    const both = found(match('wanted', 0.96), match('unlikely', 0.01))
    const { shown, worthActivating } = fitMatches(both, active, {
      maxTokens: 2_000,
      isDispatch: true,
      schemaBy: 'load it',
    })
    expect(worthActivating).toEqual(['wanted', 'unlikely'])
    expect(shown[0]).toMatchObject(definitions.get('wanted') ?? {})
    expect(shown[1]).toMatchObject({
      parameters: expect.stringMatching(/^\(id: string/),
      schema: 'short; load it',
    })
    const poor = found(match('wanted', 0.1))
    const [only] = fitMatches(poor, active, { maxTokens: 2_000, isDispatch: true, schemaBy: 'load it' }).shown
    expect(only).toMatchObject({
      parameters: expect.stringMatching(/^\(id: string/),
      schema: 'short; load it',
    })
  })

  it('are short where they are far less likely than one beside them, and the first has room for a long signature', () => {
    const limit = { maxTokens: 5_000, isDispatch: false, schemaBy: 'load it' }
    const some = found(match('wanted', 0.6), match('unlikely', 0.1), match('tiny', 0.02))
    const { shown } = fitMatches(some, shop, limit)
    expect(shown.map(({ parameters }) => typeof parameters)).toEqual(['object', 'string', 'undefined'])
    const close = found(match('wanted', 0.6), match('unlikely', 0.5))
    expect(typeof fitMatches(close, shop, limit).shown[1]?.parameters).toBe('object')
    // A server that nobody approved has no say over the tools of another.
    const originOf = (name: string) => ({ source: `mcp:${name}`, isApproved: false })
    const [, beside] = fitMatches(some, { ...shop, originOf }, limit).shown
    expect(typeof beside?.parameters).toBe('object')

    const properties = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [
        `field_${at}`,
        { type: 'string', description: 'x'.repeat(200) },
      ]),
    )
    const big = { name: 'big', description: 'Big.', parameters: { type: 'object', properties } }
    const warehouse = { ...shop, describe: () => big, tokensOf: () => 3_000 }
    expect(fitMatches(found(match('big', 0.9)), warehouse, limit).shown[0]?.parameters).toContain(
      'field_39?: string',
    )
  })

  it('have schemas without what tells nothing, and descriptions without space around them', () => {
    const whole = {
      name: 'padded',
      description: '\nCreates it.\n',
      parameters: {
        $schema: 'http://json-schema.org/draft-07/schema#',
        type: 'object',
        additionalProperties: false,
      },
    }
    const limit = { maxTokens: 2_000, isDispatch: false, schemaBy: 'load it' }
    const padded = { ...shop, describe: () => whole, tokensOf: () => 40 }
    const [first] = fitMatches(found(match('padded', 0.9)), padded, limit).shown
    expect(first).toEqual({
      name: 'padded',
      score: 0.9,
      description: 'Creates it.',
      parameters: { type: 'object' },
    })
  })

  it('are short where the model has their schemas anyway', () => {
    const declared = { ...shop, isActive: () => true, isDeclared: (name: string) => name === 'wanted' }
    const limit = { maxTokens: 2_000, isDispatch: false, schemaBy: 'load it' }
    const both = found(match('wanted', 0.6), match('unlikely', 0.5))
    const { shown, worthActivating } = fitMatches(both, declared, limit)
    expect(worthActivating).toEqual(['wanted', 'unlikely'])
    expect(shown[0]).toMatchObject({ schema: 'in your list of tools' })
    expect(shown[0]).not.toHaveProperty('parameters')
    expect(shown[1]).toMatchObject(definitions.get('unlikely') ?? {})
  })

  it('are complete as far as there is room, and none hides those after it', () => {
    const names = ['wanted', 'huge', 'tiny']
    const huge = { ...definitions.get('wanted'), name: 'huge', description: 'Long. '.repeat(2_000) }
    const describe = (name: string) => (name === 'huge' ? (huge as never) : definitions.get(name))
    const tokensOf = (name: string) => Math.ceil(JSON.stringify(describe(name)).length / 4)
    const three = found(...names.map((name, at) => match(name, 0.9 - at / 100)))
    const limit = { maxTokens: 5_000, isDispatch: false, schemaBy: 'load it' }
    const { shown, complete, worthActivating } = fitMatches(three, { ...shop, describe, tokensOf }, limit)
    expect(shown.map(({ name }) => name)).toEqual(names)
    expect(complete.map(({ name }) => name)).toEqual(['wanted', 'tiny'])
    expect(worthActivating).toEqual(['wanted', 'tiny'])
    expect(shown[1]).toMatchObject({
      parameters: expect.stringMatching(/^\(id: string/),
      schema: 'short; load it',
    })
    expect(JSON.stringify(shown[1]).length).toBeLessThan(500)
  })

  it('say that a schema is shortened, also where it names no parameters', () => {
    const union = {
      type: 'object',
      oneOf: [{ properties: { id: { type: 'string', title: 'x'.repeat(900) } } }],
    }
    const describe = (name: string) => ({ name, description: 'Does one of two things.', parameters: union })
    const limit = { maxTokens: 2_000, isDispatch: false, schemaBy: 'load it' }
    const matches = found(match('wanted', 0.96), match('unlikely', 0.9))
    const { shown } = fitMatches(matches, { ...shop, describe, tokensOf: () => 900 }, limit)
    expect(shown[1]).toMatchObject({ parameters: '(…)', schema: 'short; load it' })
  })
})
