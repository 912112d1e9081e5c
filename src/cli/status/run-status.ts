import pc from 'picocolors'
import { type ServerStatus, ToolcribError } from 'toolcrib'
import type { ServerFlags } from '../flags.ts'
import { mendServer } from '../mend-server.ts'
import { requireGateways } from '../require-gateway.ts'
import type { GatewayReport, RunningGateway } from '../running-gateway.ts'
import type { Terminal } from '../terminal.ts'
import { columns, localTime, plainLines, plural } from '../text.ts'
import { findWithFlags } from '../with-registry.ts'

/** Shows how the running gateways and their servers are doing. */
export async function runStatus(terminal: Terminal, flags: ServerFlags): Promise<number> {
  const [first, ...others] = await requireGateways(terminal, flags)
  await noteBrokenConfig(terminal, flags)
  if (flags.json) {
    const more = others.length > 0 ? { others: others.map(shownReport) } : {}
    const shown: ShownStatus = { ...shownReport(first), ...more }
    terminal.printJson(shown)
    return 0
  }
  showGateway(terminal, first)
  for (const gateway of others) {
    terminal.print()
    showGateway(terminal, gateway)
  }
  return 0
}

/** What `--json` prints. */
interface ShownStatus extends GatewayReport {
  /** The gateways after the first, if there are any. */
  readonly others?: readonly GatewayReport[]
}

function shownReport({ report: { digests: _, ...shown } }: RunningGateway): GatewayReport {
  return shown
}

function showGateway(terminal: Terminal, { report, place }: RunningGateway): void {
  const { url, pid, version, startedAt, servers, sessions, callsUnderWay } = report
  const where = url === null ? place : `at ${pc.cyan(url)}`
  terminal.say(`${pc.bold(`Toolcrib ${version}`)} ${where}`)
  const counts = [
    url === null ? '' : `pid ${pid}`,
    `since ${localTime(startedAt).slice(0, 16)}`,
    url !== null && typeof sessions === 'number' ? plural(sessions, 'session') : '',
    typeof callsUnderWay === 'number' ? `${plural(callsUnderWay, 'call')} under way` : '',
  ]
  terminal.say(pc.dim(counts.filter(Boolean).join(', ')))
  const rows = columns(servers.map((server) => [`  ${pc.cyan(server.server)}`, stateOf(server)]))
  for (const [at, line] of rows.entries()) {
    terminal.say(line)
    const server = servers[at]
    if (server?.state !== 'failed') continue
    const { fault, step } = mendServer(server.server, server.reason)
    terminal.say(pc.dim(`      ${fault}`))
    terminal.say(pc.dim(`      → ${step}`))
  }
}

/** Notes that a gateway does not apply a config that it cannot read. */
async function noteBrokenConfig(terminal: Terminal, flags: ServerFlags): Promise<void> {
  try {
    await findWithFlags(terminal, flags)
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error
    terminal.note(
      `${pc.yellow('note')} the gateway runs on the config as it was before: ${plainLines(error.message)}`,
    )
  }
}

function stateOf({ server, ...status }: ServerStatus): string {
  const { state } = status
  if (status.state === 'failed')
    return pc.red(mendServer(server, status.reason).isHanging ? 'hanging' : state)
  if (state === 'cold') return pc.dim('cold: starts with the first call')
  return state === 'ready' ? pc.green(state) : pc.dim(state)
}
