import { expect, it } from 'vitest'
import { sampleListing } from '../searcher-contract.ts'
import { ParameterCounts } from './parameter-counts.ts'

it('the parameters of a listing count up to eight', () => {
  const counts = new ParameterCounts()
  const shareOf = (count: number) => {
    const names = Array.from({ length: count }, (_, at) => [`parameter${at}`, { type: 'string' }])
    const inputSchema = { type: 'object', properties: Object.fromEntries(names) } as const
    return counts.of(sampleListing('forecast', '', 'weather', { inputSchema }))
  }
  expect([0, 8, 80].map(shareOf)).toEqual([0, 1, 1])
  expect(shareOf(3)).toBeGreaterThan(shareOf(2))
})
