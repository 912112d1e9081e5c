import { type RegistryOptions, type ServerStatus, ToolcribError, ToolRegistry } from 'toolcrib'
import {
  type Config,
  type ConnectedServers,
  connectServers,
  type Lockfile,
  type LockLayer,
  loadConfig,
  lockfilePath,
  lockInForce,
  lockPlaces,
  type McpEvent,
  readLocks,
  type ServerConfig,
} from 'toolcrib/mcp'
import { openCatalogueCache } from './catalogue-cache.ts'
import { type EnoughServers, enoughServers } from './enough-servers.ts'
import type { ModeFlags, RefreshFlags, ServerFlags } from './flags.ts'
import { orAborted, untilSignal } from './interrupt.ts'
import { progressLine } from './terminal.ts'

type OpenFlags = ServerFlags & ModeFlags

export interface OpenOptions {
  /** Which of the configured servers to connect; all, when absent. */
  readonly isWanted?: (server: string, found: FoundConfig) => boolean
  /** false: nothing is held back, for commands that look at what changed. */
  readonly isLocked?: boolean
  /** true: servers whose tools are remembered are not started. */
  readonly isRemembered?: boolean
  /**
   * Whether the command can do its work with what is there already. Servers that are still connecting are then waited
   * for a few seconds only; without it, and with `--timeout`, as long as they may take.
   */
  readonly isEnough?: (registry: ToolRegistry) => boolean
  /** Config and lockfile, when they have been read already. */
  readonly found?: FoundConfig
  /** How tools are ranked; the registry's own way, when absent. */
  readonly searcher?: RegistryOptions['searcher']
  readonly onEvent?: (event: McpEvent) => void
}

/** A config with the lockfiles that go with it. */
export interface FoundConfig {
  readonly config: Config
  /** One for each config file, that which counts most last. */
  readonly locks: readonly LockLayer[]
  /** All of them as the one that servers are held to. */
  readonly lockfile: Lockfile | undefined
  /** Where that lies, for people; of several, the one that counts most. */
  readonly lockPath: string
}

/** A registry with its servers connected, or told why not. */
export interface OpenedRegistry extends FoundConfig {
  readonly registry: ToolRegistry
  readonly servers: ConnectedServers
  readonly statuses: readonly ServerStatus[]
  /** How long each server took until it was ready or failed. */
  readonly connectMs: ReadonlyMap<string, number>
  readonly events: readonly McpEvent[]
  /** Aborted when the user wants the command to stop. */
  readonly signal: AbortSignal
}

const DEFAULT_TIMEOUT_MS = 30_000
/** A server that takes too long says so itself, if it is given the time. */
const GRACE_MS = 500

/** Finds and reads config and lockfiles. A lockfile that was asked for by name must be there. */
export async function findConfig(flags: OpenFlags): Promise<FoundConfig> {
  const found = await findFiles(flags)
  const lockfile = lockInForce(found.locks)
  if (lockfile === undefined) requireUnnamed(flags)
  return { ...found, lockfile }
}

/** The same for commands that can do without a lockfile that is damaged; `damage` says what is wrong with it. */
export async function findConfigAndDamage(flags: OpenFlags): Promise<FoundConfig & { damage?: string }> {
  const found = await findFiles(flags)
  const damaged = found.locks.find(({ damage }) => damage !== undefined)
  if (!damaged?.damage) return { ...found, lockfile: lockInForce(found.locks) }
  return { ...found, lockfile: undefined, lockPath: damaged.path, damage: damaged.damage.message }
}

/** Throws when a lockfile was named that is not there: to go on without it would hold servers to nothing. */
export function requireUnnamed({ lockfile }: Pick<ServerFlags, 'lockfile'>): void {
  if (lockfile === undefined) return
  const step = `write it with "toolcrib lock --lockfile ${lockfile}", or mend the path`
  throw new ToolcribError('config-invalid', `there is no lockfile ${lockfile}; ${step}`)
}

/** What mode flags say, as a config says it. */
export function overridesOf({ mode, defer }: ModeFlags): Readonly<Record<string, unknown>> {
  return { ...(mode ? { registryMode: mode } : {}), ...(defer ? { defer } : {}) }
}

/**
 * For commands that go by what is remembered, and by what is there: one server that hangs does not keep them from
 * telling of the others. `--refresh` wants them all asked, so all are waited for.
 */
export function remembering({
  refresh = false,
}: RefreshFlags): Pick<OpenOptions, 'isRemembered' | 'isEnough'> {
  return refresh ? {} : { isRemembered: true, isEnough: (registry) => registry.size > 0 }
}

/** Reads the config. None at all is `config-invalid`: there is nothing to work on. */
async function findFiles(flags: OpenFlags): Promise<Omit<FoundConfig, 'lockfile'>> {
  const cwd = process.cwd()
  const config = await readConfigFiles(cwd, flags)
  if (config.files.length === 0) {
    const looked = 'toolcrib.toml, .mcp.json and mcp.json here, and in your config folder'
    const step = 'write one, or take over what other programs use with "toolcrib import"'
    throw new ToolcribError('config-invalid', `no config was found (looked for ${looked}); ${step}`)
  }
  const path = flags.lockfile === undefined ? {} : { path: flags.lockfile }
  const locks = await readLocks(lockPlaces(config, { cwd, ...path }))
  const main = locks.findLast(({ lockfile }) => lockfile !== undefined) ?? locks.at(-1)
  return { config, locks, lockPath: main?.path ?? lockfilePath(config, cwd) }
}

async function readConfigFiles(cwd: string, flags: OpenFlags): Promise<Config> {
  const { config: path } = flags
  try {
    return await loadConfig({
      cwd,
      env: process.env,
      overrides: overridesOf(flags),
      // It is told as failed, beside those that work.
      onBadServer: ({ message }) => ({ problem: message }),
      ...(path ? { path } : {}),
    })
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error
    const step = 'mend the config, or pass another by --config'
    throw new ToolcribError(error.code, `${error.message}; ${step}`, { cause: error })
  }
}

/**
 * Connects the configured servers, hands them to `use`, and ends them whatever happens: an error, Ctrl-C, or a
 * signal to stop.
 */
export async function withRegistry<Result>(
  flags: OpenFlags,
  options: OpenOptions,
  use: (opened: OpenedRegistry) => Promise<Result>,
): Promise<Result> {
  const { isWanted = () => true, isLocked = true, isRemembered = false } = options
  const found = options.found ?? (await findConfig(flags))
  const wanted = Object.entries(found.config.servers).filter(([name]) => isWanted(name, found))
  const configs = wanted.map(([name, server]) => [name, withFlags(server, flags, isRemembered)] as const)
  const { files, tools } = found.config
  const cache = await openCatalogueCache(process.env, { isRead: isRemembered, files, now: Date.now() })
  const { searcher } = options
  // Whoever searches has waited for servers already.
  const registry = new ToolRegistry({
    ...tools,
    serverWaitMs: 0,
    ...(searcher === undefined ? {} : { searcher }),
  })
  return untilSignal(async (signal) => {
    const events: McpEvent[] = []
    const progress = progressLine()
    const { isEnough = () => false } = flags.timeout === undefined ? options : {}
    const enough = enoughServers(() => isEnough(registry))
    let isWaiting = false
    const showWaiting = () => {
      // The first events come before there is anything to ask for its status.
      if (!isWaiting) return
      const waiting = servers.status().filter(({ state }) => state === 'connecting')
      if (waiting.length === 0) progress.clear()
      else progress.show(`waiting for ${waiting.map(({ server }) => server).join(', ')} …`)
    }
    const servers = connectServers(
      registry,
      { servers: Object.fromEntries(configs) },
      {
        ...(isLocked ? { lockfile: found.lockfile } : {}),
        ...(cache ? { cache } : {}),
        onEvent: (event) => {
          events.push(event)
          enough.note(event)
          if (event.type === 'server-state') showWaiting()
          options.onEvent?.(event)
        },
      },
    )
    try {
      isWaiting = true
      showWaiting()
      const timeoutMs = patience(configs, flags)
      const statuses = await orAborted(readyOrEnough(servers, enough, timeoutMs), signal)
      enough.stop()
      isWaiting = false
      progress.clear()
      const connectMs = connectTimes(events)
      return await orAborted(
        use({ ...found, registry, servers, statuses, connectMs, events, signal }),
        signal,
      )
    } finally {
      isWaiting = false
      enough.stop()
      progress.clear()
      await servers.close()
    }
  })
}

/** `--timeout` goes before what the config says. Tools that are remembered are reason enough to start nothing. */
function withFlags(server: ServerConfig, { timeout }: ServerFlags, isRemembered: boolean): ServerConfig {
  return {
    ...server,
    ...(timeout === undefined ? {} : { connectTimeoutMs: timeout, timeoutMs: timeout }),
    ...(isRemembered ? { start: 'on-demand' } : {}),
  }
}

function readyOrEnough(
  servers: ConnectedServers,
  enough: EnoughServers,
  timeoutMs: number,
): Promise<readonly ServerStatus[]> {
  return Promise.race([servers.ready({ timeoutMs }), enough.reached.then(() => servers.status())])
}

function patience(configs: readonly (readonly [string, ServerConfig])[], { timeout }: ServerFlags): number {
  const longest = configs.map(([, { connectTimeoutMs = DEFAULT_TIMEOUT_MS }]) => connectTimeoutMs)
  return (timeout ?? Math.max(DEFAULT_TIMEOUT_MS, ...longest)) + GRACE_MS
}

function connectTimes(events: readonly McpEvent[]): Map<string, number> {
  const startedAt = new Map<string, number>()
  const times = new Map<string, number>()
  for (const event of events) {
    if (event.type !== 'server-state') continue
    const { server, state, at } = event
    if (state === 'connecting' && !startedAt.has(server)) startedAt.set(server, at)
    const start = startedAt.get(server)
    if ((state === 'ready' || state === 'failed') && start !== undefined && !times.has(server))
      times.set(server, at - start)
  }
  return times
}
