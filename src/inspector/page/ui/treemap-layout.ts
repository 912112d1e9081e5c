/** A rectangle in percent of the whole. */
export interface Tile<Item> {
  readonly item: Item
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** Lays out items by their weight as rectangles that are as square as possible ("squarified treemap"). */
export function treemap<Item>(
  items: readonly Item[],
  weightOf: (item: Item) => number,
  shape: { readonly width: number; readonly height: number },
): Tile<Item>[] {
  const weighted = items
    .map((item) => ({ item, weight: Math.max(0, weightOf(item)) }))
    .filter(({ weight }) => weight > 0)
    .sort((first, second) => second.weight - first.weight)
  const total = weighted.reduce((sum, { weight }) => sum + weight, 0)
  const scale = (shape.width * shape.height) / (total || 1)
  const tiles: Tile<Item>[] = []
  let [x, y, width, height] = [0, 0, shape.width, shape.height]
  let from = 0
  while (from < weighted.length) {
    const side = Math.min(width, height)
    let to = from
    let sum = 0
    let worst = Number.POSITIVE_INFINITY
    // A strip grows while its tiles become squarer.
    while (to < weighted.length) {
      const next = sum + (weighted[to]?.weight ?? 0) * scale
      const shapeNow = worstRatio(weighted[from]?.weight ?? 0, weighted[to]?.weight ?? 0, next, side, scale)
      if (shapeNow > worst) break
      worst = shapeNow
      sum = next
      to++
    }
    const thickness = side === 0 ? 0 : sum / side
    let along = 0
    for (const { item, weight } of weighted.slice(from, to)) {
      const length = thickness === 0 ? 0 : (weight * scale) / thickness
      const isColumn = width >= height
      const tile = isColumn
        ? { x, y: y + along, width: thickness, height: length }
        : { x: x + along, y, width: length, height: thickness }
      tiles.push({ item, ...inPercent(tile, shape) })
      along += length
    }
    if (width >= height) {
      x += thickness
      width -= thickness
    } else {
      y += thickness
      height -= thickness
    }
    from = to
  }
  return tiles
}

function worstRatio(largest: number, smallest: number, sum: number, side: number, scale: number): number {
  const [square, area] = [side * side, sum * sum]
  return Math.max((square * largest * scale) / area, area / (square * smallest * scale))
}

function inPercent(
  tile: Omit<Tile<unknown>, 'item'>,
  shape: { readonly width: number; readonly height: number },
): Omit<Tile<unknown>, 'item'> {
  return {
    x: (100 * tile.x) / shape.width,
    y: (100 * tile.y) / shape.height,
    width: (100 * tile.width) / shape.width,
    height: (100 * tile.height) / shape.height,
  }
}
