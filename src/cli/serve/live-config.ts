import { ToolcribError } from 'toolcrib'
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
      this.#found = found
      this.#onReload({ found })
    } catch (error) {
      if (!(error instanceof ToolcribError)) throw error
      this.#onReload({ problem: error.message })
    }
  }
}

/** What a reload can change: the rest of a config belongs to the registry, which stays. */
function textOf({ servers, profiles }: Config): string {
  return JSON.stringify([servers, profiles])
}
