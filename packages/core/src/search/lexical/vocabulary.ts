import { IMPACT_MASK, LISTING_SHIFT, PostingLists, resizedTo } from './posting-lists.ts'
import { stem } from './text-words.ts'

const NONE = 0xffffffff

/**
 * The words of an index. Each word has a posting list; words with the same stem are chained, so that a query for
 * `issue` walks the lists of `issue` and `issues` without a second copy of either.
 */
export class Vocabulary {
  readonly postings = new PostingLists()
  readonly #words = new Map<string, number>()
  /** By word, the same strings as the keys above. */
  readonly #texts: string[] = []
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

  /** All words, in no particular order. */
  words(): Iterable<string> {
    return this.#words.keys()
  }

  find(word: string): number | undefined {
    return this.#words.get(word)
  }

  /** The text of a word that `find()` returned. */
  wordOf(id: number): string {
    return this.#texts[id] ?? ''
  }

  findStem(word: string): number | undefined {
    const known = this.#words.get(word)
    return known === undefined ? this.#stems.get(stem(word)) : this.#stemOf[known]
  }

  findOrAdd(word: string): number {
    return this.#words.get(word) ?? this.#add(word, stem(word))
  }

  #add(word: string, stemmed: string): number {
    const id = this.postings.create()
    const stemId = this.#findOrAddStem(stemmed)
    this.#stemOf = resizedTo(this.#stemOf, id)
    this.#nextForm = resizedTo(this.#nextForm, id)
    this.#stemOf[id] = stemId
    this.#nextForm[id] = this.#firstForm[stemId] ?? NONE
    this.#firstForm[stemId] = id
    this.#words.set(word, id)
    this.#texts[id] = word
    return id
  }

  /** Removes a word that no listing contains any more. */
  forget(word: string): void {
    const id = this.#words.get(word)
    if (id === undefined) return
    this.#words.delete(word)
    this.#texts[id] = ''
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

  /** The words with their postings; `numbers` gives the new number of each listing. */
  pack(numbers: Uint32Array): SavedWords {
    const words = [...this.#words]
    const stems = new Map(Array.from(this.#stems, ([text, id]) => [id, text]))
    const { starts, lengths, values, notes } = this.postings
    const total = words.reduce((sum, [, id]) => sum + (lengths[id] ?? 0), 0)
    const saved: SavedWords = {
      words: words.map(([word]) => word),
      stems: words.map(([word, id]) => stems.get(this.stemOf(id)) ?? stem(word)),
      lengths: Uint32Array.from(words, ([, id]) => lengths[id] ?? 0),
      stemListings: Uint32Array.from(words, ([, id]) => this.listingsWith(this.stemOf(id))),
      values: new Uint32Array(total),
      notes: new Uint8Array(total),
    }
    let at = 0
    for (const [, id] of words) {
      const first = at
      const start = starts[id] as number
      const end = start + (lengths[id] as number)
      saved.notes.set(notes.subarray(start, end), at)
      for (let from = start; from < end; from++) {
        const posting = values[from] as number
        const number = numbers[posting >>> LISTING_SHIFT] as number
        saved.values[at++] = ((number << LISTING_SHIFT) | (posting & IMPACT_MASK)) >>> 0
      }
      sortPostings(saved.values.subarray(first, at), saved.notes.subarray(first, at))
    }
    return saved
  }

  /** Takes over the words of `pack`, without those of listings that are marked as gone, by number. It must be empty. */
  adopt({ words, stems, lengths, stemListings, values, notes }: SavedWords, isGone?: Uint8Array): void {
    // Blocks are powers of two, half as large again on average.
    this.postings.reserve(values.length + (values.length >>> 1))
    const goneByStem = new Map<string, Set<number>>()
    let at = 0
    for (const [place, word] of words.entries()) {
      const start = at
      at += lengths[place] as number
      const stemmed = stems[place] ?? stem(word)
      const all = { values: values.subarray(start, at), notes: notes.subarray(start, at) }
      const kept = isGone === undefined ? all : withoutGone(all, isGone, stemmed, goneByStem)
      if (kept.values.length === 0) continue
      const id = this.#add(word, stemmed)
      this.postings.fill(id, kept.values, kept.notes)
      this.#listings[this.stemOf(id)] = stemListings[place] as number
    }
    for (const [stemmed, gone] of goneByStem) {
      const id = this.#stems.get(stemmed)
      if (id !== undefined) this.#listings[id] = this.listingsWith(id) - gone.size
    }
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

/** The words of an index in the order of their postings, of which each has `lengths`. */
export interface SavedWords {
  readonly words: readonly string[]
  readonly stems: readonly string[]
  readonly lengths: Uint32Array
  /** By word: how many listings contain a word with its stem. */
  readonly stemListings: Uint32Array
  readonly values: Uint32Array
  readonly notes: Uint8Array
}

interface Postings {
  readonly values: Uint32Array
  readonly notes: Uint8Array
}

/** The postings of listings that are not gone; the others are noted for the stem of their word. */
function withoutGone(
  postings: Postings,
  isGone: Uint8Array,
  stemmed: string,
  goneByStem: Map<string, Set<number>>,
): Postings {
  const listingAt = (at: number) => (postings.values[at] as number) >>> LISTING_SHIFT
  const isKept = (_: number, at: number) => isGone[listingAt(at)] !== 1
  if (postings.values.every(isKept)) return postings
  const gone = goneByStem.get(stemmed) ?? new Set()
  goneByStem.set(stemmed, gone)
  for (let at = 0; at < postings.values.length; at++) if (!isKept(0, at)) gone.add(listingAt(at))
  return { values: postings.values.filter(isKept), notes: postings.notes.filter(isKept) }
}

/** Sorts postings and the bytes beside them by listing. Most are sorted already. */
function sortPostings(values: Uint32Array, notes: Uint8Array): void {
  if (values.every((value, at) => at === 0 || (values[at - 1] as number) < value)) return
  const joined = Float64Array.from(values, (value, at) => value * 256 + (notes[at] as number)).sort()
  for (const [at, both] of joined.entries()) {
    values[at] = both / 256
    notes[at] = both % 256
  }
}

function present(id: number | undefined): number | undefined {
  return id === NONE ? undefined : id
}
