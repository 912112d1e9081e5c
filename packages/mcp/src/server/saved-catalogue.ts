import { describeError, waitAtMost, within } from '@toolcrib/core/internal'
import { type CachedCatalogue, type CatalogueCache, fingerprintOf } from '../cache/catalogue-cache.ts'
import type { ScannedTools } from '../listed/server-tool.ts'
import type { ServerTime } from './connector.ts'
import type { ServerState } from './server-state.ts'

/** How long startup waits for the cache; after that the server is asked. */
const RECALL_MS = 1_000
const SAVE_MS = 10_000
/** How long the scan of the list may delay its saving once the server is closed. */
const SCAN_MS = 500
/** How long saving the list may delay closing. */
const REMEMBER_MS = 1_000

/** A catalogue whose tools may still be scanned. */
interface UnsavedCatalogue extends Omit<CachedCatalogue, 'scan'> {
  readonly scan: Promise<ScannedTools | undefined>
}

/** One server's catalogue in the cache. */
export class SavedCatalogue {
  readonly #state: ServerState
  readonly #cache: CatalogueCache
  readonly #schedule: ServerTime['schedule']
  /** The newest list that has not been saved. */
  #unwritten: UnsavedCatalogue | undefined
  #saving: Promise<void> | undefined
  /** Resolves when saving no longer waits for the scan. */
  readonly #scanEnd: Promise<undefined>
  #endScan = () => {}

  constructor(state: ServerState, cache: CatalogueCache, { schedule }: ServerTime) {
    this.#state = state
    this.#cache = cache
    this.#schedule = schedule
    this.#scanEnd = new Promise((resolve) => {
      this.#endScan = () => resolve(undefined)
    })
  }

  /** The cached catalogue; undefined if there is none, or if it cannot be loaded in time. */
  async load(): Promise<CachedCatalogue | undefined> {
    try {
      return await within(RECALL_MS, this.#cache.load(this.#fingerprint), this.#schedule)
    } catch (error) {
      this.#state.warn(
        `its cached tools could not be loaded, so the server is asked for them: ${describeError(error)}`,
      )
      return undefined
    }
  }

  /** Saves in the background: known tools can be used without waiting for their scan and the disk. */
  save(catalogue: UnsavedCatalogue): void {
    this.#unwritten = catalogue
    this.#saving ??= this.#write().finally(() => {
      this.#saving = undefined
    })
  }

  /** Resolves once the list is saved, or saving takes too long. */
  async close(): Promise<void> {
    this.#schedule(SCAN_MS, this.#endScan)
    await waitAtMost(REMEMBER_MS, [this.#saving], this.#schedule)
  }

  get #fingerprint(): string {
    return fingerprintOf(this.#state.name, this.#state.runConfig)
  }

  /** One list at a time, so that the newest one is kept. */
  async #write(): Promise<void> {
    while (this.#unwritten) {
      const unwritten = this.#unwritten
      // What is not scanned by then is scanned after the next start.
      const scan = await Promise.race([unwritten.scan, this.#scanEnd])
      if (unwritten !== this.#unwritten) continue
      this.#unwritten = undefined
      try {
        const saving = this.#cache.save(this.#fingerprint, { ...unwritten, scan })
        await within(SAVE_MS, saving, this.#schedule)
      } catch (error) {
        this.#state.warn(`its tools could not be cached: ${describeError(error)}`)
      }
    }
  }
}
