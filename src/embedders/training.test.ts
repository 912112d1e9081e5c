import { describe, expect, it } from 'vitest'
import { contrast, type Pair } from '../../scripts/train/contrast.ts'
import { imitate } from '../../scripts/train/imitate.ts'
import { principalAxes, projected } from '../../scripts/train/principal-axes.ts'
import { seededRandom } from '../../scripts/train/random.ts'
import { TrainableTable } from '../../scripts/train/trainable-table.ts'

const SIZE = 16

describe('training', () => {
  it('brings questions to their answers, and away from those of others', () => {
    const table = randomTable(40)
    // Question 2n and answer 2n + 1, which have nothing in common at first.
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

  it('does not part pairs that share a key', () => {
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
