import { ToolcribError } from '../../errors.ts'
import type { Query } from '../query/query.ts'

/** A vector from an embedder; hosted models return plain numbers. */
export type Vector = Float32Array | readonly number[]

/**
 * Converts texts to vectors whose cosine expresses how similar their meanings are. `toolcrib/embedders` has two; a
 * hosted model takes one more function.
 *
 * Vectors are checked: a wrong count, wrong dimensions and values that are not finite count as a failure, like an
 * exception. `hybrid` then ranks by words alone; `semantic` rejects. The next search retries; after a timeout, one half
 * a minute later.
 */
export interface Embedder {
  /** The model and its version. Saved vectors are only reused under the name they were made with. */
  readonly name: string
  readonly dimensions: number
  /** The cosine from which two texts are related. 0.2 by default. */
  readonly relatedFrom?: number
  /** Returns one vector per text, in order, of length 1 (or all zeros, for a text without a known word). */
  embed(texts: readonly string[]): readonly Vector[] | PromiseLike<readonly Vector[]>
  /** The same for requests, if the model reads them in another way than tools. `embed` by default. */
  embedRequests?(texts: readonly string[]): readonly Vector[] | PromiseLike<readonly Vector[]>
  /**
   * Whether a word is in its vocabulary, as a whole. Tells requests in words that no tool contains from gibberish;
   * without it, both must be nearer to a tool.
   */
  knows?(word: string): boolean
}

/** Maximum characters that an embedder reads of a query: enough for any request. */
const MAX_QUERY_CHARACTERS = 2_000

/** The part of a query that an embedder reads: its free words, without filters. */
export function queryText({ words }: Query): string {
  return words.join(' ').slice(0, MAX_QUERY_CHARACTERS)
}

/**
 * Wraps an embedder, checks its vectors and converts them to one type. A synchronous embedder stays synchronous.
 * Throws `config-invalid` for an object that is not an embedder.
 */
export class CheckedEmbedder {
  readonly name: string
  readonly dimensions: number
  readonly relatedFrom: number
  readonly #embedder: Embedder
  #recent: ReadonlyMap<string, Float32Array> = new Map()

  constructor(embedder: Embedder) {
    const { name, dimensions, relatedFrom = DEFAULT_RELATED_FROM } = embedder
    if (typeof name !== 'string' || name === '') throw invalid('a name')
    if (!Number.isInteger(dimensions) || dimensions < 1 || dimensions > MAX_DIMENSIONS)
      throw invalid(`dimensions, an integer from 1 to ${MAX_DIMENSIONS}`)
    if (!(relatedFrom >= -1 && relatedFrom <= 1)) throw invalid('a relatedFrom between -1 and 1')
    if (typeof embedder.embed !== 'function') throw invalid('a method embed(texts)')
    if (embedder.embedRequests !== undefined && typeof embedder.embedRequests !== 'function')
      throw invalid('an embedRequests(texts) that is a method, or none')
    if (embedder.knows !== undefined && typeof embedder.knows !== 'function')
      throw invalid('a knows(word) that is a method, or none')
    this.name = name
    this.dimensions = dimensions
    this.relatedFrom = relatedFrom
    this.#embedder = embedder
  }

  /** Throws or rejects with the embedder's own error, or with `source-unavailable` for unusable vectors. */
  embed(texts: readonly string[]): readonly Float32Array[] | Promise<readonly Float32Array[]> {
    return this.#convert(this.#embedder.embed(texts), (vectors) => this.#checked(vectors, texts.length))
  }

  /**
   * The same for requests. Texts of the request before are not embedded again: a search may rank one request twice.
   */
  embedRequests(texts: readonly string[]): readonly Float32Array[] | Promise<readonly Float32Array[]> {
    const recent = this.#recent
    const fresh = texts.filter((text) => !recent.has(text))
    if (fresh.length === 0) return this.#joined(texts, recent)
    const embedder = this.#embedder
    const given: unknown = embedder.embedRequests?.(fresh) ?? embedder.embed(fresh)
    return this.#convert(given, (vectors) =>
      this.#joined(texts, recent, fresh, this.#checked(vectors, fresh.length)),
    )
  }

  #convert(
    given: unknown,
    toVectors: (vectors: unknown) => readonly Float32Array[],
  ): readonly Float32Array[] | Promise<readonly Float32Array[]> {
    return isPromiseLike(given) ? Promise.resolve(given).then(toVectors) : toVectors(given)
  }

  /** The vectors of all texts, of which some were known. */
  #joined(
    texts: readonly string[],
    recent: ReadonlyMap<string, Float32Array>,
    fresh: readonly string[] = [],
    vectors: readonly Float32Array[] = [],
  ): readonly Float32Array[] {
    if (fresh.length === texts.length && texts.length > MAX_RECENT) return vectors
    const known = new Map(fresh.map((text, at) => [text, vectors[at] as Float32Array]))
    const all = texts.map((text) => known.get(text) ?? (recent.get(text) as Float32Array))
    if (texts.length <= MAX_RECENT)
      this.#recent = new Map(texts.map((text, at) => [text, all[at] as Float32Array]))
    return all
  }

  /** Whether the embedder tells which words it knows. */
  get tellsWords(): boolean {
    return this.#embedder.knows !== undefined
  }

  /** False if the embedder does not say. */
  knows(word: string): boolean {
    return this.#embedder.knows?.(word) === true
  }

  #checked(vectors: unknown, count: number): readonly Float32Array[] {
    if (!Array.isArray(vectors)) throw this.#unusable('did not return an array of vectors')
    if (vectors.length !== count)
      throw this.#unusable(`returned ${vectors.length} vectors for ${count} texts`)
    return vectors.map((vector: unknown) => this.#toVector(vector))
  }

  #toVector(vector: unknown): Float32Array {
    if (!(vector instanceof Float32Array) && !Array.isArray(vector))
      throw this.#unusable('returned a vector that is neither a Float32Array nor an array of numbers')
    if (vector.length !== this.dimensions)
      throw this.#unusable(`returned ${vector.length} dimensions instead of ${this.dimensions}`)
    const areFinite = vector.every((value: unknown) => typeof value === 'number' && Number.isFinite(value))
    if (!areFinite) throw this.#unusable('returned a vector with values that are not finite numbers')
    return vector instanceof Float32Array ? vector : Float32Array.from(vector)
  }

  #unusable(reason: string): ToolcribError {
    return new ToolcribError('source-unavailable', `the embedder "${this.name}" ${reason}`)
  }
}

/** The default cosine from which two texts are related. */
const DEFAULT_RELATED_FROM = 0.2

/** As many vectors as a request has texts are kept; a catalogue has more. */
const MAX_RECENT = 32

/** Far more than any model has. */
const MAX_DIMENSIONS = 16_384

function invalid(missing: string): ToolcribError {
  return new ToolcribError('config-invalid', `an embedder needs ${missing}; see the Embedder type`)
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
