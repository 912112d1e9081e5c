import { PostingLists, resizedTo } from './posting-lists.ts'
import { stem } from './stem.ts'

const NONE = 0xffffffff

/**
 * The words of an index. Each word has a posting list; words with the same stem are chained, so that a query for
 * `issue` walks the lists of `issue` and `issues` without a second copy of either.
 */
export class Vocabulary {
  readonly postings = new PostingLists()
  readonly #words = new Map<string, number>()
  readonly #stems = new Map<string, number>()
  readonly #freeStems: number[] = []
  #stemCount = 0
  /** By word: its stem, and the next word with that stem. */
  #stemOf = new Uint32Array(256)
  #nextForm = new Uint32Array(256)
  /** By stem: its first word, and how many listings contain any of its words. */
  #firstForm = new Uint32Array(256)
  #listings = new Uint32Array(256)

  get size(): number {
    return this.#words.size
  }

  find(word: string): number | undefined {
    return this.#words.get(word)
  }

  findStem(word: string): number | undefined {
    const known = this.#words.get(word)
    return known === undefined ? this.#stems.get(stem(word)) : this.#stemOf[known]
  }

  findOrAdd(word: string): number {
    const known = this.#words.get(word)
    if (known !== undefined) return known
    const id = this.postings.create()
    const stemId = this.#findOrAddStem(stem(word))
    this.#stemOf = resizedTo(this.#stemOf, id)
    this.#nextForm = resizedTo(this.#nextForm, id)
    this.#stemOf[id] = stemId
    this.#nextForm[id] = this.#firstForm[stemId] ?? NONE
    this.#firstForm[stemId] = id
    this.#words.set(word, id)
    return id
  }

  /** Removes a word that no listing contains any more. */
  forget(word: string): void {
    const id = this.#words.get(word)
    if (id === undefined) return
    this.#words.delete(word)
    const stemId = this.stemOf(id)
    this.#unchain(id, stemId)
    if (this.#firstForm[stemId] === NONE) {
      this.#stems.delete(stem(word))
      this.#freeStems.push(stemId)
    }
    this.postings.release(id)
  }

  stemOf(word: number): number {
    return this.#stemOf[word] ?? NONE
  }

  /** Iterates over the words of a stem; undefined after the last. */
  firstForm(stemId: number): number | undefined {
    return present(this.#firstForm[stemId])
  }

  nextForm(word: number): number | undefined {
    return present(this.#nextForm[word])
  }

  /** How many listings contain a word with this stem. */
  listingsWith(stemId: number): number {
    return this.#listings[stemId] ?? 0
  }

  countListing(stemId: number, change: 1 | -1): void {
    this.#listings[stemId] = this.listingsWith(stemId) + change
  }

  #findOrAddStem(text: string): number {
    const known = this.#stems.get(text)
    if (known !== undefined) return known
    const id = this.#freeStems.pop() ?? this.#stemCount++
    this.#firstForm = resizedTo(this.#firstForm, id)
    this.#listings = resizedTo(this.#listings, id)
    this.#firstForm[id] = NONE
    this.#listings[id] = 0
    this.#stems.set(text, id)
    return id
  }

  #unchain(id: number, stemId: number): void {
    const next = this.#nextForm[id] ?? NONE
    if (this.#firstForm[stemId] === id) {
      this.#firstForm[stemId] = next
      return
    }
    for (let form = this.firstForm(stemId); form !== undefined; form = this.nextForm(form)) {
      if (this.#nextForm[form] !== id) continue
      this.#nextForm[form] = next
      return
    }
  }
}

function present(id: number | undefined): number | undefined {
  return id === NONE ? undefined : id
}
