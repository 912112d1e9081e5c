import { describe, expect, it } from 'vitest'
import { parseQuery } from './query/query.ts'
import { acceptEvery, type Ranking, type SearchIndex } from './searcher.ts'
import { sampleListing, searcherContract } from './searcher-contract.ts'
import { semantic } from './semantic.ts'
import type { Embedder } from './vectors/embedder.ts'
import { fakeEmbedder, slowEmbedder } from './vectors/fake-embedder.fixture.ts'

const embedder = fakeEmbedder([
  ['mail', 'letter', 'post'],
  ['send', 'deliver', 'dispatch'],
])
const SEND = sampleListing('dispatch_letter', 'Deliver a letter')
const RAIN = sampleListing('get_rain', 'Tells how much it rains')

describe('semantic keeps the contract of searchers', () => {
  for (const { name, run } of searcherContract(() => semantic({ embedder }))) it(name, run)
})

describe('semantic, on an asynchronous embedder, keeps the contract of searchers', () => {
  for (const { name, run } of searcherContract(() => semantic({ embedder: slowEmbedder(embedder) })))
    it(name, run)
})

describe('semantic', () => {
  it('finds other wordings', async () => {
    const index = semantic({ embedder }).open()
    index.update('a', [RAIN, SEND])
    const { matches, total } = await rank(index, 'send post')
    expect(total).toBe(1)
    expect(matches[0]?.listing).toBe(SEND)
    expect(matches[0]?.reasons).toEqual([
      expect.stringMatching(/^(very similar in meaning|similar in meaning)/),
    ])
  })

  it('embeds a listing once, however often it is added', async () => {
    const { counting, texts } = countTexts(embedder)
    const index = semantic({ embedder: counting }).open()
    index.update('a', [RAIN, SEND])
    index.update('a', [SEND, RAIN])
    index.update('a', [SEND])
    await rank(index, 'post')
    expect(texts.filter((text) => text.includes('letter'))).toHaveLength(1)
  })

  it('imports exported vectors instead of embedding again', async () => {
    const first = semantic({ embedder })
    const index = first.open()
    index.update('a', [RAIN, SEND])
    const { counting, texts } = countTexts(embedder)
    const second = semantic({ embedder: counting })
    expect(second.importVectors(first.exportVectors())).toBe(2)
    const other = second.open()
    other.update('a', [{ ...RAIN }, { ...SEND }])
    expect(texts).toEqual([])
    const [before, after] = [await rank(index, 'send post'), await rank(other, 'send post')]
    expect(after.matches.map(({ listing }) => listing.name)).toEqual(
      before.matches.map(({ listing }) => listing.name),
    )
  })

  it('ignores vectors of another embedder and rejects other bytes', () => {
    const saved = semantic({ embedder: { ...embedder, name: 'other' } }).exportVectors()
    expect(semantic({ embedder }).importVectors(saved)).toBe(0)
    expect(() => semantic({ embedder }).importVectors(new Uint8Array([1, 2, 3]))).toThrow('not saved vectors')
  })

  it('rejects while the embedder fails, and recovers with it', async () => {
    let isDown = true
    const flaky: Embedder = {
      ...embedder,
      async embed(texts) {
        if (isDown) throw new Error('the model is down')
        return embedder.embed(texts)
      },
    }
    const index = semantic({ embedder: flaky }).open()
    index.update('a', [SEND])
    await expect(rank(index, 'post')).rejects.toThrow('the model is down')
    isDown = false
    expect((await rank(index, 'post')).total).toBe(1)
  })

  it('does not wait for an embedder that hangs, and asks again after a while or once it responds', async () => {
    const timers: (() => void)[] = []
    const schedule = (_: number, fire: () => void) => {
      timers.push(fire)
      return () => {}
    }
    const answers: (() => void)[] = []
    let isHanging = true
    const embed: Embedder['embed'] = (texts) =>
      isHanging
        ? new Promise((resolve) => answers.push(() => resolve(embedder.embed(texts))))
        : embedder.embed(texts)
    const index = semantic({ embedder: { ...embedder, name: 'hanging', embed }, schedule }).open()
    index.update('a', [SEND])
    const timedOut = 'the embedder "hanging" did not respond within 10000 ms'

    const search = rank(index, 'post')
    timers.shift()?.()
    await expect(search).rejects.toMatchObject({ code: 'source-unavailable', message: timedOut })
    const asked = answers.length
    await expect(rank(index, 'post')).rejects.toThrow(timedOut)
    expect(answers).toHaveLength(asked)

    timers.shift()?.()
    const later = rank(index, 'post')
    expect(answers.length).toBeGreaterThan(asked)
    timers.shift()?.()
    await expect(later).rejects.toThrow(timedOut)

    await expect(rank(index, 'post')).rejects.toThrow(timedOut)
    isHanging = false
    for (const answer of answers) answer()
    await expect.poll(() => rank(index, 'post').catch(String)).toMatchObject({ total: 1 })
  })

  it('forgets a listing that was removed while it was being embedded', async () => {
    const index = semantic({ embedder: slowEmbedder(embedder) }).open()
    index.update('a', [SEND])
    index.update('a', [RAIN])
    expect((await rank(index, 'send post')).total).toBe(0)
    expect((await rank(index, 'rains')).matches[0]?.listing).toBe(RAIN)
  })
})

async function rank(index: SearchIndex, text: string): Promise<Ranking> {
  return await index.rank(parseQuery(text), { limit: 5, accepts: acceptEvery })
}

function countTexts(embedder: Embedder): { counting: Embedder; texts: string[] } {
  const texts: string[] = []
  const counting = {
    ...embedder,
    embed: (given: readonly string[]) => {
      texts.push(...given)
      return embedder.embed(given)
    },
  }
  return { counting, texts }
}
