import { describe, expect, it } from 'vitest'
import { SessionSearches } from './session-searches.ts'

describe('searches for sessions at other replicas', () => {
  it('are limited for each token, ten in a second', () => {
    let now = 0
    const searches = new SessionSearches(() => now)
    const search = (principal: string) => searches.begin(principal)()
    for (let count = 0; count < 20; count++) search('ada')
    expect(() => search('ada')).toThrow('more than 10 sessions')
    search('bob')
    now += 100
    search('ada')
    expect(() => search('ada')).toThrow('more than 10 sessions')
    now += 60_000
    for (let count = 0; count < 20; count++) search('ada')
    expect(() => search('ada')).toThrow('more than 10 sessions')
  })

  it('are limited in all while they are under way', () => {
    const searches = new SessionSearches(() => 0)
    const ends = Array.from({ length: 100 }, (_, index) => searches.begin(`token ${index}`))
    expect(() => searches.begin('ada')).toThrow('100 sessions are being looked for')
    ends[0]?.()
    searches.begin('ada')
  })
})
