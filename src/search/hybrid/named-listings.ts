import type { Listing } from '../../tool.ts'

/** Finds listings by their full name. Built when first asked, since only memory needs it. */
export class NamedListings {
  readonly #sources = new Map<string, readonly Listing[]>()
  #byName: Map<string, Listing> | undefined

  update(source: string, listings: readonly Listing[]): void {
    for (const { name } of this.#sources.get(source) ?? []) this.#byName?.delete(name)
    for (const listing of listings) this.#byName?.set(listing.name, listing)
    if (listings.length === 0) this.#sources.delete(source)
    else this.#sources.set(source, listings)
  }

  find(name: string): Listing | undefined {
    this.#byName ??= new Map(
      [...this.#sources.values()].flatMap((listings) => listings.map((one) => [one.name, one] as const)),
    )
    return this.#byName.get(name)
  }
}
