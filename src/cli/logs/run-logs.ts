import { createInterface } from 'node:readline'
import pc from 'picocolors'
import { ToolcribError } from 'toolcrib'
import type { ServerFlags } from '../flags.ts'
import { untilSignal } from '../interrupt.ts'
import { requireGateway } from '../require-gateway.ts'
import type { LogLine } from '../serve/log-book.ts'
import type { Terminal } from '../terminal.ts'
import { plain } from '../text.ts'

export interface LogsFlags extends ServerFlags {
  readonly follow?: boolean
}

/** Shows the log of the running gateway; with `--follow`, until it stops or a signal ends the command. */
export async function runLogs(
  terminal: Terminal,
  server: string | undefined,
  flags: LogsFlags,
): Promise<number> {
  const running = await requireGateway(terminal, flags)
  const known = running.report.servers.map((each) => each.server)
  if (server !== undefined && !known.includes(server))
    throw new ToolcribError(
      'config-invalid',
      `there is no server "${server}"; the gateway has ${known.join(', ')}`,
    )
  return untilSignal(terminal.signals, async (signal) => {
    const stream = await running.logs({ server, follow: flags.follow === true })
    signal.addEventListener('abort', () => stream.destroy(), { once: true })
    for await (const line of createInterface({ input: stream }))
      terminal.print(flags.json ? line : describe(JSON.parse(line)))
    signal.throwIfAborted()
    return 0
  })
}

function describe({ at, level, server, message }: LogLine): string {
  const time = pc.dim(at.slice(11, 23))
  const colour = level === 'error' ? pc.red : level === 'warn' ? pc.yellow : pc.dim
  const from = server === undefined ? '' : `${pc.cyan(plain(server))} `
  return `${time} ${colour(level.padEnd(5))} ${from}${plain(message)}`
}
