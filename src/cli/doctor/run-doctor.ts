import pc from 'picocolors'
import { exactTokenCounter, type TokenCounter, ToolcribError } from 'toolcrib'
import { compareWithLock, type Finding, type LockChange } from 'toolcrib/mcp'
import { definitionTokens } from '../definition-tokens.ts'
import type { ModeFlags, ServerFlags } from '../flags.ts'
import {
  type FoundConfig,
  findConfigAndDamage,
  type OpenedRegistry,
  requireUnnamed,
  withRegistry,
} from '../open-registry.ts'
import { summarise } from '../show-changes.ts'
import { columns, figure, plain, plural, printJson, say } from '../terminal.ts'

export interface DoctorFlags extends ServerFlags, ModeFlags {}

/** `toolcrib doctor`: how config, servers and lockfile are doing, and what to do next. */
export async function runDoctor(flags: DoctorFlags): Promise<void> {
  const report = await examine(flags)
  if (flags.json) printJson(report)
  else show(report)
  process.exitCode = report.healthy ? 0 : 1
}

interface ServerReport {
  readonly server: string
  readonly state: string
  readonly reason?: string
  readonly connectMs?: number
  readonly tools: number
  readonly tokens: number
  readonly warnings: readonly string[]
}

interface Report {
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
  readonly nextSteps: readonly string[]
}

async function examine(flags: DoctorFlags): Promise<Report> {
  const found = await orProblem(findConfigAndDamage(flags))
  if (typeof found === 'string') return withoutConfig(found)
  if (found.damage !== undefined) return withDamagedLock(found, found.damage)
  if (found.lockfile === undefined) requireUnnamed(flags)
  const countTokens = await exactTokenCounter()
  return withRegistry(flags, { found }, async (opened) => diagnose(opened, countTokens))
}

/** What was found, or what is wrong with it. */
function orProblem<Value>(found: Promise<Value>): Promise<Value | string> {
  return found.catch((error: unknown) => {
    if (error instanceof ToolcribError) return error.message
    throw error
  })
}

function withoutConfig(problem: string): Report {
  const lockfile = { state: 'none', changes: [] } as const
  const nextSteps = ['do what is said under Config, then run "toolcrib doctor" again']
  return { healthy: false, files: [], problem, servers: [], findings: [], lockfile, nextSteps }
}

/** Which commands were approved cannot be told, so none is run. */
function withDamagedLock({ config, lockPath }: FoundConfig, problem: string): Report {
  const servers = Object.keys(config.servers).map((server) => ({
    server,
    state: 'cold',
    reason: 'not started: whether it was approved cannot be told',
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
    lockfile: { path: lockPath, state: 'damaged', changes: [] },
    nextSteps: ['do what is said under Lockfile, then run "toolcrib doctor" again'],
  }
}

function diagnose(opened: OpenedRegistry, countTokens: TokenCounter): Report {
  const { config, lockfile, lockPath, servers, events } = opened
  const reports = opened.statuses.map((status) => serverReport(status.server, opened, countTokens))
  const findings = servers.findings()
  const changes = changesOf(opened)
  const state = lockfile ? (changes.length > 0 ? 'changed' : 'unchanged') : 'none'
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
    nextSteps: nextSteps(reports, findings, { state, changes }, broken),
  }
}

function serverReport(
  server: string,
  { registry, servers, statuses, connectMs, events }: OpenedRegistry,
  countTokens: TokenCounter,
): ServerReport {
  const status = statuses.find((each) => each.server === server)
  const own = registry.listSchemas().filter(({ mcpServer }) => mcpServer === server)
  const took = connectMs.get(server)
  const warnings = events.flatMap((event) => {
    if (event.server !== server) return []
    if (event.type === 'tool-invalid') return [`its tool ${event.tool} cannot be used: ${event.reason}`]
    return event.type === 'server-warning' ? [event.warning] : []
  })
  return {
    server,
    state: status?.state ?? 'cold',
    ...(status?.state === 'failed' ? { reason: status.reason } : {}),
    ...(took === undefined ? {} : { connectMs: Math.round(took) }),
    tools: servers.tools(server)?.length ?? 0,
    tokens: definitionTokens(own, countTokens),
    warnings: [...new Set(warnings)].slice(0, 5),
  }
}

function changesOf({ servers, lockfile, config }: OpenedRegistry): LockChange[] {
  const observed = new Map(
    Object.entries(config.servers).map(([name, server]) => [
      name,
      { config: server, tools: servers.tools(name) },
    ]),
  )
  return lockfile ? compareWithLock(lockfile, observed) : []
}

function nextSteps(
  servers: readonly ServerReport[],
  findings: readonly Finding[],
  lock: Report['lockfile'],
  broken: number,
): string[] {
  const steps: string[] = []
  if (servers.length === 0) steps.push('configure a server, or take some over with "toolcrib import"')
  const unapproved = new Set(lock.changes.filter((change) => !('tool' in change)).map(({ server }) => server))
  const failed = servers.filter(({ server, state }) => state === 'failed' && !unapproved.has(server))
  for (const { server } of failed) steps.push(`mend the server "${server}": its reason is above`)
  if (servers.some(({ state }) => state === 'connecting'))
    steps.push('give slow servers more time with --timeout 60000')
  if (lock.state === 'changed')
    steps.push('look at what changed with "toolcrib diff", then "toolcrib approve"')
  if (findings.some(({ severity }) => severity === 'high'))
    steps.push(
      'read the definitions with high findings; leave such tools out with deny = ["…"], or the server altogether',
    )
  if (lock.state === 'none' && servers.some(({ state }) => state === 'ready'))
    steps.push('approve the definitions as they are with "toolcrib lock"')
  if (broken > 0) steps.push(`tell the authors of ${plural(broken, 'tool')} that cannot be used`)
  return steps
}

function show(report: Report): void {
  const { files, servers, findings, lockfile, problem } = report
  section('Config')
  const isLockDamaged = lockfile.state === 'damaged'
  if (problem !== undefined && !isLockDamaged) say(`  ${pc.red('✗')} ${plain(problem)}`)
  for (const file of files) say(`  ${pc.green('✓')} ${file}`)
  if (servers.length > 0) section('Servers')
  const rows = servers.map(({ server, state, reason, connectMs, tools, tokens }) => [
    `  ${markOf(state, reason)} ${pc.bold(server)}`,
    state,
    connectMs === undefined ? '' : `${figure(connectMs)} ms`,
    reason !== undefined ? plain(reason) : pc.dim(`${plural(tools, 'tool')}, ${plural(tokens, 'token')}`),
  ])
  for (const [at, line] of columns(rows, { rightAligned: [2] }).entries()) {
    say(line)
    for (const warning of servers[at]?.warnings ?? []) say(pc.dim(`      ${plain(warning)}`))
  }
  const ofThoseThatAnswered = servers.some(({ state }) => state !== 'ready') ? ', of what answered' : ''
  if (findings.length > 0) section('Definitions')
  for (const finding of findings) showFinding(finding)
  if (findings.length === 0 && servers.some(({ tools }) => tools > 0)) {
    section('Definitions')
    say(`  ${pc.green('✓')} nothing suspicious${ofThoseThatAnswered}`)
  }
  if (lockfile.path !== undefined) {
    section('Lockfile')
    if (lockfile.state === 'none')
      say(`  ${pc.yellow('–')} there is no ${lockfile.path}: changes go unnoticed`)
    if (lockfile.state === 'unchanged')
      say(`  ${pc.green('✓')} ${lockfile.path}: all is as approved${ofThoseThatAnswered}`)
    if (isLockDamaged) say(`  ${pc.red('✗')} ${plain(problem ?? '')}`)
    if (lockfile.state === 'changed') say(`  ${pc.red('✗')} ${lockfile.path}: ${summarise(lockfile.changes)}`)
  }
  section('Next')
  for (const step of report.nextSteps) say(`  → ${step}`)
  if (report.nextSteps.length === 0) say('  nothing to do')
}

function markOf(state: string, reason: string | undefined): string {
  if (state === 'failed') return pc.red('✗')
  if (state === 'connecting') return pc.yellow('…')
  return reason === undefined ? pc.green('✓') : pc.yellow('–')
}

const COLOURS = { high: pc.red, medium: pc.yellow, low: pc.dim } as const

function showFinding({ severity, server, tool, place, message, excerpt }: Finding): void {
  const where = pc.dim(`(${plain(place)})`)
  say(`  ${COLOURS[severity](severity.padEnd(6))} ${pc.bold(plain(`${server}.${tool}`))} ${message} ${where}`)
  say(pc.dim(`         “${plain(excerpt)}”`))
}

function section(title: string): void {
  say(`\n${pc.bold(pc.cyan(title))}`)
}
