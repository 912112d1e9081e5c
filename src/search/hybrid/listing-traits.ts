import { sourceKey } from '../../names.ts'
import type { Listing } from '../../tool.ts'
import { parameterTexts } from '../lexical/listing-terms.ts'
import type { ListingNumbers, NumberChange } from '../listing-numbers.ts'
import { isDeprecated } from '../query/deprecated.ts'
import { isWordList } from '../query/word-list.ts'

/** Parameters that count: more of them say nothing, and a server could add any number. */
const MAX_PARAMETERS = 8

/** The bits of a listing's byte. Above them: the number of its parameters plus 1, or 0 until it is first asked for. */
const WORD_LIST = 1
const DEPRECATED = 2
const PARAMETERS_SHIFT = 2

/** The source of builtin tools; 0 stands for a source that was not asked for yet. */
export const BUILTIN = 1

/**
 * What the ranker knows about single listings whatever the request, by number: a search asks for a hundred of them, and
 * looking each one up by its object would take longer than ranking it.
 */
export class ListingTraits {
  readonly #numbers: ListingNumbers
  #bytes = new Uint8Array(0)
  #sources = new Uint32Array(0)
  readonly #sourceIds = new Map<string, number>()

  /** The owner of the numbers passes on each change of them. */
  constructor(numbers: ListingNumbers) {
    this.#numbers = numbers
  }

  /** Applies a change of the numbers. */
  change({ added }: Pick<NumberChange, 'added'>): void {
    for (const { number, listing } of added) {
      this.#reserve(number + 1)
      this.#bytes[number] = (isWordList(listing) ? WORD_LIST : 0) | (isDeprecated(listing) ? DEPRECATED : 0)
      this.#sources[number] = 0
    }
  }

  /** The bytes of these numbers. */
  pack(numbers: readonly number[]): Uint8Array {
    return Uint8Array.from(numbers, (number) => this.#bytes[number] ?? 0)
  }

  /** Takes over the bytes of `pack`, from number 0 on. It must be empty. */
  adopt(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#bytes.set(bytes)
  }

  /** Whether it is a mere list of words. */
  isWordList(number: number): boolean {
    return ((this.#bytes[number] ?? 0) & WORD_LIST) !== 0
  }

  /** Whether it says of itself that it is deprecated. */
  isDeprecated(number: number): boolean {
    return ((this.#bytes[number] ?? 0) & DEPRECATED) !== 0
  }

  /** How many parameters it has, up to eight, on a logarithmic scale from 0 to 1. */
  parametersOf(number: number): number {
    const known = (this.#bytes[number] ?? 0) >>> PARAMETERS_SHIFT
    return SCALE[known === 0 ? this.#countParameters(number) : known - 1] ?? 0
  }

  /** A number per source. */
  sourceOf(number: number): number {
    return this.#sources[number] || this.#readSource(number)
  }

  #countParameters(number: number): number {
    const listing = this.#numbers.listings[number]
    if (listing === undefined) return 0
    const count = Math.min(MAX_PARAMETERS, parameterTexts(listing.inputSchema).names.length)
    this.#bytes[number] = (this.#bytes[number] ?? 0) | ((count + 1) << PARAMETERS_SHIFT)
    return count
  }

  #readSource(number: number): number {
    const listing = this.#numbers.listings[number]
    if (listing === undefined) return BUILTIN
    const source = this.#sourceId(listing)
    this.#sources[number] = source
    return source
  }

  #sourceId({ source }: Listing): number {
    if (source.kind === 'builtin') return BUILTIN
    const key = sourceKey(source)
    const known = this.#sourceIds.get(key)
    if (known !== undefined) return known
    const id = BUILTIN + 1 + this.#sourceIds.size
    this.#sourceIds.set(key, id)
    return id
  }

  #reserve(count: number): void {
    if (count <= this.#bytes.length) return
    const room = count + (count >>> 2) + 64
    const bytes = new Uint8Array(room)
    bytes.set(this.#bytes)
    this.#bytes = bytes
    const sources = new Uint32Array(room)
    sources.set(this.#sources)
    this.#sources = sources
  }
}

/** By number of parameters. */
const SCALE = Array.from(
  { length: MAX_PARAMETERS + 1 },
  (_, count) => Math.log(1 + count) / Math.log(1 + MAX_PARAMETERS),
)
