import { describeUnmatched, type Finding } from '@toolcrib/mcp'
import pc from 'picocolors'
import { isAlike } from '../servers/alike-servers.ts'
import { describeToolsOnly } from '../servers/ask-servers.ts'
import { describeAlike, subjectOf, summarise } from '../servers/show-changes.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { columns, figure, plain, plural } from '../terminal/text.ts'
import { isFailingGuard, type Report } from './server-report.ts'

/** Prints a report for people: what is wrong, by section, and what to do next. */
export function showReport(terminal: Terminal, report: Report): void {
  const { files, servers, findings, lockfile, problem } = report
  section(terminal, 'Config')
  // Without a config there is no lockfile path.
  const isOfLock = problem !== undefined && lockfile.path !== undefined
  if (problem !== undefined && !isOfLock) terminal.say(`  ${pc.red('✗')} ${plain(problem)}`)
  for (const file of files) terminal.say(`  ${pc.green('✓')} ${file}`)
  const ready = servers.filter(({ state }) => state === 'ready').length
  if (servers.length > 0) section(terminal, `Servers: ${figure(ready)} of ${figure(servers.length)} ready`)
  const rows = servers.map(({ server, state, reason, connectMs, tools, tokens }) => [
    `  ${markOf(state, reason)} ${pc.bold(server)}`,
    state === 'cold' ? 'asleep' : state,
    connectMs === undefined ? '' : `${figure(connectMs)} ms`,
    reason !== undefined ? '' : pc.dim(`${plural(tools, 'tool')}, ${plural(tokens, 'token')}`),
  ])
  for (const [at, line] of columns(rows, { rightAligned: [2] }).entries()) {
    terminal.say(line)
    const reason = servers[at]?.reason
    if (reason !== undefined) terminal.say(`      ${plain(reason)}`)
    for (const warning of servers[at]?.warnings ?? []) terminal.say(pc.dim(`      ${plain(warning)}`))
  }
  if (report.apis?.length) section(terminal, 'APIs')
  for (const { api, operations, failure } of report.apis ?? []) {
    const mark = failure === undefined ? pc.green('✓') : pc.red('✗')
    terminal.say(`  ${mark} ${pc.bold(api)}  ${pc.dim(plural(operations, 'operation'))}`)
    if (failure !== undefined) terminal.say(`      ${plain(failure)}`)
  }
  const isPartial = servers.some(({ state }) => state !== 'ready')
  const extent = isPartial ? ' in the servers that responded' : ''
  if (findings.length > 0) section(terminal, 'Definitions')
  for (const finding of findings) if (!isAlike(finding)) showFinding(terminal, finding)
  for (const alike of report.alike ?? [])
    terminal.say(`  ${COLOURS.low('low   ')} ${describeAlike(alike)}: is one of them enough?`)
  if (findings.length === 0 && servers.some(({ tools }) => tools > 0)) {
    section(terminal, 'Definitions')
    terminal.say(`  ${pc.green('✓')} nothing suspicious${extent}`)
  }
  if (lockfile.path !== undefined) {
    section(terminal, 'Lockfile')
    if (lockfile.state === 'none' && !isOfLock)
      terminal.say(`  ${pc.yellow('–')} ${lockfile.path} does not exist, so changed tools go unnoticed`)
    if (lockfile.state === 'unchanged')
      terminal.say(`  ${pc.green('✓')} ${lockfile.path}: everything matches the approvals${extent}`)
    if (lockfile.toolsOnly?.length)
      terminal.say(`  ${pc.yellow('–')} ${describeToolsOnly(lockfile.toolsOnly)}`)
    if (isOfLock) terminal.say(`  ${pc.red('✗')} ${plain(problem ?? '')}`)
    if (lockfile.state === 'changed')
      terminal.say(`  ${pc.red('✗')} ${lockfile.path}: ${summarise(lockfile.changes)}`)
  }
  if (report.unmatched?.length) section(terminal, 'Rules')
  for (const unmatched of report.unmatched ?? [])
    terminal.say(
      `  ${report.isStrict && isFailingGuard(unmatched) ? pc.red('✗') : pc.yellow('–')} ${plain(describeUnmatched(unmatched))}`,
    )
  section(terminal, 'Next')
  for (const step of report.nextSteps) terminal.say(`  → ${step}`)
  if (report.nextSteps.length === 0) terminal.say('  nothing to do')
}

function markOf(state: string, reason: string | undefined): string {
  if (state === 'failed' || state === 'hanging') return pc.red('✗')
  return reason === undefined ? pc.green('✓') : pc.yellow('–')
}

const COLOURS = { high: pc.red, medium: pc.yellow, low: pc.dim } as const

function showFinding(terminal: Terminal, finding: Finding): void {
  const { severity, place, message, excerpt } = finding
  const where = pc.dim(`(${plain(place)})`)
  terminal.say(
    `  ${COLOURS[severity](severity.padEnd(6))} ${pc.bold(plain(subjectOf(finding)))} ${message} ${where}`,
  )
  terminal.say(pc.dim(`         “${plain(excerpt)}”`))
}

function section(terminal: Terminal, title: string): void {
  terminal.say(`\n${pc.bold(pc.cyan(title))}`)
}
