import pc from 'picocolors'
import { ToolcribError } from 'toolcrib'
import {
  compareWithLock,
  type Finding,
  type LockChange,
  type LockedServer,
  type Lockfile,
  type LockLayer,
  literalSecrets,
  lockServers,
  type ObservedServer,
  writeLockfile,
} from 'toolcrib/mcp'
import type { ServerFlags } from '../flags.ts'
import { type Observation, observeServers } from '../observe-servers.ts'
import { findConfigAndDamage } from '../open-registry.ts'
import { showChanges, showFinding, withDigests } from '../show-changes.ts'
import { note, plain, plural, printJson, say } from '../terminal.ts'

/** `toolcrib lock`: approves the servers of the config that counts most, as they are now. */
export async function runLock(flags: ServerFlags): Promise<void> {
  const found = await findConfigAndDamage(flags)
  const layer = found.locks.findLast(({ servers }) => servers.size > 0)
  const observation = await observeServers(flags, (server) => layer?.servers.has(server) === true, found)
  const observed = new Map([...observation.observed].filter(([server]) => layer?.servers.has(server)))
  const { failed, findings } = observation
  requireAnswers(observed.size, failed, layer?.path ?? found.lockPath)
  if (!layer) return
  const { kept, inUse } = approvedBefore(layer)
  const locked = keepUnreachable(lockServers(observed, inUse), inUse, failed)
  const changes = inUse ? compareWithLock(inUse, observed) : []
  await writeLockfile(layer.path, { servers: new Map([...kept, ...locked.servers]) })
  const outcome: Outcome = {
    lockfile: layer.path,
    servers: locked.servers.size,
    tools: [...locked.servers.values()].reduce((sum, server) => sum + server.tools.size, 0),
    changes,
    findings,
    literals: literalsOf(observed),
    others: [...observation.observed.keys()].filter((server) => !layer.servers.has(server)),
    failed: failed.map((failure) => ({ ...failure, kept: locked.servers.has(failure.server) })),
    replaced: layer.damage !== undefined,
  }
  if (flags.json) printJson({ ...outcome, changes: withDigests(changes) })
  else show(outcome)
  process.exitCode = failed.length > 0 ? 1 : 0
}

/** What was approved of servers that are in use, and of those that are disabled, which stays as it is. */
function approvedBefore({ lockfile, resting }: LockLayer): {
  readonly kept: ReadonlyMap<string, LockedServer>
  readonly inUse: Lockfile | undefined
} {
  const servers = [...(lockfile?.servers ?? [])]
  return {
    kept: new Map(servers.filter(([name]) => resting.has(name))),
    inUse: lockfile && { servers: new Map(servers.filter(([name]) => !resting.has(name))) },
  }
}

function literalsOf(observed: ReadonlyMap<string, ObservedServer>): Outcome['literals'] {
  return [...observed]
    .map(([server, { config }]) => ({ server, places: literalSecrets(config) }))
    .filter(({ places }) => places.length > 0)
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
  /** What the scanner says of what was locked. */
  readonly findings: readonly Finding[]
  /** Where the config holds what looks like a secret and is no variable. */
  readonly literals: readonly { readonly server: string; readonly places: readonly string[] }[]
  /** Servers of other config files, which have lockfiles of their own. */
  readonly others: readonly string[]
  /** Servers that could not be asked; `kept` says whether an earlier approval of theirs stays. */
  readonly failed: readonly { readonly server: string; readonly reason: string; readonly kept: boolean }[]
  /** True when a damaged lockfile was written anew. */
  readonly replaced: boolean
}

function show(outcome: Outcome): void {
  const { lockfile, servers, tools, changes, findings, literals, others, failed, replaced } = outcome
  if (replaced) note(`${pc.yellow('note')} ${lockfile} was damaged, and is written anew: review all of it`)
  showChanges(changes)
  if (findings.length > 0) say('worth a look, before others go by what is locked:')
  for (const finding of findings) showFinding(finding)
  say(`${pc.green('locked')} ${plural(servers, 'server')}, ${plural(tools, 'tool')} in ${lockfile}`)
  for (const { server, places } of literals)
    note(
      `${pc.yellow('note')} ${server}: ${places.map(plain).join(', ')} looks like a secret: better as \${VARIABLE}`,
    )
  if (others.length > 0)
    note(
      `${pc.yellow('note')} not locked: ${others.join(', ')}, of another config file; lock these with --config and that file`,
    )
  for (const { server, reason, kept } of failed) {
    const outcome = kept ? 'its old approval stays' : 'it is not in the lockfile'
    note(`${pc.red('failed')} ${server}: ${plain(reason)}; ${outcome}`)
  }
}
