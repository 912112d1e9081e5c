import type { Listing } from '../tool.ts'
import type { Query } from './query/query.ts'
import type { Ranking, RankOptions, Searcher, SearchIndex } from './searcher.ts'

/** An index whose searcher is loaded by the first search. */
export class LoadedIndex implements SearchIndex {
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

  async rank(query: Query, options: RankOptions): Promise<Ranking> {
    return (await this.load()).rank(query, options)
  }

  /** Loads the searcher, so that updates are indexed at once. */
  async load(): Promise<SearchIndex> {
    if (this.#index) return this.#index
    const searcher = await this.#load()
    // Another search may have loaded it in the meantime.
    this.#index ??= this.#open(searcher)
    return this.#index
  }

  #open(searcher: Searcher): SearchIndex {
    const index = searcher.open()
    for (const [source, listings] of this.#waiting) index.update(source, listings)
    this.#waiting.clear()
    return index
  }
}
