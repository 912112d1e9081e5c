import pc from 'picocolors'
import { ToolcribError } from 'toolcrib'
import {
  compareWithLock,
  type Finding,
  type LockChange,
  type Lockfile,
  type ObservedServer,
} from 'toolcrib/mcp'
import type { ServerFlags } from './flags.ts'
import { type FoundConfig, findConfig, withRegistry } from './open-registry.ts'
import { note } from './terminal.ts'

/** What the configured servers are now, and what became of those that could not be asked. */
export interface Observation extends FoundConfig {
  readonly observed: ReadonlyMap<string, ObservedServer>
  readonly failed: readonly { readonly server: string; readonly reason: string }[]
  /** What the scanner says of what they list. */
  readonly findings: readonly Finding[]
}

/**
 * Asks servers for what they list, held to nothing. Those that `mayStart` refuses are observed by their config
 * alone: a command that nobody approved is not run just to look at it.
 */
export async function observeServers(
  flags: ServerFlags,
  mayStart: (server: string, found: FoundConfig) => boolean,
  found?: FoundConfig,
): Promise<Observation> {
  const options = { isWanted: mayStart, isLocked: false, ...(found ? { found } : {}) }
  return withRegistry(flags, options, async (opened) => {
    const { config, servers, statuses } = opened
    const observed = new Map(
      Object.entries(config.servers).map(([name, server]): [string, ObservedServer] => [
        name,
        { config: server, tools: servers.tools(name) },
      ]),
    )
    const failed = statuses
      .filter(({ server }) => servers.tools(server) === undefined)
      .map((status) => ({
        server: status.server,
        reason:
          status.state === 'failed'
            ? status.reason
            : 'it did not answer in time; give it more with --timeout',
      }))
    const { locks, lockPath, lockfile } = opened
    return { config, locks, lockPath, lockfile, observed, failed, findings: servers.findings() }
  })
}

/** Servers that are new or whose command changed, told by config and lockfile alone. */
export function unapprovedServers({ config, lockfile }: FoundConfig): Map<string, LockChange> {
  const commands = new Map(Object.entries(config.servers).map(([name, server]) => [name, { config: server }]))
  const changes = compareWithLock(lockfile ?? { servers: new Map() }, commands)
  return new Map(changes.map((change) => [change.server, change]))
}

/** Servers that no lockfile holds, by the path where theirs would lie. */
export function unlockedServers({ locks }: FoundConfig): { lockfile: string; servers: string[] }[] {
  return locks
    .filter(({ lockfile, servers }) => lockfile === undefined && servers.size > 0)
    .map(({ path, servers }) => ({ lockfile: path, servers: [...servers] }))
}

/** Says so to people: servers that nothing holds should not pass for approved. */
export function noteUnlocked(found: FoundConfig): void {
  for (const { lockfile, servers } of unlockedServers(found)) {
    const step = `there is no ${lockfile}; "toolcrib lock --config" with the config beside it writes it`
    note(`${pc.yellow('note')} held to nothing: ${servers.join(', ')} (${step})`)
  }
}

/** The lockfile, for commands that make no sense without one. */
export async function requireLockfile(flags: ServerFlags): Promise<FoundConfig & { lockfile: Lockfile }> {
  const { lockfile, ...found } = await findConfig(flags)
  if (lockfile) return { ...found, lockfile }
  throw new ToolcribError('config-invalid', `there is no ${found.lockPath}; write one with "toolcrib lock"`)
}
