import { describe, expect, it } from 'vitest'
import { lexical } from './lexical.ts'
import { SEARCHERS } from './named-searchers.ts'
import { regex } from './regex.ts'
import type { Searcher } from './searcher.ts'
import { searcherContract } from './searcher-contract.ts'
import { weighted } from './weighted.ts'

describe.each([weighted, regex, lexical])('%o keeps the contract of searchers', (makeSearcher) => {
  for (const { name, run } of searcherContract(makeSearcher)) it(name, run)
})

describe.each(Object.entries(SEARCHERS))('%s by name keeps the contract of searchers', (_, makeSearcher) => {
  for (const { name, run } of searcherContract(makeSearcher)) it(name, run)
})

describe.each([weighted, regex, lexical])('%o', (makeSearcher) => {
  it('reads and orders the same when it is chosen by name', () => {
    const { name, reads = 'words', order = 'fit' } = makeSearcher()
    expect(SEARCHERS[name as keyof typeof SEARCHERS]()).toMatchObject({ name, reads, order })
  })
})

it('the contract catches a searcher that ignores rejections', async () => {
  const careless = (): Searcher => ({
    name: 'careless',
    open: () => {
      const index = weighted().open()
      return {
        update: index.update.bind(index),
        rank: (query, { limit }) => index.rank(query, { limit, accepts: () => true }),
      }
    },
  })
  const check = searcherContract(careless).find(({ name }) => name.includes('rejected'))
  await expect(check?.run()).rejects.toThrow('expected')
})
