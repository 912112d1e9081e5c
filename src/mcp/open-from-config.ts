import { staticEmbedder } from '../embedders/static-embedder.ts'
import { ToolcribError } from '../errors.ts'
import type { RegistryOptions } from '../registry-options.ts'
import { hybrid } from '../search/hybrid.ts'
import { ToolRegistry } from '../tool-registry.ts'
import type { CatalogueCache } from './catalogue-cache.ts'
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
import type { ConnectOptions } from './connect-options.ts'
import { type ConnectedServers, connectServers } from './connect-servers.ts'
import type { McpEvent } from './mcp-event.ts'

/** How a registry is opened from a config. Everything has a default. */
export interface OpenFromConfigOptions extends FindOptions {
  /** A config that `findConfig()` returned, used in place of reading the files again. */
  readonly found?: FoundConfig
  /** Whether to connect a configured server; all of them, when absent. */
  readonly servers?: (name: string, found: FoundConfig) => boolean
  /** false: servers are held to nothing, for commands that inspect what changed. */
  readonly locked?: boolean
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
  const { env = process.env, locked = true, remembered } = options
  const found = options.found ?? (await findConfig(findOptions(options)))
  const { config, lockfile } = found
  const registry = new ToolRegistry({
    ...config.tools,
    searcher: toSearcher(config.searcher ?? 'hybrid'),
    ...options.registry,
  })
  const cache = await openCache(options, found)
  const { servers: isWanted = () => true, onEvent } = options
  const wanted = Object.entries(config.servers).filter(([name]) => isWanted(name, found))
  const servers = connectServers(
    registry,
    {
      servers: Object.fromEntries(
        wanted.map(([name, server]) => [name, adjust(server, options.timeoutMs, remembered)]),
      ),
    },
    {
      ...options.connect,
      env,
      ...(locked ? { lockfile } : {}),
      ...(cache ? { cache } : {}),
      ...(onEvent ? { onEvent } : {}),
    },
  )
  return { ...found, registry, servers, close: () => servers.close() }
}

const OPEN_KEYS: Record<keyof OpenFromConfigOptions, true> = {
  ...FIND_KEYS,
  found: true,
  servers: true,
  locked: true,
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

function adjust(
  server: ServerConfig,
  timeoutMs: number | undefined,
  remembered: boolean | undefined,
): ServerConfig {
  return {
    ...server,
    ...(timeoutMs === undefined ? {} : { connectTimeoutMs: timeoutMs, timeoutMs }),
    ...(remembered === true ? { start: 'on-demand' } : {}),
  }
}
