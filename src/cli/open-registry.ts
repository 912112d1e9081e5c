import { type Command, InvalidArgumentError } from 'commander'
import {
  exactTokenCounter,
  type ServerStatus,
  type TokenCounter,
  ToolcribError,
  ToolRegistry,
} from 'toolcrib'
import {
  type Config,
  type ConnectedServers,
  connectServers,
  type Lockfile,
  loadConfig,
  lockfilePath,
  type McpEvent,
  readLockfile,
} from 'toolcrib/mcp'
import { progressLine } from './terminal.ts'

/** Flags that every command over servers has. */
export interface ServerFlags {
  readonly config?: string
  readonly lockfile?: string
  readonly timeout: number
  readonly json?: boolean
}

export interface OpenOptions {
  /** Which of the configured servers to connect; all, when absent. */
  readonly isWanted?: (server: string, found: FoundConfig) => boolean
  /** false: nothing is held back, for commands that look at what changed. */
  readonly isLocked?: boolean
  /** Config and lockfile, when they have been read already. */
  readonly found?: FoundConfig
}

/** A config with the lockfile that goes with it. */
export interface FoundConfig {
  readonly config: Config
  readonly lockPath: string
  readonly lockfile: Lockfile | undefined
}

/** A registry with its servers connected, or told why not. */
export interface OpenedRegistry extends FoundConfig {
  readonly registry: ToolRegistry
  readonly servers: ConnectedServers
  readonly statuses: readonly ServerStatus[]
  /** How long each server took until it was ready or failed. */
  readonly connectMs: ReadonlyMap<string, number>
  readonly events: readonly McpEvent[]
  readonly countTokens: TokenCounter
}

const DEFAULT_TIMEOUT_MS = 30_000

/** Adds the flags that every command over servers has. */
export function withServerFlags(command: Command): Command {
  return command
    .option('--config <file>', 'read this config and no other')
    .option('--lockfile <file>', 'the lockfile (default: toolcrib.lock beside the config)')
    .option('--timeout <ms>', 'how long servers may take', toMilliseconds, DEFAULT_TIMEOUT_MS)
    .option('--json', 'print the result as JSON')
}

/** Finds and reads config and lockfile. */
export async function findConfig(flags: ServerFlags): Promise<FoundConfig> {
  const found = await findFiles(flags)
  return { ...found, lockfile: await readLockfile(found.lockPath) }
}

/** The same for commands that can do without a lockfile that is damaged; `damage` says what is wrong with it. */
export async function findConfigAndDamage(flags: ServerFlags): Promise<FoundConfig & { damage?: string }> {
  const found = await findFiles(flags)
  try {
    return { ...found, lockfile: await readLockfile(found.lockPath) }
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error
    return { ...found, lockfile: undefined, damage: error.message }
  }
}

/** Reads the config. None at all is `config-invalid`: there is nothing to work on. */
export async function findFiles(flags: ServerFlags): Promise<Omit<FoundConfig, 'lockfile'>> {
  const cwd = process.cwd()
  const config = await readConfigFiles(cwd, flags)
  if (config.files.length === 0) {
    const looked = 'toolcrib.toml, .mcp.json and mcp.json here, and in your config folder'
    const step = 'write one, or take over what other programs use with "toolcrib import"'
    throw new ToolcribError('config-invalid', `no config was found (looked for ${looked}); ${step}`)
  }
  return { config, lockPath: flags.lockfile ?? lockfilePath(config, cwd) }
}

async function readConfigFiles(cwd: string, { config: path }: ServerFlags): Promise<Config> {
  try {
    return await loadConfig({ cwd, env: process.env, ...(path ? { path } : {}) })
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
  flags: ServerFlags,
  options: OpenOptions,
  use: (opened: OpenedRegistry) => Promise<Result>,
): Promise<Result> {
  const { isWanted = () => true, isLocked = true } = options
  const found = options.found ?? (await findConfig(flags))
  const { config } = found
  const wanted = Object.entries(config.servers).filter(([name]) => isWanted(name, found))
  const countTokens = await exactTokenCounter()
  const registry = new ToolRegistry({ ...config.tools, countTokens })
  const events: McpEvent[] = []
  const progress = progressLine()
  const servers = connectServers(
    registry,
    { servers: Object.fromEntries(wanted) },
    {
      ...(isLocked ? { lockfile: found.lockfile } : {}),
      onEvent: (event) => {
        events.push(event)
        if (event.type === 'server-state') showWaiting()
      },
    },
  )
  const showWaiting = () => {
    const waiting = servers.status().filter(({ state }) => state === 'connecting')
    if (waiting.length === 0) progress.clear()
    else progress.show(`waiting for ${waiting.map(({ server }) => server).join(', ')} …`)
  }
  const stopListening = onSignal(async () => {
    progress.clear()
    await servers.close()
  })
  try {
    showWaiting()
    const statuses = await servers.ready({ timeoutMs: flags.timeout })
    progress.clear()
    return await use({
      ...found,
      registry,
      servers,
      statuses,
      connectMs: connectTimes(events),
      events,
      countTokens,
    })
  } finally {
    progress.clear()
    stopListening()
    await servers.close()
  }
}

/** Cleans up before a signal ends the process, once; a second signal ends it at once. */
export function onSignal(cleanUp: () => Promise<void>): () => void {
  const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const
  const handlers = Object.entries(codes).map(([signal, code]) => {
    const handler = () => {
      for (const stop of stops) stop()
      void cleanUp().finally(() => process.exit(code))
    }
    process.on(signal, handler)
    return () => process.off(signal, handler)
  })
  const stops: readonly (() => void)[] = handlers
  return () => {
    for (const stop of stops) stop()
  }
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

function toMilliseconds(value: string): number {
  const count = Number(value)
  if (Number.isFinite(count) && count > 0) return count
  throw new InvalidArgumentError('It must be a number of milliseconds, more than 0.')
}
