import pc from 'picocolors'
import type { ServerStatus } from 'toolcrib'
import type { ServerFlags } from '../flags.ts'
import { requireGateway } from '../require-gateway.ts'
import type { Terminal } from '../terminal.ts'
import { columns, plain } from '../text.ts'

/** Shows how the running gateway and its servers are doing. */
export async function runStatus(terminal: Terminal, flags: ServerFlags): Promise<number> {
  const { report } = await requireGateway(terminal, flags)
  if (flags.json) {
    terminal.printJson(report)
    return 0
  }
  const { url, pid, version, startedAt, servers } = report
  terminal.say(`${pc.bold(`Toolcrib ${version}`)} at ${pc.cyan(url)}, pid ${pid}, since ${startedAt}`)
  const rows = servers.map((server) => [
    `  ${pc.cyan(server.server)}`,
    stateOf(server),
    pc.dim('reason' in server && server.reason ? plain(server.reason) : ''),
  ])
  for (const line of columns(rows)) terminal.say(line)
  return 0
}

function stateOf({ state }: ServerStatus): string {
  if (state === 'failed') return pc.red(state)
  return state === 'ready' ? pc.green(state) : pc.dim(state)
}
