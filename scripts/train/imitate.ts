import type { TrainableTable } from './trainable-table.ts'

/** A text and the vector it should have. */
export interface Model {
  readonly tokens: readonly number[]
  readonly vector: Float32Array
}

/** One batch of learning towards another model's vectors. Returns the mean cosine to them. */
export function imitate(table: TrainableTable, models: readonly Model[], strength: number): number {
  const vector = new Float32Array(table.dimensions)
  const pull = new Float32Array(table.dimensions)
  let likeness = 0
  for (const model of models) {
    if (model.tokens.length === 0) continue
    const length = table.embed(model.tokens, vector, 0)
    for (let at = 0; at < vector.length; at++) {
      likeness += (vector[at] as number) * (model.vector[at] as number)
      pull[at] = ((model.vector[at] as number) * strength) / models.length
    }
    table.learn(model.tokens, vector, 0, length, pull, 0)
  }
  return likeness / models.length
}
