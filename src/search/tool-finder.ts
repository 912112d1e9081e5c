import { ToolcribError } from '../errors.ts'
import type { Emit } from '../events.ts'
import type { Snapshot } from '../registry/catalogue.ts'
import { closeNames } from '../registry/close-names.ts'
import type { Entry } from '../registry/entry.ts'
import type { CompiledPolicy } from '../registry/policy.ts'
import type { ServerDirectory, ServerStatus } from '../registry/server-directory.ts'
import { denialOf, type View } from '../registry/viewer.ts'
import { clamp } from '../text.ts'
import type { Listing } from '../tool.ts'
import { CatalogueSearch } from './catalogue-search.ts'
import { lexical } from './lexical.ts'
import { regex } from './regex.ts'
import type { SearchOptions, SearchResult } from './search-result.ts'
import { acceptEvery, type Searcher, type SearcherName } from './searcher.ts'
import { weighted } from './weighted.ts'

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
  /** Asked once servers have been waited for, so that it speaks of the catalogue that is searched. */
  permitter(): (listing: Listing) => boolean
  permitsServer(server: string): boolean
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
    if (typeof given !== 'string') {
      if (typeof given?.open === 'function') return given
      throw new ToolcribError('config-invalid', 'a searcher must have open(); see the Searcher type')
    }
    const searcher = this.#searchers.get(given)
    if (searcher) return searcher
    const known = [...this.#searchers.keys()].join(', ')
    const hint = NEEDS_EMBEDDER.includes(given)
      ? `pass ${given}({ embedder: staticEmbedder() }), with staticEmbedder of toolcrib/embedders`
      : `use ${known}, or pass one`
    throw new ToolcribError('config-invalid', `there is no searcher "${given}" by name alone; ${hint}`)
  }

  async find({
    query,
    searcher,
    permitter,
    permitsServer,
    emit,
    ...options
  }: FindRequest): Promise<SearchResult> {
    const isWanted = (server: string) => permitsServer(server) && (options.server ?? server) === server
    const servers = await this.waitForServers(isWanted)
    const snapshot = this.#options.snapshot()
    this.#sync(snapshot)
    const { ranked, ...found } = await this.#search.search(query, {
      ...(options.server === undefined ? {} : { server: options.server }),
      limit: clamp(options.limit, { min: 1, max: 100, otherwise: this.#options.searchLimit }),
      offset: clamp(options.offset, { min: 0, max: Number.MAX_SAFE_INTEGER, otherwise: 0 }),
      searcher,
      accepts: permitter(),
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

  /** Waits a little for servers that are connecting; answers those that still are, and those that failed. */
  async waitForServers(isWanted: (server: string) => boolean): Promise<readonly ServerStatus[]> {
    const directory = this.#servers
    if (!directory) return []
    const statuses = () => directory.statuses().filter(({ server }) => isWanted(server))
    const connecting = statuses().filter(({ state }) => state === 'connecting')
    if (connecting.length > 0) {
      const { serverWaitMs } = this.#options
      await directory.settled({ servers: connecting.map(({ server }) => server), timeoutMs: serverWaitMs })
    }
    return statuses().filter(({ state }) => state === 'connecting' || state === 'failed')
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
    const available = permitted.filter((entry) => this.#options.isAvailable(entry))
    return available.slice(0, this.#options.suggestions).map((entry) => entry.name)
  }

  #sync(snapshot: Snapshot): void {
    if (snapshot === this.#synced) return
    this.#search.sync(snapshot.groups)
    this.#synced = snapshot
  }
}

const NEEDS_EMBEDDER: readonly string[] = ['semantic', 'hybrid']

/** Whether a listing of this snapshot may be found; nothing is asked when nothing is refused. */
export function permitterOf(snapshot: Snapshot, policy: CompiledPolicy): (listing: Listing) => boolean {
  if (policy.isOpen && snapshot.quarantined.size === 0) return acceptEvery
  return ({ name }) => {
    const entry = snapshot.get(name)
    return entry !== undefined && denialOf(entry, snapshot, policy) === undefined
  }
}
