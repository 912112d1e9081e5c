import { join } from 'node:path'
import type { RegistryOptions, ServerStatus, Store } from '@toolcrib/core'
import { hybrid, ToolcribError, ToolRegistry } from '@toolcrib/core'
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
} from '@toolcrib/core/internal'
import { staticEmbedder } from '@toolcrib/embedder'
import type { Environment, ServerConfig } from './config/server-config.ts'
import type { SearcherChoice } from './config/tools-config.ts'
import { cacheDirectory } from './config/user-folders.ts'
import { CONNECT_RULES, type ConnectOptions, type McpEvent } from './connect-options.ts'
import { connectServers } from './connect-servers.ts'
import type { ConnectedServers } from './connected-servers.ts'
import { FIND_RULES, type FindOptions, type FoundConfig, findConfig } from './find-config.ts'
import type { ObservedServer } from './lock/lockfile.ts'
import { whatRuns } from './lock/what-runs.ts'
import { type ApiStatus, ConfiguredApis } from './openapi/open-apis.ts'
import { ConfiguredSkills, type SkippedSkill } from './skills/open-skills.ts'
import { fileStore } from './stores/file-store.ts'
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
  /** Resolves with the configured skills that cannot be used; those of the last `reload()`. Never rejects. */
  skippedSkills(): Promise<readonly SkippedSkill[]>
  /** Resolves once the documents of the configured APIs were read; those of the last `reload()`. Never rejects. */
  apis(): Promise<readonly ApiStatus[]>
  /**
   * Applies a config that `findConfig()` returned later, with its lockfiles: changed servers restart, the others keep
   * running. The registry's own options do not change.
   */
  reload(found: FoundConfig): Promise<void>
  /**
   * Ends a server's process, and starts it again. Resolves once it is ready or has failed. Throws `config-invalid` for an
   * unknown server.
   */
  restart(server: string): Promise<ServerStatus>
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
  const shelves = new ConfiguredSkills(registry)
  let skills = shelves.open(found.config.skills?.paths)
  // Sessions show what there is when they are opened. Nothing is awaited once servers connect, so that no event is missed.
  await skills
  const store = options.store ?? userStore(env)
  let wanted = wantedServers(found, options)
  const servers = connectServers(registry, wanted, {
    ...options.connect,
    env,
    ...(locked === false ? {} : { lockfile: found.lockfile }),
    ...(store ? { store } : {}),
    ...(remembered === undefined ? {} : { remembered }),
    ...(onEvent ? { onEvent } : {}),
  })
  const configured = new ConfiguredApis(registry)
  let apis = configured.open(found.config.openapi, found.config)
  const reload = async (next: FoundConfig) => {
    apis = configured.open(next.config.openapi, next.config)
    skills = shelves.open(next.config.skills?.paths)
    const before = Object.entries(wanted.servers)
    wanted = wantedServers(next, options)
    // The next lockfile does not have a server that was disabled, so such a server ends first: it is no intruder.
    const kept = before.filter(([name]) => Object.hasOwn(wanted.servers, name))
    if (kept.length < before.length) await servers.reload({ servers: Object.fromEntries(kept) })
    // Apply the lock first, so that nothing it rejects can start in between.
    if (locked !== false) await servers.relock(next.lockfile)
    await Promise.all([servers.reload(wanted), apis, skills])
  }
  const restart = async (server: string) => {
    const { [server]: own, ...others } = wanted.servers
    if (own === undefined) throw new ToolcribError('config-invalid', `the config has no server "${server}"`)
    await servers.reload({ servers: others })
    await servers.reload(wanted)
    // On-demand servers start only now.
    await servers.client(server).catch(() => {})
    const status = servers.status().find((each) => each.server === server)
    if (status) return status
    throw new ToolcribError('config-invalid', `the server "${server}" was removed meanwhile`)
  }
  const close = async () => {
    await servers.close()
    if (store && store !== options.store) await store.close()
    await configured.open()
    await past?.close()
  }
  return {
    ...found,
    registry,
    servers,
    apis: () => apis,
    skippedSkills: () => skills,
    reload,
    restart,
    close,
  }
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
 * `approveChanges()`: their config, their tools (undefined for servers that did not respond), their instructions,
 * prompts, resources and templates (those that are known, or that a running server lists), the package or image that they run, a program that changed, and why they were not started.
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
    const items = tools === undefined ? undefined : await servers.items(name)
    const runs = tools === undefined ? undefined : await whatRuns(server, { cwd, env })
    const failure = servers.failure(name)
    const program = lockfile?.moved?.get(name)
    return [
      name,
      {
        config: server,
        tools,
        ...(items === undefined ? {} : { items }),
        ...(runs === undefined ? {} : { runs }),
        ...(program === undefined ? {} : { program }),
        ...(failure === undefined ? {} : { failure }),
      },
    ] as const
  })
  return new Map(await Promise.all(observed))
}
