import { ToolcribError } from './errors.ts'
import type { Emit } from './events.ts'
import { clamp } from './meta-tools/answer.ts'
import type { Snapshot } from './registry/catalogue.ts'
import { closeNames } from './registry/close-names.ts'
import type { Entry } from './registry/entry.ts'
import type { ServerDirectory, ServerStatus } from './registry/server-directory.ts'
import type { View } from './registry/viewer.ts'
import type { SearcherName } from './registry-options.ts'
import { CatalogueSearch } from './search/catalogue-search.ts'
import { lexical } from './search/lexical.ts'
import { regex } from './search/regex.ts'
import type { SearchOptions, SearchResult } from './search/search-result.ts'
import type { Searcher } from './search/searcher.ts'
import { weighted } from './search/weighted.ts'
import type { Listing } from './tool.ts'

export interface ToolFinderOptions {
  snapshot(): Snapshot
  isAvailable(entry: Entry): boolean
  /** How long a search waits for servers that are connecting. */
  readonly serverWaitMs: number
  /** How many matches a search gives that names no limit. */
  readonly searchLimit: number
  /** How many close names are told at most. */
  readonly suggestions: number
}

/** A search: what for, by which searcher, and who asks. */
export interface FindRequest extends SearchOptions {
  readonly query: string
  readonly searcher: Searcher
  permits(listing: Listing): boolean
  readonly emit: Emit
}

/** Finds tools in the newest catalogue: by words, by a name however it is written, by a name that is nearly right. */
export class ToolFinder {
  /** The searcher of a registry that names none. */
  readonly standard: Searcher = lexical()
  readonly #options: ToolFinderOptions
  readonly #search = new CatalogueSearch()
  readonly #searchers: ReadonlyMap<string, Searcher>
  #synced: Snapshot | undefined
  #servers: ServerDirectory | undefined

  constructor(options: ToolFinderOptions) {
    this.#options = options
    this.#searchers = new Map(
      [this.standard, weighted(), regex()].map((searcher) => [searcher.name, searcher]),
    )
  }

  get servers(): ServerDirectory | undefined {
    return this.#servers
  }

  attachServers(directory: ServerDirectory): () => void {
    this.#servers = directory
    return () => {
      if (this.#servers === directory) this.#servers = undefined
    }
  }

  /** A searcher by its name, or as it was given. */
  searcher(given: SearcherName | Searcher): Searcher {
    if (typeof given !== 'string') return given
    const searcher = this.#searchers.get(given)
    if (searcher) return searcher
    const known = [...this.#searchers.keys()].join(', ')
    throw new ToolcribError('config-invalid', `there is no searcher "${given}"; use ${known}, or pass one`)
  }

  async find({ query, searcher, permits, emit, ...options }: FindRequest): Promise<SearchResult> {
    const servers = this.#servers ? await unsettledServers(this.#servers, this.#options.serverWaitMs) : []
    const snapshot = this.#options.snapshot()
    this.#sync(snapshot)
    const { ranked, ...found } = await this.#search.search(query, {
      ...(options.server === undefined ? {} : { server: options.server }),
      limit: clamp(options.limit, { min: 1, max: 100, otherwise: this.#options.searchLimit }),
      offset: clamp(options.offset, { min: 0, max: Number.MAX_SAFE_INTEGER, otherwise: 0 }),
      searcher,
      accepts: permits,
      isReady: ({ name }) => {
        const entry = snapshot.get(name)
        return entry !== undefined && this.#options.isAvailable(entry)
      },
    })
    const matches = ranked.map(({ listing: { name, description }, score, reasons }) => ({
      name,
      score,
      description,
      reasons,
    }))
    const names = matches.map(({ name }) => name)
    emit({ type: 'searched', query, searcher: searcher.name, total: found.total, names })
    if (names.length === 0) emit({ type: 'missed', what: 'search', text: query })
    return { ...found, matches, ...(servers.length > 0 ? { servers } : {}) }
  }

  /** The permitted tool that a name means, however it is written. */
  findByName(name: string, view: View): Entry | undefined {
    this.#sync(view.snapshot)
    const listing = this.#search.findByName(name, (candidate) => view.permits(candidate))
    return listing && view.snapshot.get(listing.name)
  }

  /** A few permitted names close to one that is not there. */
  suggest(name: string, isPermitted: (entry: Entry) => boolean): readonly string[] {
    const snapshot = this.#options.snapshot()
    const close = closeNames(name, snapshot.sorted, this.#options.suggestions * 4)
    const permitted = close.flatMap((candidate) => snapshot.get(candidate) ?? []).filter(isPermitted)
    return permitted.slice(0, this.#options.suggestions).map((entry) => entry.name)
  }

  #sync(snapshot: Snapshot): void {
    if (snapshot === this.#synced) return
    this.#search.sync(snapshot.groups)
    this.#synced = snapshot
  }
}

/** Waits a little for servers that are connecting; answers those that still are, and those that failed. */
async function unsettledServers(
  directory: ServerDirectory,
  timeoutMs: number,
): Promise<readonly ServerStatus[]> {
  if (directory.statuses().some(({ state }) => state === 'connecting')) await directory.settled({ timeoutMs })
  return directory.statuses().filter(({ state }) => state === 'connecting' || state === 'failed')
}
