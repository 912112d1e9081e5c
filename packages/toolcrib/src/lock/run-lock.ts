import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ToolcribError } from '@toolcrib/core'
import {
  compareWithLock,
  type Finding,
  type FoundConfig,
  type LockChange,
  type LockedServer,
  type Lockfile,
  type LockLayer,
  literalSecrets,
  lockServers,
  type ObservedServer,
  writeLockfile,
} from '@toolcrib/mcp'
import pc from 'picocolors'
import { reloadGateways } from '../gateway/require-gateway.ts'
import { type AlikeServers, alikeServers } from '../servers/alike-servers.ts'
import { askServers, lockCommand, type Observation } from '../servers/ask-servers.ts'
import { mendServer } from '../servers/mend-server.ts'
import { showChanges, showFindings, withDigests } from '../servers/show-changes.ts'
import { findWithFlags } from '../servers/with-registry.ts'
import type { ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plain, plural } from '../terminal/text.ts'

/** Approves the servers of the config file with the highest precedence, as they are now. */
export async function runLock(terminal: Terminal, flags: ServerFlags): Promise<number> {
  const found = await findWithFlags(terminal, flags, { lenient: true })
  const layer = found.locks.findLast(({ servers }) => servers.size > 0)
  await requireWritable(layer?.path ?? found.lockPath)
  const mayStart = (server: string) => layer?.servers.has(server) === true
  const observation = await askServers(terminal, flags, found, mayStart)
  const observed = new Map([...observation.observed].filter(([server]) => layer?.servers.has(server)))
  const { failed, findings } = observation
  requireAnswers(observed.size, failed, layer?.path ?? found.lockPath)
  if (!layer) return 2
  const { kept, inUse } = approvedBefore(layer)
  const locked = keepUnreachable(lockServers(observed, inUse), inUse, failed)
  const changes = inUse ? compareWithLock(inUse, observed) : []
  await writeLockfile(layer.path, { servers: new Map([...kept, ...locked.servers]) })
  await reloadGateways(terminal, found)
  const outcome: Outcome = {
    lockfile: layer.path,
    servers: locked.servers.size,
    tools: [...locked.servers.values()].reduce((sum, server) => sum + server.tools.size, 0),
    changes,
    findings,
    alike: alikeServers(findings, observed),
    literals: literalsOf(observed),
    others: [...observation.observed.keys()].filter((server) => !layer.servers.has(server)),
    failed: failed.map((failure) => ({ ...failure, kept: locked.servers.has(failure.server) })),
    replaced: layer.damage !== undefined,
  }
  if (flags.json) terminal.printJson({ ...outcome, changes: withDigests(changes) })
  else show(terminal, outcome, found)
  return failed.length > 0 ? 1 : 0
}

/** Throws `config-invalid` for a path that cannot be a lockfile, before any server is started. */
async function requireWritable(path: string): Promise<void> {
  const there = await stat(path).catch(() => undefined)
  if (there === undefined || there.isFile()) return
  const step = there.isDirectory()
    ? `name a file in it, such as ${join(path, 'toolcrib.lock')}`
    : 'name a file'
  throw new ToolcribError('config-invalid', `${path} is not a file; ${step}`)
}

/** Earlier approvals: of servers in use, and of disabled servers, which are kept as they are. */
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

/** Throws when no server responded: an empty lockfile would block every server. */
function requireAnswers(configured: number, failed: Observation['failed'], lockPath: string): void {
  if (configured === 0)
    throw new ToolcribError(
      'config-invalid',
      'no servers are configured, so there is nothing to lock; add one, or run "toolcrib import"',
    )
  if (failed.length < configured) return
  const reasons = failed.map(({ server, reason }) => `${server}: ${plain(reason)}`)
  const step = 'find out why with "toolcrib doctor", then lock again'
  throw new ToolcribError(
    'source-unavailable',
    [`no server responded, so nothing was written to ${lockPath}; ${step}`, ...reasons].join('\n'),
  )
}

/** A server that cannot be asked keeps its earlier approval. */
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
  /** The scanner's findings in what was locked. */
  readonly findings: readonly Finding[]
  readonly alike: readonly AlikeServers[]
  /** Where the config contains a literal that looks like a secret. */
  readonly literals: readonly { readonly server: string; readonly places: readonly string[] }[]
  /** Servers of other config files, which have their own lockfiles. */
  readonly others: readonly string[]
  /** Servers that could not be asked; `kept`: an earlier approval is kept. */
  readonly failed: readonly { readonly server: string; readonly reason: string; readonly kept: boolean }[]
  /** True when a damaged lockfile was replaced. */
  readonly replaced: boolean
}

function show(terminal: Terminal, outcome: Outcome, found: FoundConfig): void {
  const { lockfile, servers, tools, changes, findings, alike, literals, others, failed, replaced } = outcome
  if (replaced) terminal.warn(`${lockfile} was damaged and has been replaced: review all of it`)
  showChanges(terminal, changes)
  if (findings.length > 0) terminal.say('review these before you commit the lockfile:')
  showFindings(terminal, findings, alike)
  terminal.say(`${pc.green('locked')} ${plural(servers, 'server')}, ${plural(tools, 'tool')} in ${lockfile}`)
  for (const { server, places } of literals)
    terminal.warn(
      `${server}: ${places.map(plain).join(', ')} looks like a secret: use a \${VARIABLE} instead`,
    )
  if (others.length > 0)
    terminal.warn(
      `not locked: ${others.join(', ')} of another config file; lock these with ${lockCommand(found, others)}`,
    )
  for (const { server, reason, kept } of failed) {
    const outcome = kept ? 'its earlier approval is kept' : 'it is not in the lockfile'
    const { fault } = mendServer(server, reason, found.config.servers[server])
    terminal.note(`${pc.red('failed')} ${server}: ${fault}; ${outcome}`)
  }
  if (failed.some(({ kept }) => !kept))
    terminal.note(
      'what is not in the lockfile is not started: fix what "toolcrib doctor" reports, then run "toolcrib approve <server>"',
    )
}
