import { type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { buildCommandLine } from './cli-process.ts'

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

/** The command line in a folder that every test gets anew, with a home of its own. */
export function useCommandLine() {
  let cli: Awaited<ReturnType<typeof buildCommandLine>>
  let folder = ''
  beforeAll(async () => {
    cli = await buildCommandLine()
  })
  afterAll(() => cli.remove())
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolcrib-cli-')))
    mkdirSync(path('home'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const path = (...names: string[]) => join(folder, ...names)
  const environment = (more: Record<string, string> = {}) => ({
    ...process.env,
    HOME: path('home'),
    XDG_CONFIG_HOME: path('home', '.config'),
    XDG_CACHE_HOME: path('home', '.cache'),
    NO_COLOR: '1',
    ...more,
  })
  const options = (env: Record<string, string>) => ({ cwd: folder, env: environment(env) })

  return {
    /** A path in the folder of the test. */
    path,
    environment,
    main: () => cli.main,
    /** Runs a command to its end, as a process of its own. */
    toolcrib: (...args: string[]) => run(args, {}),
    /** The same with more in the environment. */
    toolcribWith: (env: Record<string, string>, ...args: string[]) => run(args, env),
    /** Starts a command, and answers it with its end to come. */
    start: (args: readonly string[], more: SpawnOptions = {}) => {
      const child = spawn(process.execPath, [cli.main, ...args], { ...options({}), ...more })
      const output = { stdout: '', stderr: '' }
      child.stdout?.on('data', (chunk) => (output.stdout += chunk))
      child.stderr?.on('data', (chunk) => (output.stderr += chunk))
      const ended = new Promise<{ status: number | null; stdout: string; stderr: string }>((resolve) =>
        child.once('close', (status) => resolve({ status, ...output })),
      )
      return { child, ended }
    },
    write: (name: string, text: string) => writeFileSync(path(name), text),
    /** What the changing server lists from now on. */
    list: (...tools: object[]) => writeFileSync(path('tools.json'), JSON.stringify(tools)),
    configure: (mcpServers: object) => writeFileSync(path('.mcp.json'), JSON.stringify({ mcpServers })),
    /** A server that lists what `list()` said. */
    server: (...args: string[]) => fixture('changing-server.mjs', path('tools.json'), ...args),
    /** A server whose calls take for ever; it writes what happens to them into a file. */
    slowServer: () => fixture('slow-server.mjs', path('calls.txt')),
    /** A server that never says a word. */
    silentServer: () => ({ command: process.execPath, args: ['-e', 'setInterval(() => {}, 1e6)'] }),
    /** How often a server has been started that lists what `list()` said. */
    wasStarted: () => existsSync(path('tools.json.started')),
    forgetStart: () => rmSync(path('tools.json.started'), { force: true }),
  }

  function run(args: readonly string[], env: Record<string, string>) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [cli.main, ...args], {
      ...options(env),
      encoding: 'utf8',
      input: '{"city": "Oslo"}',
    })
    return { status, stdout, stderr, json: () => JSON.parse(stdout) }
  }
}

function fixture(name: string, ...args: string[]) {
  return { command: process.execPath, args: [join(FIXTURES, name), ...args] }
}

/** Resolves once a file is there. */
export async function appeared(path: string): Promise<void> {
  while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 20))
}
