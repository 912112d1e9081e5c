import { ToolcribError, type ToolRegistry } from '@toolcrib/core'
import {
  compareWithLock,
  type Finding,
  type FoundConfig,
  type LockChange,
  type Lockfile,
  type ObservedServer,
  observeServers,
} from '@toolcrib/mcp'
import type { ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { shellWord } from '../terminal/text.ts'
import { findWithFlags, hasLockfile, unlockedServers, withRegistry } from './with-registry.ts'

/** What the configured servers list now, and why some could not be asked. */
export interface Observation {
  readonly observed: ReadonlyMap<string, ObservedServer>
  readonly failed: readonly { readonly server: string; readonly reason: string }[]
  /** The scanner's findings in what they list. */
  readonly findings: readonly Finding[]
}

/**
 * Asks servers what they list, without quarantine. Servers that `mayStart` rejects are observed only by their config: an
 * unapproved command is not run just to look at it.
 */
export async function askServers(
  terminal: Terminal,
  flags: ServerFlags,
  found: FoundConfig,
  mayStart: (server: string) => boolean,
): Promise<Observation> {
  const options = {
    found,
    servers: mayStart,
    locked: false,
    isAlone: true,
    // Once the others are ready, a hanging server is not worth half a minute.
    isEnough: (registry: ToolRegistry) => registry.size > 0,
    lingerMs: LINGER_MS,
  }
  return withRegistry(terminal, flags, options, async (ready) => {
    const { servers, statuses, waitedMs } = ready
    const observed = await observeServers(ready, terminal)
    const failed = statuses
      .filter(({ server }) => servers.tools(server) === undefined)
      .map((status) => ({
        server: status.server,
        reason: status.state === 'failed' ? status.reason : `it did not connect within ${waitedMs} ms`,
      }))
    return { observed, failed, findings: servers.findings() }
  })
}

const LINGER_MS = 10_000

/** New servers and those whose command changed, according to config and lockfile. */
export function unapprovedServers({ config, lockfile }: FoundConfig): Map<string, LockChange> {
  const commands = new Map(Object.entries(config.servers).map(([name, server]) => [name, { config: server }]))
  const changes = compareWithLock(lockfile ?? { servers: new Map() }, commands)
  return new Map(changes.map((change) => [change.server, change]))
}

/** Lists the servers without a lockfile, so that they are not mistaken for approved ones. */
export function noteUnlocked(terminal: Terminal, found: FoundConfig): void {
  for (const { lockfile, servers } of unlockedServers(found)) {
    const step = `${lockfile} does not exist; write it with ${lockCommand(found, servers)}`
    terminal.warn(`without a lockfile: ${servers.join(', ')} (${step})`)
  }
}

/** Servers whose approval covers only their tools, since it is older than lockfiles that cover more. */
export function toolsOnlyServers({ lockfile, config }: Pick<FoundConfig, 'lockfile' | 'config'>): string[] {
  const locked = [...(lockfile?.servers ?? [])].filter(([name]) => Object.hasOwn(config.servers, name))
  return locked.filter(([, { items }]) => items === undefined).map(([name]) => name)
}

export function describeToolsOnly(servers: readonly string[]): string {
  const step = 'cover these with "toolcrib lock", or "toolcrib approve <server>"'
  return `only tools are covered of ${servers.join(', ')}; instructions, prompts and resources may change unnoticed: ${step}`
}

/** The command that locks servers, with the config file that defines them. */
export function lockCommand({ config }: FoundConfig, servers: readonly string[]): string {
  const file = config.layers?.findLast((layer) => servers.some((name) => layer.servers.includes(name)))?.file
  return file === undefined ? '"toolcrib lock"' : `"toolcrib lock --config ${shellWord(file)}"`
}

/** Returns config and lockfile, for commands that compare with one. Throws `config-invalid` if there is none. */
export async function requireLockfile(
  terminal: Terminal,
  flags: ServerFlags,
): Promise<FoundConfig & { readonly lockfile: Lockfile }> {
  const { lockfile, ...found } = await findWithFlags(terminal, flags)
  if (lockfile && hasLockfile({ ...found, lockfile })) return { ...found, lockfile }
  throw new ToolcribError('config-invalid', `${found.lockPath} does not exist; write it with "toolcrib lock"`)
}
