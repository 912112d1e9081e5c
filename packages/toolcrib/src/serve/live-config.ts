import { type Config, type FoundConfig, type OpenedRegistry, watchConfig } from '@toolcrib/mcp'
import { findOptionsOf } from '../servers/with-registry.ts'
import type { ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/**
 * A gateway that applies config changes: its tokens, profiles, hosts and limits, and the settings of its OAuth issuer.
 */
export interface ReloadedGateway {
  /** Throws, and changes nothing, if the config cannot be applied. */
  apply(found: FoundConfig): Promise<void>
  announceReload(): void
}

/** The outcome of reading a config again. */
export type ReloadOutcome =
  /** `unapplied`: the changed tables that need a restart. */
  | { readonly found: FoundConfig; readonly unapplied: readonly string[] }
  /** `isAccessApplied`: its gateway tables are applied, but not all of its servers. */
  | { readonly problem: string; readonly isAccessApplied: boolean }

/**
 * The config of a running gateway. It is read again when a file changes, on SIGHUP, and when a command asks for it:
 * servers that were added, changed or removed start, restart or stop, and the others keep running; tokens, profiles,
 * hosts, limits and OAuth settings are replaced. Other tables are not applied, but a change is reported. A config that
 * cannot be read, or whose tokens, profiles or limits are invalid, changes nothing. If its servers cannot be applied,
 * tokens that it revokes stay revoked, and the next reload tries the servers again.
 */
export class LiveConfig {
  readonly #started: Config
  #found: FoundConfig
  /** The config and lockfiles that the other replicas know of. */
  #announced: string
  #reloading: Promise<unknown> = Promise.resolve()
  readonly #find: () => Promise<FoundConfig>
  readonly #opened: Pick<OpenedRegistry, 'reload'>
  readonly #onReload: (outcome: ReloadOutcome) => void
  #gateway: ReloadedGateway | undefined

  constructor(
    found: FoundConfig,
    opened: Pick<OpenedRegistry, 'reload'>,
    find: () => Promise<FoundConfig>,
    onReload: (outcome: ReloadOutcome) => void,
  ) {
    this.#started = found.config
    this.#found = found
    this.#announced = textOf(found.config) + lockOf(found)
    this.#opened = opened
    this.#find = find
    this.#onReload = onReload
  }

  /** The config whose servers are in use. */
  get found(): FoundConfig {
    return this.#found
  }

  /** Applies each config to a gateway from now on, which notifies the other replicas. */
  attach(gateway: ReloadedGateway): void {
    this.#gateway = gateway
  }

  /** Reads and applies the config, one reload at a time. Never rejects. */
  reload(): Promise<void> {
    const next = this.#reloading.then(() => this.#reload())
    this.#reloading = next
    return next
  }

  /**
   * Reloads whenever a config file changes, until the returned function is called. Watching begins a moment later, so
   * that loading the watcher does not delay the first clients; earlier changes are noticed when it begins.
   */
  watch(terminal: Terminal, flags: ServerFlags): () => Promise<void> {
    let stop = async () => {}
    const cancel = terminal.schedule(WATCH_AFTER_MS, () => {
      stop = this.#watch(terminal, flags)
    })
    return () => {
      cancel()
      return stop()
    }
  }

  #watch(terminal: Terminal, flags: ServerFlags): () => Promise<void> {
    const { cwd, env } = terminal
    const { path, overrides = {} } = findOptionsOf(terminal, flags)
    return watchConfig({
      cwd,
      env,
      overrides,
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
    let isAccessApplied = false
    try {
      const found = await this.#find()
      // Revoked tokens are refused first. An invalid setting changes nothing.
      await this.#gateway?.apply(found)
      isAccessApplied = this.#gateway !== undefined
      // Other replicas must refuse it too, even if the servers fail here.
      this.#announce(textOf(found.config) + lockOf(found))
      await this.#opened.reload(found)
      this.#found = found
      this.#onReload({ found, unapplied: changedTables(this.#started, found.config) })
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error)
      this.#onReload({ problem, isAccessApplied })
    }
  }

  /** Once per change: replicas whose servers fail must not make each other reload forever. */
  #announce(text: string): void {
    if (text === this.#announced) return
    this.#announced = text
    this.#gateway?.announceReload()
  }
}

const WATCH_AFTER_MS = 500

function textOf(config: Config): string {
  return JSON.stringify([
    config.servers,
    config.openapi,
    config.skills,
    config.gateway,
    config.profiles,
    tablesOf(config),
  ])
}

/** The tables that need a restart. */
function tablesOf(config: Config): Readonly<Record<string, unknown>> {
  const { gateway: { oauth, audit } = {}, tools, searcher, memory, memoryText, scripts } = config
  // Whether there is an issuer decides who may connect at all.
  return {
    'gateway.oauth': oauth !== undefined,
    'gateway.audit': audit,
    scripts,
    tools: [tools, searcher, memory, memoryText],
  }
}

function changedTables(before: Config, now: Config): readonly string[] {
  const [old, current] = [tablesOf(before), tablesOf(now)]
  return Object.keys(current).filter((name) => JSON.stringify(old[name]) !== JSON.stringify(current[name]))
}

function lockOf({ lockfile }: FoundConfig): string {
  return JSON.stringify([...(lockfile?.servers ?? [])], (_key, value: unknown) =>
    value instanceof Map ? [...value] : value,
  )
}
