import { type SpawnOptions, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, inject } from 'vitest'
import { runCommandLine } from '../packages/toolcrib/src/command-line.ts'
import { fakeTerminal } from '../packages/toolcrib/src/terminal/fake-terminal.fixture.ts'
import type { TerminalOptions } from '../packages/toolcrib/src/terminal/terminal.ts'

const FIXTURES = join(import.meta.dirname, 'fixtures')

/** A tool that servers of these tests list. */
export const RAIN = {
  name: 'get_rain',
  description: 'Tells how much rain fell in a city.',
  inputSchema: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'number' } },
    required: ['city'],
  },
}

/** Runs the command line in a separate folder for each test, with its own home. */
export function useCommandLine(options: Pick<TerminalOptions, 'schedule'> = {}) {
  const start = process.cwd()
  let folder = ''
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolcrib-cli-')))
    mkdirSync(path('home'))
    // Servers run in the working directory of the process.
    process.chdir(folder)
  })
  afterEach(() => {
    process.chdir(start)
    rmSync(folder, { recursive: true })
  })

  const path = (...names: string[]) => join(folder, ...names)
  const environment = (more: Record<string, string> = {}) => ({
    ...process.env,
    HOME: path('home'),
    XDG_CONFIG_HOME: path('home', '.config'),
    XDG_CACHE_HOME: path('home', '.cache'),
    XDG_STATE_HOME: path('home', '.local', 'state'),
    NO_COLOR: '1',
    ...more,
  })

  return {
    /** A path in the folder of the test. */
    path,
    environment,
    /** Runs a command to completion, in this process. */
    toolcrib: (...args: string[]) => run(args, {}),
    /** The same with additional environment variables. */
    toolcribWith: (env: Record<string, string>, ...args: string[]) => run(args, env),
    /** Runs a command at a terminal of that width, and returns what it shows. Nobody answers its questions. */
    toolcribAt: async (columns: number, ...args: string[]) => {
      const screen = Object.assign(new PassThrough(), { isTTY: true, columns })
      const place = { env: environment(), cwd: folder, output: screen, errors: screen, ...options }
      await runCommandLine(args, fakeTerminal(place).terminal)
      // Progress is written over.
      return stripVTControlCharacters(String(screen.read() ?? '')).replace(/[^\n]*\r/g, '')
    },
    /** Starts a command as a process, and returns it with a promise of its end. */
    start: (args: readonly string[], more: SpawnOptions = {}) => {
      const place = { cwd: folder, env: environment(), ...more }
      const child = spawn(process.execPath, [inject('commandLine'), ...args], place)
      const output = { stdout: '', stderr: '' }
      child.stdout?.on('data', (chunk) => (output.stdout += chunk))
      child.stderr?.on('data', (chunk) => (output.stderr += chunk))
      const ended = new Promise<{ status: number | null; stdout: string; stderr: string }>((resolve) =>
        child.once('close', (status) => resolve({ status, ...output })),
      )
      return { child, ended }
    },
    write: (name: string, text: string) => writeFileSync(path(name), text),
    /** Sets what the changing server lists from now on. */
    list: (...tools: object[]) => writeFileSync(path('tools.json'), JSON.stringify(tools)),
    configure: (mcpServers: object) => writeFileSync(path('.mcp.json'), JSON.stringify({ mcpServers })),
    /** A server that lists what was passed to `list()`. */
    server: (...args: string[]) => fixture('changing-server.mjs', path('tools.json'), ...args),
    /** A server that logs its calls to `calls.txt`; they end once there is a `calls.txt.end`. */
    slowServer: () => fixture('slow-server.mjs', path('calls.txt')),
    /** A server that never responds. */
    silentServer: () => ({ command: process.execPath, args: ['-e', 'setInterval(() => {}, 1e6)'] }),
    /** Whether the changing server has been started. */
    wasStarted: () => existsSync(path('tools.json.started')),
    forgetStart: () => rmSync(path('tools.json.started'), { force: true }),
  }

  async function run(args: readonly string[], env: Record<string, string>) {
    const input = Readable.from(['{"city": "Oslo"}'])
    const place = { env: environment(env), cwd: folder, ...options }
    const { terminal, stdout, stderr } = fakeTerminal({ input, ...place })
    const status = await runCommandLine(args, terminal)
    return { status, stdout: stdout(), stderr: stderr(), json: () => JSON.parse(stdout()) }
  }
}

function fixture(name: string, ...args: string[]) {
  return { command: process.execPath, args: [join(FIXTURES, name), ...args] }
}

/** Resolves once a file exists. */
export async function appeared(path: string): Promise<void> {
  while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 20))
}
