import {
  anyFunction,
  canonicalJson,
  checkOptions,
  describeError,
  milliseconds,
  type OptionRules,
  required,
} from '@toolcrib/core/internal'
import type { FSWatcher } from 'chokidar'
import { type Config, configPaths, LOAD_RULES, type LoadOptions, loadConfig } from './load-config.ts'

/** Where to look for config, and what to call when it changes. */
export interface WatchOptions extends LoadOptions {
  /** Called with each new valid config. */
  readonly onChange: (config: Config) => void
  /** Called for an invalid config, including a partially written file; the last valid config stays in use. */
  readonly onError: (error: unknown) => void
  /** How long files must be unchanged before they are read. Default: 150 ms. */
  readonly settleMs?: number
}

const WATCH_RULES: OptionRules<WatchOptions> = {
  ...LOAD_RULES,
  onChange: required(anyFunction),
  onError: required(anyFunction),
  settleMs: milliseconds(),
}

/**
 * Reads the config once the watcher is ready, and whenever one of its files is created, changed or deleted. Calls
 * `onChange` when the config differs from the last one. Returns a function that stops watching.
 */
export function watchConfig(options: WatchOptions): () => Promise<void> {
  checkOptions('watchConfig()', options, WATCH_RULES)
  const watch = new ConfigWatch(options)
  return () => watch.close()
}

const SETTLE_MS = 150
const CONFIRM_MS = 500

class ConfigWatch {
  readonly #options: WatchOptions
  readonly #watcher: Promise<FSWatcher | undefined>
  readonly #timers = new Set<ReturnType<typeof setTimeout>>()
  #newestRead = 0
  #lastReported: string | undefined
  #isClosed = false

  constructor(options: WatchOptions) {
    this.#options = options
    this.#watcher = this.#start().catch((error) => {
      options.onError(error)
      return undefined
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopTimers()
    await (await this.#watcher)?.close()
  }

  async #start(): Promise<FSWatcher | undefined> {
    const { settleMs = SETTLE_MS, onError } = this.#options
    // Not needed until everything else has started.
    const { watch } = await import('chokidar')
    if (this.#isClosed) return undefined
    return (
      watch(configPaths(this.#options), { ignoreInitial: true })
        // Reads once more to catch changes made before the watcher was ready.
        .on('ready', () => void this.#read())
        .on('all', () => {
          this.#stopTimers()
          this.#readIn(settleMs)
          // The watcher skips changes in quick succession, so read once more.
          this.#readIn(settleMs + CONFIRM_MS)
        })
        .on('error', onError)
    )
  }

  #readIn(delayMs: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      void this.#read()
    }, delayMs)
    this.#timers.add(timer)
  }

  #stopTimers(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
  }

  async #read(): Promise<void> {
    const { onChange, onError, settleMs: _, ...options } = this.#options
    const read = ++this.#newestRead
    try {
      const config = await loadConfig(options)
      this.#report(read, canonicalJson(config), () => onChange(config))
    } catch (error) {
      this.#report(read, describeError(error), () => onError(error))
    }
  }

  /** A slow read of older files must not overwrite a newer one, and repeated results are not reported. */
  #report(read: number, text: string, report: () => void): void {
    if (read !== this.#newestRead || this.#isClosed || text === this.#lastReported) return
    this.#lastReported = text
    report()
  }
}
