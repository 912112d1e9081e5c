/**
 * The `count` directions in which vectors differ most, strongest first, each of length 1 (PCA by orthogonal iteration
 * on the covariance). The mean is not subtracted: what all texts share ends up on the first axis.
 */
export function principalAxes(vectors: readonly Float32Array[], size: number, count: number): Float32Array[] {
  const covariance = covarianceOf(vectors, size)
  let axes: Float32Array[] = Array.from({ length: count }, (_, row) =>
    Float32Array.from({ length: size }, (_, at) => Math.sin(1 + row * 12.9898 + at * 78.233)),
  )
  orthonormalize(axes)
  for (let round = 0; round < 40; round++) {
    axes = axes.map((axis) => product(covariance, axis, size))
    orthonormalize(axes)
  }
  return axes
}

/** A vector in the coordinates of some axes. */
export function projected(vector: Float32Array, axes: readonly Float32Array[]): Float32Array {
  return Float32Array.from(axes, (axis) => dot(axis, vector))
}

function covarianceOf(vectors: readonly Float32Array[], size: number): Float32Array {
  const covariance = new Float64Array(size * size)
  for (const vector of vectors) {
    for (let row = 0; row < size; row++) {
      const value = vector[row] as number
      const start = row * size
      for (let at = 0; at <= row; at++)
        covariance[start + at] = (covariance[start + at] as number) + value * (vector[at] as number)
    }
  }
  const symmetric = new Float32Array(size * size)
  for (let row = 0; row < size; row++) {
    for (let at = 0; at <= row; at++) {
      const value = (covariance[row * size + at] as number) / vectors.length
      symmetric[row * size + at] = value
      symmetric[at * size + row] = value
    }
  }
  return symmetric
}

function product(matrix: Float32Array, vector: Float32Array, size: number): Float32Array {
  return Float32Array.from({ length: size }, (_, row) =>
    dot(matrix.subarray(row * size, (row + 1) * size), vector),
  )
}

function orthonormalize(axes: readonly Float32Array[]): void {
  for (const [row, axis] of axes.entries()) {
    for (const earlier of axes.slice(0, row)) {
      const share = dot(axis, earlier)
      for (let at = 0; at < axis.length; at++)
        axis[at] = (axis[at] as number) - share * (earlier[at] as number)
    }
    const scale = 1 / Math.sqrt(dot(axis, axis))
    for (let at = 0; at < axis.length; at++) axis[at] = (axis[at] as number) * scale
  }
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let at = 0; at < a.length; at++) sum += (a[at] as number) * (b[at] as number)
  return sum
}
