import { staticEmbedder } from '../embedders/static-embedder.ts'
import { ToolcribError } from '../errors.ts'
import type { RegistryOptions } from '../registry-options.ts'
import { hybrid } from '../search/hybrid.ts'
import { ToolRegistry } from '../tool-registry.ts'
import type { CatalogueCache } from './cache/catalogue-cache.ts'
import {
  checkOptionKeys,
  FIND_KEYS,
  type FindOptions,
  type FoundConfig,
  findConfig,
} from './config/find-config.ts'
import { MAX_MILLISECONDS } from './config/read-table.ts'
import type { ServerConfig } from './config/server-config.ts'
import type { SearcherChoice } from './config/tools-config.ts'
import { openUserCache } from './config/user-cache.ts'
import type { ConnectOptions, McpEvent } from './connect-options.ts'
import { type ConnectedServers, connectServers } from './connect-servers.ts'
import type { ObservedServer } from './lock/lockfile.ts'
import { pinTo } from './lock/package-runner.ts'
import { whatRuns } from './lock/what-runs.ts'

/** How a registry is opened from a config. Everything has a default. */
export interface OpenFromConfigOptions extends FindOptions {
  /** A config that `findConfig()` returned, used in place of reading the files again. */
  readonly found?: FoundConfig
  /** Whether to connect a configured server; all of them, when absent. */
  readonly servers?: (name: string, found: FoundConfig) => boolean
  /**
   * true: a server whose tools are remembered is not started until a tool of it is called, whatever its `start` says.
   * false: nothing remembered is used, so every server is started and asked. When absent, what is remembered is used,
   * and each server's `start` decides.
   */
  readonly remembered?: boolean
  /** Replaces `connect_timeout_ms` and `timeout_ms` of every server. */
  readonly timeoutMs?: number
  /** Options of the registry, over those of the config. */
  readonly registry?: RegistryOptions
  /** Where catalogues and vectors are remembered; files in the user's cache folder. `false` remembers nothing. */
  readonly cache?: CatalogueCache | false
  /** Receives what happens to servers and on their behalf, from the first connection on. Exceptions are ignored. */
  readonly onEvent?: (event: McpEvent) => void
  /** Everything else `connectServers()` takes. */
  readonly connect?: Omit<ConnectOptions, 'env' | 'cache' | 'cacheDirectory' | 'lockfile' | 'onEvent'>
}

/** A registry with its servers, and the config it was opened from. */
export interface OpenedRegistry extends FoundConfig {
  readonly registry: ToolRegistry
  /** `servers.ready()` waits until they are connected. */
  readonly servers: ConnectedServers
  /**
   * Applies a config that `findConfig()` returned later, with its lockfiles: what changed is restarted, the rest goes on.
   * The registry's own options stay as they are.
   */
  reload(found: FoundConfig): Promise<void>
  /** Ends every server and removes their tools from the registry. Nothing is left running. */
  close(): Promise<void>
}

/**
 * Opens a registry as the user's config files say: reads config and lockfiles, creates the registry with the searcher
 * of the config (`hybrid` with the static embedder by default), opens the cache of what servers listed, and starts
 * connecting. It returns before servers are connected: `servers.ready()` waits for them. Throws `config-invalid` for an
 * unknown option, an invalid or missing config, and a lockfile that cannot be trusted; nothing has been started then.
 */
export async function openFromConfig(options: OpenFromConfigOptions = {}): Promise<OpenedRegistry> {
  checkOptions(options)
  const { env = process.env, locked, onEvent } = options
  const found = options.found ?? (await findConfig(findOptions(options)))
  const registry = new ToolRegistry({
    ...found.config.tools,
    searcher: toSearcher(found.config.searcher ?? 'hybrid'),
    ...options.registry,
  })
  const cache = await openCache(options, found)
  const servers = connectServers(registry, wantedServers(found, options), {
    ...options.connect,
    env,
    ...(locked === false ? {} : { lockfile: found.lockfile }),
    ...(cache ? { cache } : {}),
    ...(onEvent ? { onEvent } : {}),
  })
  const reload = async (next: FoundConfig) => {
    // The lock first: nothing that it refuses may start in between.
    if (locked !== false) await servers.relock(next.lockfile)
    await servers.reload(wantedServers(next, options))
  }
  return { ...found, registry, servers, reload, close: () => servers.close() }
}

const OPEN_KEYS: Record<keyof OpenFromConfigOptions, true> = {
  ...FIND_KEYS,
  found: true,
  servers: true,
  remembered: true,
  timeoutMs: true,
  registry: true,
  cache: true,
  onEvent: true,
  connect: true,
}

function checkOptions(options: OpenFromConfigOptions): void {
  checkOptionKeys(options, 'openFromConfig()', Object.keys(OPEN_KEYS))
  const { timeoutMs } = options
  if (timeoutMs === undefined || (timeoutMs > 0 && timeoutMs <= MAX_MILLISECONDS)) return
  const expected = `a number of milliseconds, more than 0 and at most ${MAX_MILLISECONDS}`
  throw new ToolcribError(
    'config-invalid',
    `timeoutMs is ${JSON.stringify(timeoutMs)}; it must be ${expected}`,
  )
}

function findOptions(options: OpenFromConfigOptions): FindOptions {
  return Object.fromEntries(Object.entries(options).filter(([key]) => Object.hasOwn(FIND_KEYS, key)))
}

function toSearcher(name: SearcherChoice): NonNullable<RegistryOptions['searcher']> {
  return name === 'hybrid' ? hybrid({ embedder: staticEmbedder() }) : name
}

async function openCache(
  { cache, env = process.env, remembered = true }: OpenFromConfigOptions,
  { config }: FoundConfig,
): Promise<CatalogueCache | undefined> {
  if (cache === false) return undefined
  if (cache === undefined)
    return openUserCache(env, { isRead: remembered, files: config.files, now: Date.now() })
  return remembered ? cache : { ...cache, load: async () => undefined }
}

/** The servers to connect, with the options applied, and run exactly as they were approved. */
function wantedServers(
  found: FoundConfig,
  { servers: isWanted = () => true, timeoutMs, remembered, locked }: OpenFromConfigOptions,
): { readonly servers: Readonly<Record<string, ServerConfig>> } {
  const wanted = Object.entries(found.config.servers).filter(([name]) => isWanted(name, found))
  const adjusted = wanted.map(([name, server]): [string, ServerConfig] => {
    const runs = locked === false ? undefined : found.lockfile?.servers.get(name)?.runs
    return [
      name,
      {
        ...(runs === undefined ? server : pinTo(server, runs)),
        ...(timeoutMs === undefined ? {} : { connectTimeoutMs: timeoutMs, timeoutMs }),
        ...(remembered === true ? { start: 'on-demand' } : {}),
      },
    ]
  })
  return { servers: Object.fromEntries(adjusted) }
}

/**
 * What the servers of an opened registry are now, for `lockServers()`, `compareWithLock()` and `approveChanges()`: their
 * config, what they list (undefined for those that did not answer), and the package or image they run.
 */
export async function observeServers(
  { config, servers }: Pick<OpenedRegistry, 'config' | 'servers'>,
  { cwd = process.cwd(), env = process.env }: Pick<FindOptions, 'cwd' | 'env'> = {},
): Promise<Map<string, ObservedServer>> {
  const observed = Object.entries(config.servers).map(async ([name, server]) => {
    const tools = servers.tools(name)
    // What ran is only known of a server that was started.
    const runs = tools === undefined ? undefined : await whatRuns(server, { cwd, env })
    return [name, { config: server, tools, ...(runs === undefined ? {} : { runs }) }] as const
  })
  return new Map(await Promise.all(observed))
}
