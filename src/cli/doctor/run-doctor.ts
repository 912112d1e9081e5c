import { ToolcribError, type ToolRegistry } from 'toolcrib'
import {
  compareWithLock,
  type Finding,
  type FoundConfig,
  findProgram,
  type LockChange,
  type ObservedServer,
  observeServers,
  type ServerConfig,
} from 'toolcrib/mcp'
import { type AlikeServers, alikeServers } from '../alike-servers.ts'
import type { RegistryFlags, ServerFlags } from '../flags.ts'
import { mendServer } from '../mend-server.ts'
import type { Terminal } from '../terminal.ts'
import { plural, shellWord } from '../text.ts'
import { TokenCounts } from '../token-counts.ts'
import {
  findWithFlags,
  hasLockfile,
  longestWait,
  missingLockfile,
  type ReadyRegistry,
  withRegistry,
} from '../with-registry.ts'
import { type ServerMeasures, type ServerReport, serverReport } from './server-report.ts'
import { showReport } from './show-report.ts'

export interface DoctorFlags extends ServerFlags, RegistryFlags {}

/** Checks config, servers, definitions and lockfile, and prints what to do next. */
export async function runDoctor(terminal: Terminal, flags: DoctorFlags): Promise<number> {
  const present = (report: Report): number => {
    const nextSteps = report.nextSteps.map((step) => terminal.hinted(step))
    if (flags.json) terminal.printJson({ ...report, nextSteps })
    else showReport(terminal, report)
    return report.healthy ? 0 : 1
  }
  const found = await orProblem(findWithFlags(terminal, flags, { lenient: true }))
  if (typeof found === 'string') return present(withoutConfig(found))
  const lockProblem = withoutLock(found, flags)
  if (lockProblem) return present(lockProblem)
  const waitedMs = longestWait(found.config.servers, flags, CHECK_MS)
  // The report does not wait until a hanging server is stopped.
  return withRegistry(terminal, flags, { waitMs: waitedMs }, async (ready) =>
    present(await examine(terminal, ready, waitedMs)),
  )
}

/** A server that has not answered by then hangs, unless its `connect_timeout_ms` gives it more time. */
const CHECK_MS = 10_000

export interface Report {
  readonly healthy: boolean
  readonly files: readonly string[]
  readonly problem?: string
  readonly servers: readonly ServerReport[]
  readonly findings: readonly Finding[]
  /** Servers that have identical tools. */
  readonly alike?: readonly AlikeServers[]
  readonly lockfile: {
    readonly path?: string
    readonly state: 'none' | 'damaged' | 'unchanged' | 'changed'
    readonly changes: readonly LockChange[]
  }
  /** Warnings about config and lockfiles; also printed on stderr. */
  readonly warnings?: readonly string[]
  readonly nextSteps: readonly string[]
}

/** Returns the config, or the error message. */
function orProblem<Value>(found: Promise<Value>): Promise<Value | string> {
  return found.catch((error: unknown) => {
    if (error instanceof ToolcribError) return error.message
    throw error
  })
}

function withoutConfig(problem: string): Report {
  const lockfile = { state: 'none', changes: [] } as const
  const isThere = !problem.startsWith('no config found')
  const nextSteps = isThere
    ? ['correct the config where the problem above says']
    : [
        'copy the servers of your other programs with "toolcrib import --user"',
        'or add one with "toolcrib add <name> -- <command>"',
      ]
  return { healthy: false, files: [], problem, servers: [], findings: [], lockfile, nextSteps }
}

/**
 * The report for a lockfile that is damaged, or required and missing; otherwise undefined. It is unknown which commands
 * were approved, so none is run.
 */
function withoutLock(found: FoundConfig, { locked }: DoctorFlags): Report | undefined {
  const { config, locks, lockPath } = found
  const damage = locks.find((layer) => layer.damage !== undefined)?.damage
  const isRequired = locked || (config.requireLock === true && !hasLockfile(found))
  const problem = damage?.message ?? (isRequired ? missingLockfile(found) : undefined)
  if (problem === undefined) return undefined
  const servers = Object.keys(config.servers).map((server) => ({
    server,
    state: 'cold',
    reason: 'not started: whether it was approved is unknown',
    tools: 0,
    tokens: 0,
    warnings: [],
  }))
  return {
    healthy: false,
    files: config.files,
    problem,
    servers,
    findings: [],
    lockfile: { path: lockPath, state: damage ? 'damaged' : 'none', changes: [] },
    nextSteps: [
      damage
        ? 'restore the lockfile, or review the servers and write it again with "toolcrib lock"'
        : 'review the servers, then approve them with "toolcrib lock"',
    ],
  }
}

async function examine(terminal: Terminal, ready: ReadyRegistry, waitedMs: number): Promise<Report> {
  const startFaults = await startFaultsOf(ready, terminal)
  const observed = await observeServers(ready, terminal)
  const changes = hasLockfile(ready) && ready.lockfile ? compareWithLock(ready.lockfile, observed) : []
  const tokens = await tokensByServer(ready.registry, new TokenCounts(terminal))
  return diagnose(ready, { tokens, startFaults, observed, changes, waitedMs })
}

/** Why servers that were not started for lack of approval could not start anyway, by server. */
async function startFaultsOf(
  { config, lockfile }: ReadyRegistry,
  { env, cwd }: Terminal,
): Promise<ReadonlyMap<string, string>> {
  const observed = Object.entries(config.servers).map(([name, server]) => [name, { config: server }] as const)
  const unapproved = new Set(
    lockfile ? compareWithLock(lockfile, new Map(observed)).map(({ server }) => server) : [],
  )
  const faults = new Map<string, string>()
  for (const [name, server] of Object.entries(config.servers)) {
    const fault = unapproved.has(name) ? await startFault(server, { env, cwd }) : undefined
    if (fault !== undefined) faults.set(name, fault)
  }
  return faults
}

/** Why a server cannot start, found without running it: an invalid table, or a command that does not exist. */
async function startFault(
  server: ServerConfig,
  place: Pick<Terminal, 'env' | 'cwd'>,
): Promise<string | undefined> {
  if (server.problem !== undefined || server.command === undefined) return server.problem
  const program = await findProgram(server, place)
  return program === undefined ? `command "${server.command}" not found` : undefined
}

interface Measures extends Omit<ServerMeasures, 'fault'> {
  readonly observed: ReadonlyMap<string, ObservedServer>
  /** Differences from the lockfile. */
  readonly changes: readonly LockChange[]
  readonly startFaults: ReadonlyMap<string, string>
}

async function tokensByServer(
  registry: ToolRegistry,
  counts: TokenCounts,
): Promise<ReadonlyMap<string, number>> {
  const schemas = registry.listSchemas()
  const tokensOf = await counts.each(schemas)
  const sums = new Map<string, number>()
  for (const [at, { mcpServer = '' }] of schemas.entries())
    sums.set(mcpServer, (sums.get(mcpServer) ?? 0) + (tokensOf[at] ?? 0))
  return sums
}

function diagnose(ready: ReadyRegistry, measures: Measures): Report {
  const { startFaults, observed, changes } = measures
  const { config, lockPath, servers, events, warnings } = ready
  const reports = ready.statuses.map((status) => {
    const fault = startFaults.get(status.server)
    return serverReport(status, ready, { ...measures, fault })
  })
  const findings = inOrder(servers.findings())
  const state = hasLockfile(ready) ? (changes.length > 0 ? 'changed' : 'unchanged') : 'none'
  const broken = events.filter(({ type }) => type === 'tool-invalid').length
  const isWell = reports.every(({ state }) => state === 'ready' || state === 'cold')
  return {
    healthy:
      isWell &&
      reports.length > 0 &&
      state !== 'changed' &&
      findings.every(({ severity }) => severity !== 'high'),
    files: config.files,
    servers: reports,
    findings,
    alike: alikeServers(findings, observed),
    lockfile: { path: lockPath, state, changes },
    warnings,
    nextSteps: nextSteps({ servers: reports, findings, state, changes, startFaults, broken }),
  }
}

const SEVERITIES = ['high', 'medium', 'low']

/** The worst first, then by server and tool, regardless of the order of answers. */
function inOrder(findings: readonly Finding[]): Finding[] {
  const keyOf = ({ severity, server, tool, place }: Finding) =>
    JSON.stringify([SEVERITIES.indexOf(severity), server, tool, place])
  return [...findings].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

function isBroken(state: string): boolean {
  return state === 'failed' || state === 'hanging'
}

interface Diagnosis extends Pick<Measures, 'startFaults' | 'changes'> {
  readonly servers: readonly ServerReport[]
  readonly findings: readonly Finding[]
  readonly state: Report['lockfile']['state']
  /** The number of unusable tools. */
  readonly broken: number
}

function nextSteps({ servers, findings, state, changes, startFaults, broken }: Diagnosis): string[] {
  const steps: string[] = []
  if (servers.length === 0) steps.push('add a server to the config, or run "toolcrib import"')
  const unapproved = new Set(changes.filter((change) => !('tool' in change)).map(({ server }) => server))
  const failed = servers.filter(({ server, state }) => isBroken(state) && !unapproved.has(server))
  for (const { server, step } of failed) steps.push(`${server}: ${step ?? 'see the reason above'}`)
  for (const [server, fault] of startFaults)
    steps.push(
      `${server}: ${mendServer(server, fault).step}; then approve it with "toolcrib approve ${shellWord(server)}"`,
    )
  if (changes.some(({ server }) => !startFaults.has(server)))
    steps.push('review the changes with "toolcrib diff", then approve them with "toolcrib approve --all"')
  if (findings.some(({ severity }) => severity === 'high'))
    steps.push(
      'read the definitions with high findings; exclude such tools with deny = ["…"], or remove the server',
    )
  if (state === 'none' && servers.some((server) => server.state === 'ready'))
    steps.push('approve the current definitions with "toolcrib lock"')
  if (broken > 0) steps.push(`report the ${plural(broken, 'unusable tool')} to the server's authors`)
  return steps
}
