import type { Gloss } from './corpora.ts'
import type { DataSet } from './datasets.ts'
import type { Model } from './imitate.ts'
import { principalAxes, projected } from './principal-axes.ts'
import type { Teacher } from './teacher.ts'
import { teacherText } from './teacher-text.ts'
import { chooseVocabulary } from './vocabulary.ts'

/**
 * Computes every row as the teacher's vector of its token alone, in the strongest dimensions; rare tokens weigh more.
 */
export async function distill(
  sets: readonly DataSet[],
  teacher: Teacher,
  dimensions: number,
): Promise<{ vocabulary: string[]; rows: Float32Array; axes: Float32Array[] }> {
  const listings = sets.flatMap((set) => set.listings)
  const { tokens, words } = chooseVocabulary(teacher.model.vocabulary, listings)
  const vectors = [...(await teacher.tokenVectors(tokens)), ...(await teacher.vectorsOf(words))]
  const texts = await teacher.vectorsOf(listings.map(teacherText))
  const axes = principalAxes(
    [...texts, ...vectors.filter((_, at) => at % 3 === 0)],
    teacher.dimensions,
    dimensions,
  )
  const rows = new Float32Array(vectors.length * dimensions)
  for (const [row, vector] of vectors.entries()) {
    // Vocabularies are ordered by frequency. Added words weigh as much as rare ones.
    const rank = Math.min(row, tokens.length)
    const weight = Math.log(1 + rank) / 10
    rows.set(
      projected(vector, axes).map((value) => value * weight),
      row * dimensions,
    )
  }
  return { vocabulary: [...tokens, ...words], rows, axes }
}

/** The texts whose vectors the table imitates: all listings, the training queries, and the glosses. */
export async function readModels(
  sets: readonly DataSet[],
  glosses: readonly Gloss[],
  teacher: Teacher,
  axes: readonly Float32Array[],
  read: (text: string) => number[],
): Promise<Model[]> {
  const known = sets.flatMap(({ listings, queries }) => [
    ...listings.map(teacherText),
    ...queries.filter((query) => !query.isHeldOut).map((query) => query.text),
  ])
  const texts = [...known, ...glosses.map(({ meaning }) => meaning)]
  const vectors = await teacher.vectorsOf(texts)
  return texts.map((text, at) => ({
    tokens: read(text),
    vector: normalized(projected(vectors[at] as Float32Array, axes)),
  }))
}

function normalized(vector: Float32Array): Float32Array {
  let square = 0
  for (const value of vector) square += value * value
  const scale = square > 0 ? 1 / Math.sqrt(square) : 0
  return vector.map((value) => value * scale)
}
