import { type Config, type FoundConfig, type OpenedRegistry, watchConfig } from 'toolcrib/mcp'
import type { ServerFlags } from '../flags.ts'
import type { Terminal } from '../terminal.ts'

/** What became of a config that was read again. */
type ReloadOutcome = { readonly found: FoundConfig } | { readonly problem: string }

/**
 * The config of a running gateway. It is read again when a file changes, on SIGHUP, and when a command asks for it: servers
 * that were added, changed or removed start, restart or stop, and the others keep running. A config that cannot be read
 * changes nothing.
 */
export class LiveConfig {
  #found: FoundConfig
  #reloading: Promise<unknown> = Promise.resolve()
  readonly #find: () => Promise<FoundConfig>
  readonly #opened: OpenedRegistry
  readonly #onReload: (outcome: ReloadOutcome) => void
  #onChange: () => void = () => {}

  constructor(
    found: FoundConfig,
    opened: OpenedRegistry,
    find: () => Promise<FoundConfig>,
    onReload: (outcome: ReloadOutcome) => void,
  ) {
    this.#found = found
    this.#opened = opened
    this.#find = find
    this.#onReload = onReload
  }

  get found(): FoundConfig {
    return this.#found
  }

  /** Calls a function whenever a reload has changed something. */
  onChange(listener: () => void): void {
    this.#onChange = listener
  }

  /** Reads and applies the config, one reload at a time. Never rejects. */
  reload(): Promise<void> {
    const next = this.#reloading.then(() => this.#reload())
    this.#reloading = next
    return next
  }

  /** Reloads whenever a config file changes, until the returned function is called. */
  watch({ cwd, env }: Terminal, { config: path }: ServerFlags): () => Promise<void> {
    return watchConfig({
      cwd,
      env,
      ...(path === undefined ? {} : { path }),
      onBadServer: ({ message }) => ({ problem: message }),
      onChange: (config) => {
        // The watcher also reads once when it is ready.
        if (textOf(config) !== textOf(this.#found.config)) void this.reload()
      },
      onError: () => void this.reload(),
    })
  }

  async #reload(): Promise<void> {
    try {
      const found = await this.#find()
      await this.#opened.reload(found)
      const isChanged =
        textOf(found.config) + lockOf(found) !== textOf(this.#found.config) + lockOf(this.#found)
      this.#found = found
      this.#onReload({ found })
      if (isChanged) this.#onChange()
    } catch (error) {
      this.#onReload({ problem: error instanceof Error ? error.message : String(error) })
    }
  }
}

/** What a reload can change: the rest of a config belongs to the registry, which stays. */
function textOf({ servers, profiles }: Config): string {
  return JSON.stringify([servers, profiles])
}

function lockOf({ lockfile }: FoundConfig): string {
  return JSON.stringify([...(lockfile?.servers ?? [])], (_key, value: unknown) =>
    value instanceof Map ? [...value] : value,
  )
}
