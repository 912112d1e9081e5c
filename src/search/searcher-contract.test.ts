import { describe, expect, it } from 'vitest'
import { lexical } from './lexical.ts'
import { regex } from './regex.ts'
import type { Searcher } from './searcher.ts'
import { searcherContract } from './searcher-contract.ts'
import { weighted } from './weighted.ts'

describe.each([weighted, regex, lexical])('%o keeps the contract of searchers', (makeSearcher) => {
  for (const { name, run } of searcherContract(makeSearcher)) it(name, run)
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
