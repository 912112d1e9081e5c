import { describe, expect, it } from 'vitest'
import { fakeEmbedder } from '../../packages/core/src/search/vectors/fake-embedder.fixture.ts'
import { trainCalibration } from './calibration.ts'
import type { QuestionSet } from './listwise.ts'
import { seededRandom } from './random.ts'
import { smallCatalogues } from './small-catalogues.ts'

describe('the small catalogues that scores are calibrated on', () => {
  const NAMES = ['create', 'read', 'update', 'delete', 'count', 'sort', 'archive', 'export']
  const tools = Array.from({ length: 40 }, (_, server) =>
    NAMES.map((verb) => ({
      id: `${server}.${verb}`,
      server: `server${server}`,
      name: `${verb}_thing${server}`,
      description: ['one', 'two', 'three', 'four'].map((word) => `${word}${verb}${server}`).join(' '),
      inputSchema: {},
    })),
  ).flat()
  const queries = tools.map(({ id, name }) => ({ id, query: `please ${name}`, relevant: [id] }))
  const sampled = () =>
    smallCatalogues({ tools, queries }, 24, { embedder: fakeEmbedder(), noTool: ['good morning'] })

  it('have the wanted tool only if they can serve the request', async () => {
    const { served, 'near miss': near, elsewhere } = await sampled()
    expect(served).toHaveLength(24)
    for (const { tools: all, queries: asked } of served)
      expect(all.map(({ id }) => id)).toEqual(expect.arrayContaining([...(asked[0]?.relevant ?? [])]))
    for (const { tools: all, queries: asked } of [...near, ...elsewhere]) {
      expect(asked[0]?.relevant).toEqual([])
      expect(all.map(({ name }) => name)).not.toContain(asked[0]?.query.replace('please ', ''))
    }
  })

  it('have other tools of the wanted server in a near miss, and none elsewhere', async () => {
    const { 'near miss': near, elsewhere } = await sampled()
    const ofServer = ({ tools: all, queries: asked }: (typeof near)[number]) =>
      all.filter(({ server }) => asked[0]?.query.endsWith(`_thing${server?.replace('server', '')}`)).length
    expect(near.length).toBeGreaterThan(0)
    for (const one of near) expect(ofServer(one)).toBeGreaterThan(0)
    for (const one of elsewhere) expect(ofServer(one)).toBe(0)
  })

  it('are the same in every run, in six sizes', async () => {
    const [one, other] = [await sampled(), await sampled()]
    expect(one).toEqual(other)
    expect(new Set(one.served.map(({ tools: all }) => all.length))).toEqual(new Set([5, 10, 20, 40, 80, 160]))
  })
})

describe('the calibration', () => {
  it('recovers the numbers that the answers were drawn with', () => {
    const lines = trainCalibration(
      [0, 1, 2].map((seed) => ({ set: drawn(seed), weights: [3, 4], lesson: 'served' as const })),
      ['partMeaning', 'coverage'],
    )
    const number = (name: string) =>
      Number(lines.find((line) => line.startsWith(`${name}:`))?.match(/-?[\d.]+/)?.[0])
    expect(number('meaning')).toBeGreaterThan(6.5)
    expect(number('meaning')).toBeLessThan(9.5)
    expect(number('anything')).toBeGreaterThan(-2.6)
    expect(number('anything')).toBeLessThan(-1.4)
  })
})

/** Requests with three matches; whether one is right depends on the cosine of the first, as 8 × meaning − 2. */
function drawn(seed: number): QuestionSet {
  const random = seededRandom(seed)
  const rows: number[] = []
  const isRight: number[] = []
  const questions = Array.from({ length: 2_000 }, () => {
    const start = isRight.length
    const cosine = random()
    const isServed = random() < 1 / (1 + Math.exp(2 - (8 * (cosine - 0.2)) / 0.8))
    const right = random() < 0.8 ? 0 : 1
    rows.push(cosine, 0.8, cosine, 0.4, cosine, 0)
    for (let place = 0; place < 3; place++) isRight.push(isServed && place === right ? 1 : 0)
    return { tools: 40, relevant: isServed ? 1 : 0, start, end: isRight.length }
  })
  return {
    name: `drawn ${seed}`,
    family: `family ${seed}`,
    questions,
    width: 2,
    rows: Float32Array.from(rows),
    isRight: Uint8Array.from(isRight),
  }
}
