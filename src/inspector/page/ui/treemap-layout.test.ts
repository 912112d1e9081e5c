import { describe, expect, it } from 'vitest'
import { treemap } from './treemap-layout.ts'

describe('a treemap', () => {
  const weights = [60, 20, 10, 5, 3, 1, 1]
  const tiles = treemap(weights, (weight) => weight, { width: 200, height: 100 })

  it('gives each item its share of the area', () => {
    for (const { item, width, height } of tiles) expect((width * height) / 100).toBeCloseTo(item)
  })

  it('stays within the frame, and no tile covers another', () => {
    for (const { x, y, width, height } of tiles) {
      expect(Math.min(x, y)).toBeGreaterThanOrEqual(-1e-9)
      expect(Math.max(x + width, y + height)).toBeLessThanOrEqual(100 + 1e-9)
    }
    const overlap = tiles.some((one, at) =>
      tiles
        .slice(at + 1)
        .some(
          (other) =>
            one.x + 1e-9 < other.x + other.width &&
            other.x + 1e-9 < one.x + one.width &&
            one.y + 1e-9 < other.y + other.height &&
            other.y + 1e-9 < one.y + one.height,
        ),
    )
    expect(overlap).toBe(false)
  })

  it('leaves out what weighs nothing', () => {
    expect(treemap([0, -1], (weight) => weight, { width: 1, height: 1 })).toEqual([])
  })
})
