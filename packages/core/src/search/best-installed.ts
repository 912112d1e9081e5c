import { describeError } from '../errors.ts'
import { LoadedIndex } from './loaded-index.ts'
import type { Searcher, SearchIndex } from './searcher.ts'

/**
 * The default searcher: `hybrid` where the optional package @toolcrib/embedder is installed and can read its file, else
 * `lexical`. The first search decides, because reading the file takes a moment.
 */
export class BestInstalled implements Searcher {
  #searcher: Searcher | undefined
  readonly #onFailure: (error: string) => void

  /** `onFailure` is called if the package is installed but cannot be used. */
  constructor(onFailure: (error: string) => void) {
    this.#onFailure = onFailure
  }

  /** `auto` before the first search. */
  get name(): string {
    return this.#searcher?.name ?? 'auto'
  }

  get embedderName(): string | undefined {
    return this.#searcher?.embedderName
  }

  open(): SearchIndex {
    return new LoadedIndex(() => this.load())
  }

  async load(): Promise<Searcher> {
    const found = this.#searcher ?? (await this.#find())
    this.#searcher ??= found
    return this.#searcher
  }

  async #find(): Promise<Searcher> {
    const makeSearcher = await installedSearcher()
    try {
      if (makeSearcher) return makeSearcher()
    } catch (error) {
      this.#onFailure(describeError(error))
    }
    return (await import('./lexical.ts')).lexical()
  }
}

/** Bundlers let an import fail that is awaited inside `try`, and that of an optional peer dependency. */
async function installedSearcher(): Promise<(() => Searcher) | undefined> {
  try {
    return (await import('@toolcrib/embedder')).defaultSearcher
  } catch {
    return undefined
  }
}
