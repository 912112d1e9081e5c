import { describe, expect, it } from 'vitest'
import { sampleListing } from '../../packages/core/src/search/searcher-contract.ts'
import { RequestNetwork } from '../../packages/embedder/src/request-network.ts'
import { byteRows } from '../../packages/embedder/src/token-table.ts'
import { contrast, type Pair } from './contrast.ts'
import { imitate } from './imitate.ts'
import { listingPairs, withNoise } from './pairs.ts'
import { principalAxes, projected } from './principal-axes.ts'
import { seededRandom } from './random.ts'
import { rowProducts } from './row-products.ts'
import { TrainableNetwork } from './trainable-network.ts'
import { TrainableTable } from './trainable-table.ts'

const SIZE = 16

describe('training', () => {
  it('brings questions to their answers, and away from those of others', () => {
    const table = randomTable(40)
    // Question 2n and answer 2n + 1, which are unrelated at first.
    const pairs: Pair[] = Array.from({ length: 20 }, (_, at) => ({
      asked: [2 * at],
      answer: [2 * at + 1],
      keys: [`${at}`],
    }))
    const before = contrast(table, pairs, 1)
    for (let step = 0; step < 80; step++) {
      contrast(table, pairs, 1)
      table.step(0.01)
    }
    expect(contrast(table, pairs, 1)).toBeLessThan(before / 10)
  })

  it('teaches a network what questions mean that the table reads otherwise', () => {
    // Rows that never move: only the network can bring the questions to their answers.
    const table = randomTable(40)
    const pairs: Pair[] = Array.from({ length: 20 }, (_, at) => ({
      asked: [2 * at],
      answer: [2 * at + 1],
      keys: [`${at}`],
    }))
    const network = new TrainableNetwork(SIZE, 32, 4)
    const before = contrast(table, pairs, 1)
    for (let step = 0; step < 400; step++) {
      contrast(table, pairs, 1, network)
      network.step(0.01)
    }
    const { values, scales } = byteRows(network.rows(1), SIZE)
    const finished = new RequestNetwork(values, scales, SIZE)
    const vectorOf = ([token = 0]: readonly number[]): Float32Array => {
      const vector = new Float32Array(SIZE)
      table.embed([token], vector, 0)
      return vector
    }
    const nearest = pairs.filter(({ asked }, at) => {
      const [question = new Float32Array(SIZE)] = finished.changed([vectorOf(asked)])
      const answers = pairs.map(({ answer }) => rowProducts(question, vectorOf(answer), SIZE)[0] ?? 0)
      return answers.indexOf(Math.max(...answers)) === at
    })
    expect(before).toBeGreaterThan(1)
    expect(nearest.length).toBeGreaterThan(17)
  })

  it('does not separate pairs that share a key', () => {
    const table = randomTable(4)
    const pairs: Pair[] = [
      { asked: [0], answer: [1], keys: ['one'] },
      { asked: [2], answer: [3], keys: ['one'] },
    ]
    expect(contrast(table, pairs, 1)).toBeCloseTo(0, 5)
  })

  it('brings a text to the vector it should have', () => {
    const table = randomTable(3)
    const vector = Float32Array.from({ length: SIZE }, (_, at) => (at === 5 ? 1 : 0))
    const models = [{ tokens: [0, 1, 2], vector }]
    for (let step = 0; step < 200; step++) {
      imitate(table, models, 1)
      table.step(0.01)
    }
    expect(imitate(table, models, 1)).toBeGreaterThan(0.99)
  })

  it.each([
    [1, 1],
    [2, 4],
    [5, 7],
  ])('multiplies each of %i rows with each of %i', (rows, columns) => {
    const random = seededRandom(9)
    const a = Float32Array.from({ length: rows * 3 }, random)
    const b = Float32Array.from({ length: columns * 3 }, random)
    const products = rowProducts(a, b, 3)
    expect(products).toHaveLength(rows * columns)
    for (const [at, product] of products.entries()) {
      const left = a.subarray(3 * Math.floor(at / columns))
      const right = b.subarray(3 * (at % columns))
      const expected = [0, 1, 2].reduce((sum, place) => sum + (left[place] ?? 0) * (right[place] ?? 0), 0)
      expect(product).toBeCloseTo(expected, 5)
    }
  })

  it('lets a name ask for its description, a first sentence for the rest, and both for the parameters', () => {
    const listing = sampleListing(
      'mcp__sky__get_forecast',
      'Tells the weather of a place. Temperatures are in degrees, and wind comes in knots.',
      'sky',
      { inputSchema: { type: 'object', properties: { latitude: {}, longitude: {}, days: {} } } },
    )
    const words: string[] = []
    const read = (text: string): number[] => (text.match(/\w+/g) ?? []).map((word) => words.push(word) - 1)
    const told = (tokens: readonly number[]): string => tokens.map((token) => words[token]).join(' ')
    const pairs = listingPairs(listing, read).map(({ asked, answer }) => [told(asked), told(answer)])
    expect(pairs.map(([asked]) => asked)).toEqual([
      'sky get forecast',
      'Tells the weather of a place',
      'sky get forecast Tells the weather of a place',
    ])
    expect(pairs.map(([, answer]) => answer)).toEqual([
      'Tells the weather of a place Temperatures are in degrees and wind comes in knots',
      'Temperatures are in degrees and wind comes in knots',
      'latitude longitude days',
    ])
  })

  it('adds words of requests to some questions, and to no answer', () => {
    const pairs: Pair[] = Array.from({ length: 40 }, (_, at) => ({ asked: [at], answer: [at], keys: [] }))
    const noisy = withNoise(pairs, [77], seededRandom(2))
    expect(noisy.map(({ asked }) => asked[0])).toEqual(pairs.map(({ asked }) => asked[0]))
    expect(noisy.map(({ answer }) => answer)).toEqual(pairs.map(({ answer }) => answer))
    const lengths = noisy.map(({ asked }) => asked.length)
    expect(Math.min(...lengths)).toBe(1)
    expect(Math.max(...lengths)).toBeGreaterThan(1)
    expect(noisy.flatMap(({ asked }) => asked.slice(1)).every((token) => token === 77)).toBe(true)
  })

  it('finds the axes along which vectors lie', () => {
    const random = seededRandom(3)
    const vectors = Array.from({ length: 100 }, () =>
      Float32Array.from([0, 3 * random() - 1.5, 0, random() - 0.5]),
    )
    const axes = principalAxes(vectors, 4, 2)
    for (const vector of vectors) {
      const [x = 0, y = 0] = projected(vector, axes)
      expect(Math.hypot(x, y)).toBeCloseTo(Math.hypot(...vector), 4)
    }
    expect(Math.abs(axes[0]?.[1] ?? 0)).toBeGreaterThan(0.9)
  })
})

function randomTable(rows: number): TrainableTable {
  const random = seededRandom(5)
  return new TrainableTable(
    Float32Array.from({ length: rows * SIZE }, () => random() - 0.5),
    SIZE,
  )
}
