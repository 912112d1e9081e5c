import { type ServerStatus, ToolcribError, type ToolRegistry } from 'toolcrib'
import {
  compareWithLock,
  type Finding,
  type FoundConfig,
  findProgram,
  type LockChange,
  type McpEvent,
  observeServers,
  type ServerConfig,
} from 'toolcrib/mcp'
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
import { showReport } from './show-report.ts'

export interface DoctorFlags extends ServerFlags, RegistryFlags {}

/** Checks config, servers, definitions and lockfile, and prints what to do next. */
export async function runDoctor(terminal: Terminal, flags: DoctorFlags): Promise<number> {
  const report = await examine(terminal, flags)
  if (flags.json) terminal.printJson(report)
  else showReport(terminal, report)
  return report.healthy ? 0 : 1
}

export interface ServerReport {
  readonly server: string
  readonly state: string
  readonly reason?: string
  /** What to do about it. */
  readonly step?: string
  readonly connectMs?: number
  readonly tools: number
  readonly tokens: number
  readonly warnings: readonly string[]
}

export interface Report {
  readonly healthy: boolean
  readonly files: readonly string[]
  readonly problem?: string
  readonly servers: readonly ServerReport[]
  readonly findings: readonly Finding[]
  readonly lockfile: {
    readonly path?: string
    readonly state: 'none' | 'damaged' | 'unchanged' | 'changed'
    readonly changes: readonly LockChange[]
  }
  /** Warnings about config and lockfiles; also printed on stderr. */
  readonly warnings?: readonly string[]
  readonly nextSteps: readonly string[]
}

async function examine(terminal: Terminal, flags: DoctorFlags): Promise<Report> {
  const found = await orProblem(findWithFlags(terminal, flags, { lenient: true }))
  if (typeof found === 'string') return withoutConfig(found)
  const damage = found.locks.find((layer) => layer.damage !== undefined)?.damage
  if (damage) return withoutLock(found, 'damaged', damage.message)
  const isRequired = flags.locked || (found.config.requireLock === true && !hasLockfile(found))
  const missing = isRequired ? missingLockfile(found) : undefined
  if (missing !== undefined) return withoutLock(found, 'none', missing)
  return withRegistry(terminal, flags, {}, async (ready) => {
    const startFaults = await startFaultsOf(ready, terminal)
    const observed = await observeServers(ready, terminal)
    const changes = hasLockfile(ready) && ready.lockfile ? compareWithLock(ready.lockfile, observed) : []
    const waitedMs = longestWait(ready.config.servers, flags)
    const tokens = await tokensByServer(ready.registry, new TokenCounts(terminal))
    return diagnose(ready, { tokens, startFaults, changes, waitedMs })
  })
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
        'take the servers of your other programs with "toolcrib import --user"',
        'or add one with "toolcrib add"',
      ]
  return { healthy: false, files: [], problem, servers: [], findings: [], lockfile, nextSteps }
}

/** Without a readable lockfile it is unknown which commands were approved, so none is run. */
function withoutLock({ config, lockPath }: FoundConfig, state: 'damaged' | 'none', problem: string): Report {
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
    lockfile: { path: lockPath, state, changes: [] },
    nextSteps: [
      state === 'damaged'
        ? 'restore the lockfile, or review the servers and write it again with "toolcrib lock"'
        : 'review the servers, then approve them with "toolcrib lock"',
    ],
  }
}

/** Why servers that were not started for lack of approval could not start anyway; by server. */
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

interface Measures {
  /** What the definitions of each server cost. */
  readonly tokens: ReadonlyMap<string, number>
  /** Differences from the lockfile. */
  readonly changes: readonly LockChange[]
  readonly startFaults: ReadonlyMap<string, string>
  /** How long servers had to start. */
  readonly waitedMs: number
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
  const { startFaults, changes } = measures
  const { config, lockPath, servers, events, warnings } = ready
  const reports = ready.statuses.map((status) => {
    const fault = startFaults.get(status.server)
    const report = serverReport(status.server, ready, measures)
    return withoutRepeats(fault === undefined ? report : { ...report, warnings: [...report.warnings, fault] })
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
    lockfile: { path: lockPath, state, changes },
    warnings,
    nextSteps: nextSteps({ servers: reports, findings, state, changes, startFaults, broken }),
  }
}

/** Without warnings that the reason says already. */
function withoutRepeats(report: ServerReport): ServerReport {
  const isSaid = (warning: string) => report.reason?.includes(mendServer(report.server, warning).fault)
  return { ...report, warnings: [...new Set(report.warnings)].filter((warning) => !isSaid(warning)) }
}

function serverReport(
  server: string,
  { config, servers, statuses, events }: ReadyRegistry,
  { tokens, waitedMs }: Pick<Measures, 'tokens' | 'waitedMs'>,
): ServerReport {
  const status = statuses.find((each) => each.server === server)
  const took = connectTime(server, events)
  const warnings = events.flatMap((event) => {
    if (event.server !== server) return []
    if (event.type === 'tool-invalid') return [`tool ${event.tool} cannot be used: ${event.reason}`]
    return event.type === 'server-warning' ? [event.warning] : []
  })
  return {
    server,
    ...conditionOf(status, config.servers[server], waitedMs),
    ...(took === undefined ? {} : { connectMs: Math.round(took) }),
    tools: servers.tools(server)?.length ?? 0,
    tokens: tokens.get(server) ?? 0,
    warnings: [...new Set(warnings)].slice(0, 5),
  }
}

/** A server that has not answered in its time hangs, whether it is given up already or not. */
function conditionOf(
  status: ServerStatus | undefined,
  config: ServerConfig | undefined,
  waitedMs: number,
): Pick<ServerReport, 'state' | 'reason' | 'step'> {
  const state = status?.state ?? 'cold'
  if (status === undefined || (state !== 'failed' && state !== 'connecting')) return { state }
  const reason = status.state === 'failed' ? status.reason : `it did not connect within ${waitedMs} ms`
  const { fault, step } = mendServer(status.server, reason, config)
  const isHanging = state === 'connecting' || fault.startsWith('it hangs')
  return { state: isHanging ? 'hanging' : state, reason: fault, step }
}

const SEVERITIES = ['high', 'medium', 'low']

/** The worst first, then by server and tool, whatever answered first. */
function inOrder(findings: readonly Finding[]): Finding[] {
  const keyOf = ({ severity, server, tool, place }: Finding) =>
    JSON.stringify([SEVERITIES.indexOf(severity), server, tool, place])
  return [...findings].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

/** How long a server took to become ready or fail. */
function connectTime(server: string, events: readonly McpEvent[]): number | undefined {
  const states = events
    .filter((event) => event.type === 'server-state')
    .filter((event) => event.server === server)
  const start = states.find(({ state }) => state === 'connecting')
  const end = states.find(
    ({ state, at }) => (state === 'ready' || state === 'failed') && start && at >= start.at,
  )
  return start && end ? end.at - start.at : undefined
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
