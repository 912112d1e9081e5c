import pc from 'picocolors'
import { ToolcribError } from 'toolcrib'
import { compareWithLock, type LockChange, type Lockfile, lockServers, writeLockfile } from 'toolcrib/mcp'
import type { ServerFlags } from './commands/flags.ts'
import { type Observation, observeServers } from './observe-servers.ts'
import { findConfigAndDamage } from './open-registry.ts'
import { showChanges } from './show-changes.ts'
import { note, plain, plural, printJson, say } from './terminal.ts'

/** `toolcrib lock`: approves the servers as they are now. */
export async function runLock(flags: ServerFlags): Promise<void> {
  const { damage, ...found } = await findConfigAndDamage(flags)
  const { lockPath, lockfile: before } = found
  const { observed, failed } = await observeServers(flags, () => true, found)
  requireAnswers(observed.size, failed, lockPath)
  const lockfile = keepUnreachable(lockServers(observed, before), before, failed)
  const changes = before ? compareWithLock(before, observed) : []
  await writeLockfile(lockPath, lockfile)
  const outcome = {
    lockfile: lockPath,
    servers: lockfile.servers.size,
    tools: [...lockfile.servers.values()].reduce((sum, server) => sum + server.tools.size, 0),
    changes,
    failed: failed.map((failure) => ({ ...failure, kept: lockfile.servers.has(failure.server) })),
    replaced: damage !== undefined,
  }
  if (flags.json) printJson(outcome)
  else show(outcome)
  process.exitCode = failed.length > 0 ? 1 : 0
}

/** An empty lockfile would hold back every server, and one that was there is worth more. */
function requireAnswers(configured: number, failed: Observation['failed'], lockPath: string): void {
  if (configured === 0)
    throw new ToolcribError(
      'config-invalid',
      'no servers are configured, so there is nothing to lock; add one, or run "toolcrib import"',
    )
  if (failed.length < configured) return
  const reasons = failed.map(({ server, reason }) => `${server}: ${plain(reason)}`)
  const step = `mend them with "toolcrib doctor", then lock again`
  throw new ToolcribError(
    'source-unavailable',
    [`no server answered, so nothing is written to ${lockPath}; ${step}`, ...reasons].join('\n'),
  )
}

/** A server that cannot be asked today loses nothing that was approved before. */
function keepUnreachable(
  { servers }: Lockfile,
  before: Lockfile | undefined,
  failed: Observation['failed'],
): Lockfile {
  const kept = new Map(servers)
  for (const { server } of failed) {
    const locked = before?.servers.get(server)
    if (locked) kept.set(server, locked)
  }
  return { servers: kept }
}

interface Outcome {
  readonly lockfile: string
  readonly servers: number
  readonly tools: number
  readonly changes: readonly LockChange[]
  /** Servers that could not be asked; `kept` says whether an earlier approval of theirs stays. */
  readonly failed: readonly { readonly server: string; readonly reason: string; readonly kept: boolean }[]
  /** True when a damaged lockfile was written anew. */
  readonly replaced: boolean
}

function show({ lockfile, servers, tools, changes, failed, replaced }: Outcome): void {
  if (replaced) note(`${pc.yellow('note')} ${lockfile} was damaged, and is written anew: review all of it`)
  showChanges(changes)
  say(`${pc.green('locked')} ${plural(servers, 'server')}, ${plural(tools, 'tool')} in ${lockfile}`)
  for (const { server, reason, kept } of failed) {
    const outcome = kept ? 'its old approval stays' : 'it is not in the lockfile'
    note(`${pc.red('failed')} ${server}: ${plain(reason)}; ${outcome}`)
  }
}
