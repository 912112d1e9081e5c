import { ToolcribError } from '@toolcrib/core'
import {
  type ApiStatus,
  compareWithLock,
  type Finding,
  type FoundConfig,
  findProgram,
  type LockChange,
  type ObservedServer,
  observeServers,
  type ServerConfig,
  type UnmatchedInConfig,
  unmatchedInConfig,
} from '@toolcrib/mcp'
import { alikeServers } from '../servers/alike-servers.ts'
import { toolsOnlyServers, unapprovedServers } from '../servers/ask-servers.ts'
import { mendServer } from '../servers/mend-server.ts'
import { TokenCounts } from '../servers/token-counts.ts'
import { unknownServer } from '../servers/unknown-server.ts'
import {
  findWithFlags,
  hasLockfile,
  longestWait,
  missingLockfile,
  type ReadyRegistry,
  withRegistry,
} from '../servers/with-registry.ts'
import type { RegistryFlags, ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plural, shellWord } from '../terminal/text.ts'
import {
  isFailingGuard,
  type Report,
  type ServerMeasures,
  type ServerReport,
  serverReport,
} from './server-report.ts'
import { showReport } from './show-report.ts'

export interface DoctorFlags extends ServerFlags, RegistryFlags {
  readonly strict?: boolean
}

/** Checks config, servers, definitions and lockfile, and prints what to do next; with names, only of these servers. */
export async function runDoctor(
  terminal: Terminal,
  names: readonly string[],
  flags: DoctorFlags,
): Promise<number> {
  const present = (report: Report): number => {
    const nextSteps = report.nextSteps.map((step) => terminal.hinted(step))
    if (flags.json) terminal.printJson({ ...report, nextSteps })
    else showReport(terminal, report)
    return report.healthy ? 0 : 1
  }
  const lenient = await orProblem(findWithFlags(terminal, flags, { lenient: true }))
  if (typeof lenient === 'string') return present(withoutConfig(lenient))
  const named = onlyNamed(lenient, names)
  const lockProblem = withoutLock(named, flags)
  if (lockProblem) return present(lockProblem)
  // Throws for a lockfile that is named and missing.
  const found = onlyNamed(await findWithFlags(terminal, flags), names)
  const waitedMs = longestWait(found.config.servers, flags, CHECK_MS)
  // The report does not wait until a hanging server is stopped.
  return withRegistry(terminal, flags, { found, waitMs: waitedMs }, async (ready) =>
    present(await examine(terminal, ready, { waitedMs, isStrict: flags.strict === true })),
  )
}

/** A server that has not answered by then hangs, unless its `connect_timeout_ms` gives it more time. */
const CHECK_MS = 10_000

/** The config with the named servers alone, or unchanged without names. Throws `config-invalid` for an unknown server. */
function onlyNamed(found: FoundConfig, names: readonly string[]): FoundConfig {
  if (names.length === 0) return found
  const { servers, layers = [] } = found.config
  const unknown = names.find((name) => !Object.hasOwn(servers, name))
  if (unknown !== undefined) throw unknownServer(unknown, { servers: Object.keys(servers), layers })
  const named = Object.entries(servers).filter(([name]) => names.includes(name))
  const { lockfile } = found
  const locked = [...(lockfile?.servers ?? [])].filter(([name]) => names.includes(name))
  return {
    ...found,
    config: { ...found.config, servers: Object.fromEntries(named) },
    ...(lockfile === undefined ? {} : { lockfile: { ...lockfile, servers: new Map(locked) } }),
  }
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
    : ['set it up with "toolcrib"']
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

async function examine(
  terminal: Terminal,
  ready: ReadyRegistry,
  limits: Pick<Measures, 'waitedMs' | 'isStrict'>,
): Promise<Report> {
  const startFaults = await startFaultsOf(ready, terminal)
  const observed = await observeServers(ready, terminal)
  const changes = hasLockfile(ready) && ready.lockfile ? compareWithLock(ready.lockfile, observed) : []
  const tokens = await new TokenCounts(terminal).byServer(ready.registry)
  return diagnose(ready, { tokens, startFaults, observed, changes, ...limits })
}

/** Why servers that were not started for lack of approval could not start anyway, by server. */
async function startFaultsOf(
  ready: ReadyRegistry,
  { env, cwd }: Terminal,
): Promise<ReadonlyMap<string, string>> {
  const unapproved = ready.lockfile ? unapprovedServers(ready) : new Map()
  const faults = new Map<string, string>()
  for (const [name, server] of Object.entries(ready.config.servers)) {
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
  /** true: a deny rule that matches nothing is a problem. */
  readonly isStrict: boolean
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
  const unmatched = unmatchedInConfig(ready)
  const isOpen = measures.isStrict && unmatched.some(isFailingGuard)
  return {
    healthy:
      isWell &&
      !isOpen &&
      reports.length + ready.apiStatuses.length > 0 &&
      ready.apiStatuses.every(({ failure }) => failure === undefined) &&
      state !== 'changed' &&
      findings.every(({ severity }) => severity !== 'high'),
    files: config.files,
    servers: reports,
    apis: ready.apiStatuses,
    findings,
    alike: alikeServers(findings, observed),
    lockfile: { path: lockPath, state, changes, toolsOnly: toolsOnlyServers(ready) },
    warnings,
    unmatched,
    isStrict: measures.isStrict,
    nextSteps: nextSteps({
      servers: reports,
      apis: ready.apiStatuses,
      findings,
      state,
      changes,
      startFaults,
      broken,
      unmatched,
    }),
  }
}

const SEVERITIES = ['high', 'medium', 'low']

/** The worst first, then by server and tool, regardless of the order of answers. */
function inOrder(findings: readonly Finding[]): Finding[] {
  const keyOf = ({ severity, server, tool, item, place }: Finding) =>
    JSON.stringify([SEVERITIES.indexOf(severity), server, item ?? '', tool, place])
  return [...findings].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

function isBroken(state: string): boolean {
  return state === 'failed' || state === 'hanging'
}

interface Diagnosis extends Pick<Measures, 'startFaults' | 'changes'> {
  readonly servers: readonly ServerReport[]
  readonly apis: readonly ApiStatus[]
  readonly findings: readonly Finding[]
  readonly state: Report['lockfile']['state']
  /** The number of unusable tools. */
  readonly broken: number
  readonly unmatched: readonly UnmatchedInConfig[]
}

function nextSteps(diagnosis: Diagnosis): string[] {
  const { servers, apis, findings, state, changes, startFaults, broken, unmatched } = diagnosis
  const steps: string[] = []
  if (servers.length + apis.length === 0) steps.push('add a server to the config, or run "toolcrib import"')
  const unapproved = new Set(changes.filter((change) => !('name' in change)).map(({ server }) => server))
  const failed = servers.filter(({ server, state }) => isBroken(state) && !unapproved.has(server))
  for (const { server, step } of failed) steps.push(`${server}: ${step ?? 'see the reason above'}`)
  for (const [server, fault] of startFaults)
    steps.push(
      `${server}: ${mendServer(server, fault).step}; then approve it with "toolcrib approve ${shellWord(server)}"`,
    )
  for (const { api, failure } of apis)
    if (failure !== undefined) steps.push(`${api}: correct [openapi.${api}] in the config, as said above`)
  if (findings.some(({ severity }) => severity === 'high'))
    steps.push(
      'read the texts with high findings; exclude such tools with deny = ["…"], or remove the server',
    )
  if (changes.some(({ server }) => !startFaults.has(server)))
    steps.push('review the changes with "toolcrib diff", which says how to approve each of them')
  if (unmatched.length > 0)
    steps.push('correct or remove the rules that match no tool; "toolcrib list" shows the names')
  if (state === 'none' && servers.some((server) => server.state === 'ready'))
    steps.push('approve the current definitions with "toolcrib lock"')
  if (broken > 0) steps.push(`report the ${plural(broken, 'unusable tool')} to the server's authors`)
  return steps
}
