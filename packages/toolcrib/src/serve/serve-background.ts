import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { ToolcribError } from '@toolcrib/core'
import { describeError, parseJson } from '@toolcrib/core/internal'
import { type FoundConfig, stateDirectory } from '@toolcrib/mcp'
import { makeFolder } from '@toolcrib/mcp/stores'
import pc from 'picocolors'
import { printPage, RunningGateway } from '../gateway/running-gateway.ts'
import { logPath } from '../gateway/runtime-folder.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plainLines } from '../terminal/text.ts'
import { UsageError } from '../terminal/usage-error.ts'
import { WaitLine } from '../terminal/wait-line.ts'
import type { ServeFlags } from './serve-settings.ts'

interface Announced {
  readonly url: string
  readonly token: string | null
  /** The address of the page, with the operator's token. */
  readonly page: string
  readonly pid: number
  readonly version: string
}

/**
 * Starts a gateway that goes on when the terminal is closed, and says where it is. Throws `source-unavailable` with its own
 * words if it does not start.
 */
export async function serveInBackground(
  terminal: Terminal,
  flags: ServeFlags,
  { found, running }: { readonly found: FoundConfig; readonly running: RunningGateway | undefined },
): Promise<number> {
  if (flags.stdio) throw new UsageError('give one of --background and --stdio')
  const log = logPath(found.config.files, terminal.env)
  if (running) {
    // One that a client has started would end with it.
    await running.keep()
    const { url, page, pid, version } = running.report
    if (flags.json) terminal.printJson({ url, page, pid, version, log, started: false })
    else {
      terminal.say(`a gateway of this config is running already, ${running.place} (pid ${pid})`)
      if (page !== undefined) printPage(terminal, page)
    }
    return 0
  }
  const line = new WaitLine(terminal)
  line.show('starting the gateway', 'Ctrl-C stops waiting')
  const announced = await start(terminal, flags).finally(() => line.stop())
  if (flags.json) {
    terminal.printJson({ ...announced, log, started: true })
    return 0
  }
  const { url, page, pid } = announced
  terminal.say(`${pc.green('started')} a gateway in the background (pid ${pid})`)
  terminal.print(`  URL   ${pc.cyan(url)}`)
  printPage(terminal, page)
  if (log !== undefined) terminal.print(`  Log   ${log}`)
  terminal.say(pc.dim('"toolcrib stop" ends it; "toolcrib autostart on" starts one each time you log in'))
  return 0
}

/**
 * Starts the gateway that all clients of this config over stdio share, unless somebody else has just done so. It goes on
 * while one of them is connected, and ends a little later. Returns undefined if it cannot be started.
 */
export async function startShared(
  terminal: Terminal,
  { profile: _, ...flags }: ServeFlags,
  found: FoundConfig,
): Promise<RunningGateway | undefined> {
  try {
    await start(terminal, { ...flags, idle: SHARED_IDLE_S })
  } catch (error) {
    const running = await RunningGateway.find(found, terminal.env)
    if (!running) terminal.warn(`this client has servers of its own: ${describeError(error)}`)
    return running
  }
  return RunningGateway.find(found, terminal.env)
}

/** A client that restarts finds its servers running. */
const SHARED_IDLE_S = 30

/** Starts this program again, detached from the terminal, and waits for the line that it prints once it listens. */
async function start({ program, cwd, env }: Terminal, flags: ServeFlags): Promise<Announced> {
  const folder = stateDirectory(env)
  if (folder === undefined) throw new ToolcribError('config-invalid', 'there is no state folder; set HOME')
  await makeFolder(folder, { mode: 0o700 })
  const notes = `${folder}/background.txt`
  const errors = await open(notes, 'w', 0o600)
  const args = [...program.args, 'serve', '--json', ...flagWords(flags)]
  const child = spawn(program.command, args, {
    cwd,
    env,
    detached: true,
    windowsHide: true,
    stdio: ['ignore', 'pipe', errors.fd],
  })
  const { stdout } = child
  if (stdout === null) throw new Error('the gateway has no output')
  try {
    const failed = once(child, 'error').then(([error]) => Promise.reject(error))
    const text = await Promise.race([firstLine(stdout), failed])
    const announced = Object(parseJson(text))
    if (typeof announced.url === 'string') return announced as unknown as Announced
    const reason = Object(announced.error).message ?? plainLines((await readFile(notes, 'utf8')).trim())
    throw new ToolcribError('source-unavailable', `the gateway did not start: ${reason || 'it said nothing'}`)
  } finally {
    stdout.destroy()
    child.unref()
    await errors.close()
  }
}

/** The line that a gateway prints; or all of the error that it prints on several lines, before it ends. */
async function firstLine(output: Readable): Promise<string> {
  let text = ''
  for await (const line of createInterface({ input: output })) {
    text += line
    if (parseJson(text) !== undefined) break
  }
  return text
}

/** The words of the flags that the new process gets too. */
function flagWords({ background: _, json: __, stdio: ___, ...flags }: ServeFlags): string[] {
  return Object.entries(flags).flatMap(([name, value]) => {
    const flag = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    if (value === true) return [`--${flag}`]
    return value === false ? [`--no-${flag}`] : [`--${flag}`, String(value)]
  })
}
