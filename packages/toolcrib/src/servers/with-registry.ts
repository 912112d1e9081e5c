import { type ServerStatus, ToolcribError, type ToolRegistry } from '@toolcrib/core'
import {
  type ApiStatus,
  type FindOptions,
  type FoundConfig,
  findConfig,
  type McpEvent,
  type OpenedRegistry,
  type OpenFromConfigOptions,
  openFromConfig,
  type ServerConfig,
  type SkippedSkill,
} from '@toolcrib/mcp'
import { gatewayConnections } from '../gateway/gateway-connections.ts'
import { RunningGateway } from '../gateway/running-gateway.ts'
import type { RefreshFlags, RegistryFlags, ServerFlags } from '../terminal/flags.ts'
import { orAborted, untilSignal } from '../terminal/interrupt.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plainLines, shellWord } from '../terminal/text.ts'
import { WaitLine } from '../terminal/wait-line.ts'
import { enoughServers } from './enough-servers.ts'

type OpenFlags = ServerFlags & RegistryFlags

export interface UseOptions
  extends Pick<
    OpenFromConfigOptions,
    'found' | 'servers' | 'locked' | 'remembered' | 'registry' | 'onEvent'
  > {
  /**
   * Whether the command can do its work with the tools available so far. Servers that are still connecting then get a
   * few more seconds; otherwise, and with `--timeout`, they get their full time.
   */
  readonly isEnough?: (registry: ToolRegistry) => boolean
  /** How long these servers get then. Default: five seconds. */
  readonly lingerMs?: number
  /** How long servers get in any case, unless `--timeout` says so. Default: `connect_timeout_ms` of the slowest, at least 30 s. */
  readonly waitMs?: number
  /** true: servers are started by the command, even while a gateway of the same config is running. */
  readonly isAlone?: boolean
}

/** A registry whose servers have connected or failed. */
export interface ReadyRegistry extends OpenedRegistry {
  readonly statuses: readonly ServerStatus[]
  /** The APIs of the config. */
  readonly apiStatuses: readonly ApiStatus[]
  /** How long servers have had to connect. */
  readonly waitedMs: number
  readonly events: readonly McpEvent[]
  /** Aborted when the user stops the command. */
  readonly signal: AbortSignal
}

/** Finds config and lockfiles according to the flags. With `--locked`, a missing lockfile is `config-invalid`. */
export async function findWithFlags(
  { cwd, env }: Pick<Terminal, 'cwd' | 'env'>,
  flags: OpenFlags,
  options: Pick<FindOptions, 'lenient' | 'optional'> = {},
): Promise<FoundConfig> {
  const { locked } = flags
  const find = findConfig({ ...findOptionsOf({ cwd, env }, flags), ...options })
  const found = await find.catch(async (error) => {
    throw (await gatewayElsewhere({ cwd, env }, flags)) ?? error
  })
  const missing = locked && !options.lenient ? missingLockfile(found) : undefined
  if (missing !== undefined) throw new ToolcribError('config-invalid', missing)
  return found
}

/** The error if there is no config, but gateways of other configs are running; otherwise undefined. */
async function gatewayElsewhere(
  { cwd, env }: Pick<Terminal, 'cwd' | 'env'>,
  { config: path }: OpenFlags,
): Promise<ToolcribError | undefined> {
  if (path !== undefined) return undefined
  const here = await findConfig({ cwd, env, optional: true }).catch(() => undefined)
  if (here === undefined || here.config.files.length > 0) return undefined
  const gateways = await RunningGateway.all(env)
  const configs = gateways.flatMap(({ report: { files } }) => (files.length === 1 ? files : []))
  const [config, ...others] = new Set(configs)
  if (config === undefined) return undefined
  const message =
    others.length === 0
      ? `a gateway of ${config} is running; add --config ${shellWord(config)}`
      : `gateways are running; add --config with one of ${[config, ...others].join(', ')}`
  return new ToolcribError('config-invalid', `no config found here, but ${message}`)
}

/** Where config and lockfiles are, according to the flags. */
export function findOptionsOf({ cwd, env }: Pick<Terminal, 'cwd' | 'env'>, flags: OpenFlags): FindOptions {
  const { config: path, lockfile, locked, mode, defer } = flags
  return {
    cwd,
    env,
    overrides: {
      ...(mode ? { registryMode: mode } : {}),
      ...(defer ? { defer } : {}),
    },
    ...(path === undefined ? {} : { path }),
    ...(lockfile === undefined ? {} : { lockfilePath: lockfile }),
    ...(locked ? { locked } : {}),
  }
}

/** Servers without a lockfile, by its expected path. */
export function unlockedServers({ locks }: FoundConfig): { lockfile: string; servers: string[] }[] {
  return locks
    .filter(({ lockfile, damage, servers }) => !lockfile && !damage && servers.size > 0)
    .map(({ path, servers }) => ({ lockfile: path, servers: [...servers] }))
}

/** The error when a lockfile is required and a server has none; undefined when every server has one. */
export function missingLockfile(found: FoundConfig): string | undefined {
  const [unlocked] = unlockedServers(found)
  if (unlocked === undefined) return undefined
  const { lockfile, servers } = unlocked
  const step = 'review the servers, then write it with "toolcrib lock"'
  return `${lockfile} for ${servers.join(', ')} does not exist, but --locked or require_lock requires it; ${step}`
}

/** Whether any lockfile exists; `found.lockfile` may also name a required one that is missing. */
export function hasLockfile({ locks }: FoundConfig): boolean {
  return locks.some(({ lockfile }) => lockfile !== undefined)
}

/**
 * For commands that use cached tools and report on the servers that respond: a hanging server does not delay the
 * others. `--refresh` asks every server, and waits for all of them.
 */
export function remembering({ refresh = false }: RefreshFlags): Pick<UseOptions, 'remembered' | 'isEnough'> {
  return refresh ? {} : { remembered: true, isEnough: (registry) => registry.size > 0 }
}

/**
 * Connects the configured servers, calls `use` with them, and stops them in every case: an error, Ctrl-C, or a signal.
 * Servers of a running gateway are used there, and keep running. The cache is not used unless the options say so.
 * Servers see the gateway's capabilities, since some show more tools then, so that every command counts the same ones.
 * Their questions are refused.
 */
export async function withRegistry<Result>(
  terminal: Terminal,
  flags: OpenFlags,
  { isEnough = () => false, lingerMs, waitMs, isAlone = false, ...options }: UseOptions,
  use: (ready: ReadyRegistry) => Promise<Result>,
): Promise<Result> {
  const found = options.found ?? (await findWithFlags(terminal, flags))
  noteWarnings(terminal, found)
  const running = isAlone ? undefined : await RunningGateway.find(found, terminal.env)
  const { GATEWAY_CAPABILITIES: capabilities } = await import('@toolcrib/gateway')
  return untilSignal(terminal.signals, async (signal) => {
    const events: McpEvent[] = []
    const isPatient = flags.timeout !== undefined
    const canGoOn = () =>
      !isPatient &&
      opened !== undefined &&
      isEnough(opened.registry) &&
      // A download that is cut off begins again the next time.
      !opened.servers.status().some((status) => 'detail' in status)
    const enough = enoughServers(canGoOn, terminal.schedule, lingerMs)
    const limitMs = flags.timeout ?? waitMs ?? longestWait(found.config.servers, flags)
    const waiting = new WaitingLine(terminal, limitMs, isPatient)
    let opened: OpenedRegistry | undefined
    const startedAt = performance.now()
    try {
      opened = await openFromConfig({
        remembered: false,
        memory: true,
        ...options,
        found,
        env: terminal.env,
        // A person asked for the servers, so one that failed before is tried again.
        connect: {
          client: { capabilities },
          retryFailed: true,
          ...(running ? gatewayConnections(running, found) : {}),
        },
        ...(flags.timeout === undefined ? {} : { timeoutMs: flags.timeout }),
        // The command has already waited for the servers, so a search need not.
        registry: { serverWaitMs: 0, ...options.registry },
        onEvent: (event) => {
          events.push(event)
          enough.note(event)
          waiting.note(event)
          options.onEvent?.(event)
        },
      })
      enough.check()
      const timeoutMs = limitMs + GRACE_MS
      const { servers } = opened
      const ready = Promise.race([
        servers.ready({ timeoutMs, waitForDownloads: !isPatient }),
        enough.reached.then(() => servers.status()),
      ])
      const [statuses, apiStatuses] = await orAborted(Promise.all([ready, opened.apis()]), signal)
      noteApis(terminal, apiStatuses)
      noteSkills(terminal, await opened.skippedSkills())
      enough.stop()
      waiting.stop()
      const waitedMs = Math.min(limitMs, Math.round(performance.now() - startedAt))
      return await orAborted(use({ ...opened, statuses, apiStatuses, waitedMs, events, signal }), signal)
    } finally {
      enough.stop()
      waiting.stop()
      await opened?.close()
    }
  })
}

/** Prints warnings about config and lockfiles, such as a missing lockfile. */
export function noteWarnings(terminal: Terminal, { warnings }: FoundConfig): void {
  for (const warning of warnings) terminal.warn(`${plainLines(warning)}`)
}

/** Prints which APIs, or operations of theirs, are missing. */
export function noteApis(terminal: Pick<Terminal, 'warn'>, apis: readonly ApiStatus[]): void {
  for (const { api, failure } of apis)
    if (failure !== undefined) terminal.warn(plainLines(`the API "${api}": ${failure}`))
}

/** Prints which skills of the configured folders are missing. */
export function noteSkills(terminal: Pick<Terminal, 'warn'>, skipped: readonly SkippedSkill[]): void {
  for (const { path, reason } of skipped) terminal.warn(plainLines(`skills: ${path} is left out: ${reason}`))
}

const DEFAULT_TIMEOUT_MS = 30_000
/** Time for a slow server to report its own timeout. */
const GRACE_MS = 500

/** How long the slowest of the servers may take to start; those whose config does not say get `defaultMs`. */
export function longestWait(
  servers: Readonly<Record<string, ServerConfig>>,
  { timeout }: ServerFlags,
  defaultMs = DEFAULT_TIMEOUT_MS,
): number {
  const limits = Object.values(servers).map(({ connectTimeoutMs = 0 }) => connectTimeoutMs)
  return timeout ?? Math.max(defaultMs, ...limits)
}

/** Shows which servers are still connecting, and after a while also how to stop or shorten the wait. */
class WaitingLine {
  readonly #line: WaitLine
  readonly #about: string
  /** What each server is shown as. */
  readonly #connecting = new Map<string, string>()
  #isStopped = false

  constructor(terminal: Terminal, limitMs: number, isPatient: boolean) {
    const limit = limitMs < 1_000 ? `${limitMs} ms` : `${Math.round(limitMs / 1_000)} s`
    this.#about = `at most ${limit}; Ctrl-C stops it${isPatient ? '' : ', --timeout <ms> shortens it'}`
    this.#line = new WaitLine(terminal)
  }

  note(event: McpEvent): void {
    if (event.type !== 'server-state') return
    const { server, state, detail } = event
    if (state === 'connecting')
      this.#connecting.set(server, detail === undefined ? server : `${server} (${detail})`)
    else this.#connecting.delete(server)
    if (this.#isStopped) return
    if (this.#connecting.size === 0) this.#line.stop()
    else {
      const waiting = [...this.#connecting.values()].join(', ')
      const isLong = waiting.includes('(downloading')
      const about = isLong ? 'may take minutes; Ctrl-C stops it' : this.#about
      this.#line.show(`waiting for ${waiting}`, about)
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#line.stop()
  }
}
