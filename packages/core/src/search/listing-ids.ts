import type { Listing } from '../tool.ts'

/** A listing and the number that it has or had. */
export interface Numbered {
  readonly number: number
  readonly listing: Listing
}

/** Removed and added listings. A number may be in both: apply the removals first. */
export interface IdChange {
  readonly removed: readonly Numbered[]
  readonly added: readonly Numbered[]
}

/**
 * Numbers the listings of an index; words and vectors are kept by number. Numbers of removed listings are reused. A listing
 * that several sources have has one number.
 */
export class ListingIds {
  readonly #listings: (Listing | undefined)[] = []
  readonly #numbers = new Map<Listing, number>()
  readonly #sources = new Map<string, readonly Listing[]>()
  /** Each source has a number too, and keeps it. */
  readonly #sourceNumbers = new Map<string, number>()
  /** By number of a source. */
  readonly #bySource: (readonly Listing[])[] = []
  /** By number of a listing: the first source that has it. */
  readonly #owners: number[] = []
  readonly #free: number[] = []
  /** How many sources have a listing beside the first; most have none. */
  readonly #others = new Map<Listing, number>()

  /** By number. */
  get listings(): readonly (Listing | undefined)[] {
    return this.#listings
  }

  /** How many listings there are. */
  get size(): number {
    return this.#numbers.size
  }

  /** The listings of each source, in their order. */
  get sources(): ReadonlyMap<string, readonly Listing[]> {
    return this.#sources
  }

  /** The number of a listing's source. */
  sourceOf(number: number): number {
    return this.#owners[number] ?? 0
  }

  /** The listings of a source by its number: another list after each update. */
  listingsOf(source: number): readonly Listing[] {
    return this.#bySource[source] ?? []
  }

  numberOf(listing: Listing): number | undefined {
    return this.#numbers.get(listing)
  }

  /** Whether a number belongs to this listing. */
  isHeld({ number, listing }: Numbered): boolean {
    return this.#listings[number] === listing
  }

  /** Replaces all listings of one source. */
  update(source: string, listings: readonly Listing[]): IdChange {
    const before = new Set(this.#sources.get(source))
    const wanted = new Set(listings)
    const removed = [...before].flatMap((listing) => (wanted.has(listing) ? [] : this.#release(listing)))
    const owner = this.#keep(source, [...wanted])
    const added = [...wanted].flatMap((listing) => (before.has(listing) ? [] : this.#hold(listing, owner)))
    return { removed, added }
  }

  /** Reserves the numbers below `count`, to be claimed. Call before the first update. */
  reserve(count: number): void {
    this.#listings.length = count
    this.#owners.length = count
  }

  /** Gives the listings of a source the reserved numbers from `first` on; returns false if one has a number already. */
  claim(source: string, listings: readonly Listing[], first: number): boolean {
    for (const [at, listing] of listings.entries()) {
      if (this.#numbers.has(listing)) {
        for (const [place, claimed] of listings.slice(0, at).entries()) {
          this.#listings[first + place] = undefined
          this.#numbers.delete(claimed)
        }
        return false
      }
      this.#listings[first + at] = listing
      this.#numbers.set(listing, first + at)
    }
    this.#owners.fill(this.#keep(source, listings), first, first + listings.length)
    return true
  }

  /** Gives up reserved numbers that nobody claimed. */
  free(numbers: readonly number[]): void {
    for (const number of numbers) this.#free.push(number)
  }

  /** Keeps the listings of a source; returns its number. */
  #keep(source: string, listings: readonly Listing[]): number {
    if (listings.length === 0) this.#sources.delete(source)
    else this.#sources.set(source, listings)
    const number = this.#sourceNumbers.get(source) ?? this.#sourceNumbers.size
    this.#sourceNumbers.set(source, number)
    this.#bySource[number] = listings
    return number
  }

  #hold(listing: Listing, owner: number): Numbered[] {
    if (this.#numbers.has(listing)) {
      this.#others.set(listing, (this.#others.get(listing) ?? 0) + 1)
      return []
    }
    const number = this.#free.pop() ?? this.#listings.length
    this.#listings[number] = listing
    this.#owners[number] = owner
    this.#numbers.set(listing, number)
    return [{ number, listing }]
  }

  #release(listing: Listing): Numbered[] {
    const others = this.#others.get(listing) ?? 0
    if (others > 1) this.#others.set(listing, others - 1)
    else if (others === 1) this.#others.delete(listing)
    const number = this.#numbers.get(listing)
    if (others > 0 || number === undefined) return []
    this.#numbers.delete(listing)
    this.#listings[number] = undefined
    this.#free.push(number)
    return [{ number, listing }]
  }
}
