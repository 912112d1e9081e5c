import { createReadStream, existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import pc from 'picocolors'
import { noGateway, type SoughtGateway, seekGateways } from '../gateway/require-gateway.ts'
import type { RunningGateway } from '../gateway/running-gateway.ts'
import { logPath } from '../gateway/runtime-folder.ts'
import type { FiledLine } from '../serve/log-file.ts'
import { unknownServer } from '../servers/unknown-server.ts'
import { findWithFlags } from '../servers/with-registry.ts'
import type { ServerFlags } from '../terminal/flags.ts'
import { untilSignal } from '../terminal/interrupt.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { localTime, plain, plural, wrap } from '../terminal/text.ts'

export interface LogsFlags extends ServerFlags {
  readonly follow?: boolean
}

/**
 * Shows the log of the running gateway, with `--follow` until it stops or a signal ends the command; without a gateway,
 * that of the last one. `exitIn` exits the process if it does not end by itself after a signal.
 */
export async function runLogs(
  terminal: Terminal,
  server: string | undefined,
  flags: LogsFlags,
  exitIn?: (ms: number, exitCode: number) => void,
): Promise<number> {
  const sought = await seekGateways(terminal, flags)
  const [running, ...others] = sought.running
  if (server !== undefined) await requireServer(server, { terminal, flags, running })
  if (running && others.length > 0) {
    const count = plural(sought.running.length, 'gateway')
    terminal.warn(`${count} of this config are running; this is the log of the one ${running.place}`)
  }
  return untilSignal(
    terminal.signals,
    async (signal) => {
      const { stream, isMixed = false } = running
        ? { stream: await running.logs({ server, follow: flags.follow === true }) }
        : await lastLog(terminal, sought, flags)
      const lines = createInterface({ input: stream })
      // A destroyed stream does not end its lines.
      const end = () => {
        lines.close()
        stream.destroy()
      }
      let lost: Error | undefined
      const lose = (error: Error) => {
        lost = error
        end()
      }
      if (running) stream.once('error', lose)
      signal.addEventListener('abort', end, { once: true })
      // The reader is gone, as after `| head`.
      terminal.output.once('error', end)
      try {
        for await (const { line, entry } of running ? untilBroken(lines) : entriesOf(lines)) {
          if (server !== undefined && entry.server !== server) continue
          terminal.print(flags.json ? line : describe(terminal, entry, isMixed))
        }
      } catch (error) {
        // The log of a running gateway breaks off when the gateway ends.
        if (error !== lost) throw error
      } finally {
        signal.removeEventListener('abort', end)
        terminal.output.off('error', end)
        end()
      }
      signal.throwIfAborted()
      return 0
    },
    exitIn,
  )
}

interface ReadLine {
  readonly line: string
  readonly entry: FiledLine
}

async function* entriesOf(lines: AsyncIterable<string>): AsyncGenerator<ReadLine> {
  for await (const line of lines) yield { line, entry: JSON.parse(line) }
}

/** Leaves out a last line that does not parse: a gateway may end while writing one. */
async function* untilBroken(lines: AsyncIterable<string>): AsyncGenerator<ReadLine> {
  let broken: unknown
  for await (const line of lines) {
    if (broken !== undefined) throw broken
    let entry: FiledLine
    try {
      entry = JSON.parse(line)
    } catch (error) {
      broken = error
      continue
    }
    yield { line, entry }
  }
}

interface ServerCheck {
  readonly terminal: Terminal
  readonly flags: LogsFlags
  readonly running: RunningGateway | undefined
}

/** Throws for an unknown server. If the config cannot be read, any name is accepted. */
async function requireServer(server: string, { terminal, flags, running }: ServerCheck): Promise<void> {
  const config = (await findWithFlags(terminal, flags).catch(() => undefined))?.config
  const known = running?.report.servers.map((each) => each.server) ?? Object.keys(config?.servers ?? {})
  if (known.includes(server) || (!running && !config)) return
  throw unknownServer(server, { ...config, servers: known })
}

interface LastLog {
  readonly stream: Readable
  /** Whether gateways that ran at the same time wrote it. */
  readonly isMixed: boolean
}

async function lastLog(terminal: Terminal, sought: SoughtGateway, { follow }: LogsFlags): Promise<LastLog> {
  const path = logPath(sought.files, terminal.env)
  if (follow || path === undefined || !existsSync(path)) throw noGateway(sought)
  const isMixed = hasMixedLines(await readFile(path, 'utf8'))
  const what = isMixed ? 'the log of the last ones, with their process ids' : 'the log of the last one'
  terminal.warn(`no gateway is running; this is ${what} (${path})`)
  return { stream: createReadStream(path), isMixed }
}

/** Whether the lines of one gateway stand between those of another. Gateways that ran one after the other do not mix. */
function hasMixedLines(log: string): boolean {
  const pids = [...log.matchAll(/"pid":(\d+)\}$/gm)].map(([, pid]) => pid)
  const turns = pids.filter((pid, at) => pid !== pids[at - 1])
  return turns.length > new Set(turns).size
}

function describe(
  { output, width }: Terminal,
  { at, level, server, message, pid }: FiledLine,
  isMixed: boolean,
): string {
  const time = pc.dim(localTime(at).slice(11))
  const colour = level === 'error' ? pc.red : level === 'warn' ? pc.yellow : pc.dim
  const by = isMixed && pid !== undefined ? `${pc.dim(`pid ${pid}`)} ` : ''
  const from = server === undefined ? '' : `${pc.cyan(plain(server))} `
  const line = `${time} ${colour(level.padEnd(5))} ${by}${from}${plain(message)}`
  // Continuation lines are indented, so that the next entry is easy to see.
  return output.isTTY ? wrap(line, width - 4).replaceAll('\n', '\n    ') : line
}
