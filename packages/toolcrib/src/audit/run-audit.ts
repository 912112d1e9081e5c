import { existsSync } from 'node:fs'
import { ToolcribError } from '@toolcrib/core'
import { type AuditEntry, readAudit, verifyAudit } from '@toolcrib/gateway'
import pc from 'picocolors'
import { auditFolder } from '../gateway/runtime-folder.ts'
import { findWithFlags } from '../servers/with-registry.ts'
import type { ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { localTime, plain, plural, toolName } from '../terminal/text.ts'
import { UsageError } from '../terminal/usage-error.ts'

export interface AuditFlags extends ServerFlags {
  readonly since?: string
  readonly verify?: boolean
}

/** Shows the record of calls, or checks it. */
export async function runAudit(terminal: Terminal, flags: AuditFlags): Promise<number> {
  const { config } = await findWithFlags(terminal, flags)
  const folder = auditFolder(config.files, terminal.env)
  if (folder === undefined || !existsSync(folder))
    throw new ToolcribError(
      'source-unavailable',
      'no calls are recorded; write audit = "on" under [gateway] in the config, and restart the gateway',
    )
  return flags.verify ? verify(terminal, folder, flags) : show(terminal, folder, flags)
}

async function verify(terminal: Terminal, folder: string, { json }: AuditFlags): Promise<number> {
  const { lines, faults } = await verifyAudit(folder)
  if (json) terminal.printJson({ folder, lines, faults })
  else {
    for (const { file, line, problem } of faults)
      terminal.say(
        `${pc.red('✗')} ${plain(file)}${line === undefined ? '' : `, line ${line}`}: ${plain(problem)}`,
      )
    const found =
      faults.length === 0 ? pc.green('nothing was changed') : pc.red(plural(faults.length, 'problem'))
    terminal.say(`${plural(lines, 'line')} in ${folder}: ${found}`)
  }
  return faults.length === 0 ? 0 : 1
}

async function show(terminal: Terminal, folder: string, { since, json }: AuditFlags): Promise<number> {
  const entries = await readAudit(folder, since === undefined ? {} : { since: timeOf(since) })
  for (const entry of entries) terminal.print(json ? JSON.stringify(entry) : describe(entry))
  if (entries.length === 0 && !json) terminal.say('no call was recorded in that time')
  return 0
}

function describe({ at, who, client, tool, decision, by, outcome, arguments: args }: AuditEntry): string {
  const colour = outcome === 'ok' ? pc.green : outcome === 'started' ? pc.dim : pc.red
  const decided = decision === 'allow' ? '' : pc.dim(` ${DECISIONS[decision]} by ${by}`)
  const shown = args === undefined ? '' : pc.dim(` ${plain(JSON.stringify(args))}`)
  return `${pc.dim(localTime(at))} ${plain(client ?? who)} ${plain(toolName(tool))} ${colour(plain(outcome))}${decided}${shown}`
}

const DECISIONS = {
  once: 'allowed once',
  session: 'allowed for the session',
  always: 'always allowed',
  deny: 'refused',
  none: 'not answered, asked',
} as const

const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** A date, or a length of time before now. */
function timeOf(since: string): number {
  const [, count, unit] = /^(\d+)([mhd])$/.exec(since) ?? []
  if (count !== undefined) return Date.now() - Number(count) * UNITS[unit as keyof typeof UNITS]
  const time = Date.parse(since)
  if (Number.isNaN(time))
    throw new UsageError(`--since is "${plain(since)}"; it must be a date, or such as 12h`)
  return time
}
