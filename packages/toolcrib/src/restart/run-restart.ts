import type { ServerStatus } from '@toolcrib/core'
import pc from 'picocolors'
import { requireGateways } from '../gateway/require-gateway.ts'
import { mendServer } from '../servers/mend-server.ts'
import { unknownServer } from '../servers/unknown-server.ts'
import type { ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plain, shellWord } from '../terminal/text.ts'
import { WaitLine } from '../terminal/wait-line.ts'

/** Restarts servers in all running gateways of the config, and says how each of them is. */
export async function runRestart(
  terminal: Terminal,
  names: readonly string[],
  flags: ServerFlags,
): Promise<number> {
  const step = `try a server with "toolcrib doctor ${names.map(shellWord).join(' ')}"`
  const running = await requireGateways(terminal, flags, `there is nothing to restart; ${step}`)
  const known = [...new Set(running.flatMap(({ report }) => report.servers.map(({ server }) => server)))]
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) throw unknownServer(unknown, { servers: known })
  const line = new WaitLine(terminal)
  line.show(`waiting for ${names.join(', ')}`, 'Ctrl-C stops waiting')
  const restarts = running.flatMap((gateway) =>
    names
      .filter((name) => gateway.report.servers.some(({ server }) => server === name))
      .map(async (name) => ({ ...(await gateway.restart(name)), gateway: gateway.place })),
  )
  const statuses = await Promise.all(restarts).finally(() => line.stop())
  if (flags.json) terminal.printJson({ servers: statuses })
  else for (const status of statuses) show(terminal, status)
  return statuses.every(({ state }) => state !== 'failed') ? 0 : 1
}

function show(terminal: Terminal, status: ServerStatus & { readonly gateway: string }): void {
  const { server, gateway } = status
  const name = pc.bold(plain(server))
  if (status.state !== 'failed') {
    terminal.say(`${pc.green('restarted')} ${name} in the gateway ${gateway}`)
    return
  }
  const { fault, step } = mendServer(server, status.reason)
  terminal.say(`${pc.red('failed')} ${name} in the gateway ${gateway}: ${fault}; ${step}`)
}
