import { join } from 'node:path'
import {
  anyFunction,
  anyObject,
  checkOptions,
  either,
  milliseconds,
  type OptionRules,
  oneOf,
  optionsWith,
  trueOrFalse,
} from '../check-options.ts'
import { staticEmbedder } from '../embedders/static-embedder.ts'
import type { RegistryOptions } from '../registry-options.ts'
import { hybrid } from '../search/hybrid.ts'
import { fileStore } from '../store/file-store.ts'
import type { Store } from '../store/store.ts'
import { ToolRegistry } from '../tool-registry.ts'
import { FIND_RULES, type FindOptions, type FoundConfig, findConfig } from './config/find-config.ts'
import type { Environment, ServerConfig } from './config/server-config.ts'
import type { SearcherChoice } from './config/tools-config.ts'
import { cacheDirectory } from './config/user-folders.ts'
import { CONNECT_RULES, type ConnectOptions, type McpEvent } from './connect-options.ts'
import { type ConnectedServers, connectServers } from './connect-servers.ts'
import type { ObservedServer } from './lock/lockfile.ts'
import { whatRuns } from './lock/what-runs.ts'
import { openUserMemory } from './user-memory.ts'

/** Options of `openFromConfig()`. Every option has a default. */
export interface OpenFromConfigOptions extends FindOptions {
  /** A config returned by `findConfig()`; the files are not read again. */
  readonly found?: FoundConfig
  /** Selects the servers to connect. Default: all configured servers. */
  readonly servers?: (name: string, found: FoundConfig) => boolean
  /**
   * true: a server with a cached catalogue starts only when one of its tools is called, whatever its `start` setting.
   * false: the cache is not used, so every server is started and asked for its tools. When absent, the cache is used
   * and each server's `start` setting decides.
   */
  readonly remembered?: boolean
  /** Overrides `connect_timeout_ms` and `timeout_ms` of every server. */
  readonly timeoutMs?: number
  /** Registry options; they take precedence over the config. */
  readonly registry?: RegistryOptions
  /**
   * Keeps catalogues, vectors, failures and OAuth tokens between runs. Default: files in the user's cache folder.
   * `false`: nothing is kept.
   */
  readonly store?: Store | false
  /**
   * true: remembers which tools served which requests, unless the config says `memory = false`; in files of the user's
   * state folder, or in `store` if that is given. Default: false.
   */
  readonly memory?: boolean
  /** Receives every event about a server, from the first connection on. Exceptions are ignored. */
  readonly onEvent?: (event: McpEvent) => void
  /** Any other option of `connectServers()`. */
  readonly connect?: Omit<ConnectOptions, 'env' | 'store' | 'remembered' | 'lockfile' | 'onEvent'>
}

/** A registry with its servers, and the config it was opened from. */
export interface OpenedRegistry extends FoundConfig {
  readonly registry: ToolRegistry
  /** `servers.ready()` waits until they are connected. */
  readonly servers: ConnectedServers
  /**
   * Applies a config that `findConfig()` returned later, with its lockfiles: changed servers restart, the others keep
   * running. The registry's own options do not change.
   */
  reload(found: FoundConfig): Promise<void>
  /** Stops every server and removes their tools from the registry. No process is left running. */
  close(): Promise<void>
}

/**
 * Opens a registry from the user's config files: reads the config and lockfiles, creates the registry with the
 * configured searcher (default: `hybrid` with the static embedder), opens the catalogue cache, and starts connecting.
 * Returns before the servers are connected; `servers.ready()` waits for them. Throws `config-invalid` for an unknown
 * option, an invalid or missing config, and an invalid lockfile; in that case nothing has been started.
 */
export async function openFromConfig(options: OpenFromConfigOptions = {}): Promise<OpenedRegistry> {
  checkOptions('openFromConfig()', options, OPEN_RULES)
  const { env = process.env, locked, remembered, onEvent } = options
  const found = options.found ?? (await findConfig(findOptions(options)))
  const past = options.memory
    ? openUserMemory(found.config, { env, store: options.store || undefined })
    : undefined
  const registry = new ToolRegistry({
    ...found.config.tools,
    searcher: toSearcher(found.config.searcher ?? 'hybrid'),
    ...(past ? { memory: past.memory } : {}),
    ...options.registry,
  })
  const store = options.store ?? userStore(env)
  const servers = connectServers(registry, wantedServers(found, options), {
    ...options.connect,
    env,
    ...(locked === false ? {} : { lockfile: found.lockfile }),
    ...(store ? { store } : {}),
    ...(remembered === undefined ? {} : { remembered }),
    ...(onEvent ? { onEvent } : {}),
  })
  const reload = async (next: FoundConfig) => {
    // Apply the lock first, so that nothing it rejects can start in between.
    if (locked !== false) await servers.relock(next.lockfile)
    await servers.reload(wantedServers(next, options))
  }
  const close = async () => {
    await servers.close()
    if (store && store !== options.store) await store.close()
    await past?.close()
  }
  return { ...found, registry, servers, reload, close }
}

const { env: _, store: __, remembered: ___, lockfile: ____, onEvent: _____, ...OTHER_RULES } = CONNECT_RULES

const OPEN_RULES: OptionRules<OpenFromConfigOptions> = {
  ...FIND_RULES,
  found: anyObject,
  servers: anyFunction,
  remembered: trueOrFalse,
  timeoutMs: milliseconds({ from: 1 }),
  registry: anyObject,
  store: either(CONNECT_RULES.store, oneOf(false)),
  memory: trueOrFalse,
  onEvent: anyFunction,
  connect: optionsWith<NonNullable<OpenFromConfigOptions['connect']>>(OTHER_RULES),
}

function findOptions(options: OpenFromConfigOptions): FindOptions {
  return Object.fromEntries(Object.entries(options).filter(([key]) => Object.hasOwn(FIND_RULES, key)))
}

function toSearcher(name: SearcherChoice): NonNullable<RegistryOptions['searcher']> {
  return name === 'hybrid' ? hybrid({ embedder: staticEmbedder() }) : name
}

/** A store in the user's cache folder; undefined when the environment does not define such a folder. */
function userStore(env: Environment): Store | undefined {
  const folder = cacheDirectory(env)
  return folder === undefined ? undefined : fileStore({ directory: join(folder, 'store') })
}

/** The selected servers, with the options applied. */
function wantedServers(
  found: FoundConfig,
  { servers: isWanted = () => true, timeoutMs, remembered }: OpenFromConfigOptions,
): { readonly servers: Readonly<Record<string, ServerConfig>> } {
  const wanted = Object.entries(found.config.servers).filter(([name]) => isWanted(name, found))
  const adjusted = wanted.map(([name, server]): [string, ServerConfig] => {
    return [
      name,
      {
        ...server,
        ...(timeoutMs === undefined ? {} : { connectTimeoutMs: timeoutMs, timeoutMs }),
        ...(remembered === true ? { start: 'on-demand' } : {}),
      },
    ]
  })
  return { servers: Object.fromEntries(adjusted) }
}

/**
 * Collects the current state of an opened registry's servers for `lockServers()`, `compareWithLock()` and
 * `approveChanges()`: their config, their tools (undefined for servers that did not respond), the package or image
 * that they run, a program that changed, and why they were not started.
 */
export async function observeServers(
  {
    config,
    lockfile,
    servers,
  }: Pick<OpenedRegistry, 'config' | 'servers'> & Partial<Pick<OpenedRegistry, 'lockfile'>>,
  { cwd = process.cwd(), env = process.env }: Pick<FindOptions, 'cwd' | 'env'> = {},
): Promise<Map<string, ObservedServer>> {
  const observed = Object.entries(config.servers).map(async ([name, server]) => {
    const tools = servers.tools(name)
    // Which package ran is only known for a server that was started.
    const runs = tools === undefined ? undefined : await whatRuns(server, { cwd, env })
    const failure = servers.failure(name)
    const program = lockfile?.moved?.get(name)
    return [
      name,
      {
        config: server,
        tools,
        ...(runs === undefined ? {} : { runs }),
        ...(program === undefined ? {} : { program }),
        ...(failure === undefined ? {} : { failure }),
      },
    ] as const
  })
  return new Map(await Promise.all(observed))
}
