import { type ServerStatus, ToolcribError } from '@toolcrib/core'
import pc from 'picocolors'
import { requireGateways } from '../gateway/require-gateway.ts'
import { type GatewayReport, printPage, type RunningGateway } from '../gateway/running-gateway.ts'
import { mendServer } from '../servers/mend-server.ts'
import { findWithFlags } from '../servers/with-registry.ts'
import type { ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { columns, localTime, plainLines, plural } from '../terminal/text.ts'

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

/** The token of the page stays where only this user can read it. */
function shownReport({ report: { digests: _, page, ...shown } }: RunningGateway): GatewayReport {
  return { ...shown, ...(page === undefined ? {} : { page: page.replace(/#.*$/, '') }) }
}

function showGateway(terminal: Terminal, { report, place }: RunningGateway): void {
  const { url, pid, version, page, startedAt, servers, clients, callsUnderWay } = report
  const where = url === null ? place : `at ${pc.cyan(url)}`
  terminal.say(`${pc.bold(`Toolcrib ${version}`)} ${where}`)
  const counts = [
    url === null ? '' : `pid ${pid}`,
    `since ${localTime(startedAt).slice(0, 16)}`,
    url !== null && typeof clients === 'number' ? `${plural(clients, 'client')} connected` : '',
    typeof callsUnderWay === 'number' ? `${plural(callsUnderWay, 'call')} under way` : '',
  ]
  terminal.say(pc.dim(counts.filter(Boolean).join(', ')))
  if (page !== undefined) printPage(terminal, page)
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
    terminal.warn(`the gateway runs on the config as it was before: ${plainLines(error.message)}`)
  }
}

function stateOf({ server, ...status }: ServerStatus): string {
  const { state } = status
  if (status.state === 'failed')
    return pc.red(mendServer(server, status.reason).isHanging ? 'hanging' : state)
  if (state === 'cold') return pc.dim('asleep: starts with the first call')
  return state === 'ready' ? pc.green(state) : pc.dim(state)
}
