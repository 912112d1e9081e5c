import type { Listing } from '../tool.ts'
import type { Query } from './query/query.ts'
import type { Ranking, RankOptions, Searcher, SearchIndex } from './searcher.ts'

/** The searchers available by name, the default first. Those with an embedder are passed as objects. */
export const SEARCHERS = {
  lexical: () => new NamedSearcher('lexical', {}, async () => (await import('./lexical.ts')).lexical()),
  weighted: () =>
    new NamedSearcher('weighted', { order: 'fixed' }, async () => (await import('./weighted.ts')).weighted()),
  regex: () =>
    new NamedSearcher('regex', { reads: 'pattern', order: 'fixed' }, async () =>
      (await import('./regex.ts')).regex(),
    ),
} satisfies Record<string, () => Searcher>

/** The searchers that `searcher` takes by name. */
export type SearcherName = keyof typeof SEARCHERS

/** A searcher that is loaded by its first search: a bundle for a browser can load it then. */
class NamedSearcher implements Searcher {
  readonly name: string
  readonly reads: NonNullable<Searcher['reads']>
  readonly order: NonNullable<Searcher['order']>
  readonly #load: () => Promise<Searcher>

  constructor(
    name: string,
    { reads = 'words', order = 'fit' }: Pick<Searcher, 'reads' | 'order'>,
    load: () => Promise<Searcher>,
  ) {
    this.name = name
    this.reads = reads
    this.order = order
    this.#load = load
  }

  open(): SearchIndex {
    return new NamedIndex(this.#load)
  }
}

class NamedIndex implements SearchIndex {
  readonly #load: () => Promise<Searcher>
  /** What changed before the searcher was loaded. */
  readonly #waiting = new Map<string, readonly Listing[]>()
  #index: SearchIndex | undefined

  constructor(load: () => Promise<Searcher>) {
    this.#load = load
  }

  update(source: string, listings: readonly Listing[]): void {
    if (this.#index) this.#index.update(source, listings)
    else this.#waiting.set(source, listings)
  }

  rank(query: Query, options: RankOptions): Ranking | Promise<Ranking> {
    return this.#index ? this.#index.rank(query, options) : this.#loadAndRank(query, options)
  }

  async #loadAndRank(query: Query, options: RankOptions): Promise<Ranking> {
    const searcher = await this.#load()
    // Another search may have loaded it in the meantime.
    this.#index ??= this.#open(searcher)
    return this.#index.rank(query, options)
  }

  #open(searcher: Searcher): SearchIndex {
    const index = searcher.open()
    for (const [source, listings] of this.#waiting) index.update(source, listings)
    this.#waiting.clear()
    return index
  }
}
