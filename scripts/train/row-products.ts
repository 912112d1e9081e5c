const TILE_ROWS = 2
const TILE_COLUMNS = 4

/**
 * The product of every row of `a` with every row of `b`, with `width` values per row: as many rows as `a`, as many
 * columns as `b`. Computed in tiles, so that each value read serves several products.
 */
export function rowProducts(a: Float32Array, b: Float32Array, width: number): Float32Array {
  const rows = a.length / width
  const columns = b.length / width
  const products = new Float32Array(rows * columns)
  const tiledRows = rows - (rows % TILE_ROWS)
  const tiledColumns = columns - (columns % TILE_COLUMNS)
  for (let row = 0; row < tiledRows; row += TILE_ROWS)
    for (let column = 0; column < tiledColumns; column += TILE_COLUMNS)
      fillTile(a, row * width, b, column * width, width, products, row * columns + column, columns)
  for (let row = 0; row < rows; row++) {
    const from = row < tiledRows ? tiledColumns : 0
    for (let column = from; column < columns; column++)
      products[row * columns + column] = product(a, row * width, b, column * width, width)
  }
  return products
}

function fillTile(
  a: Float32Array,
  aStart: number,
  b: Float32Array,
  bStart: number,
  width: number,
  into: Float32Array,
  start: number,
  stride: number,
): void {
  let [p0, p1, p2, p3, q0, q1, q2, q3] = [0, 0, 0, 0, 0, 0, 0, 0]
  for (let at = 0; at < width; at++) {
    const upper = a[aStart + at] as number
    const lower = a[aStart + width + at] as number
    const b0 = b[bStart + at] as number
    const b1 = b[bStart + width + at] as number
    const b2 = b[bStart + 2 * width + at] as number
    const b3 = b[bStart + 3 * width + at] as number
    p0 += upper * b0
    p1 += upper * b1
    p2 += upper * b2
    p3 += upper * b3
    q0 += lower * b0
    q1 += lower * b1
    q2 += lower * b2
    q3 += lower * b3
  }
  into.set([p0, p1, p2, p3], start)
  into.set([q0, q1, q2, q3], start + stride)
}

function product(a: Float32Array, aStart: number, b: Float32Array, bStart: number, width: number): number {
  let sum = 0
  for (let at = 0; at < width; at++) sum += (a[aStart + at] as number) * (b[bStart + at] as number)
  return sum
}

/** The columns of a matrix as rows. */
export function transposed(matrix: Float32Array, rows: number, columns: number): Float32Array {
  const turned = new Float32Array(matrix.length)
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      turned[column * rows + row] = matrix[row * columns + column] as number
  return turned
}
