import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { connect, type Endpoint } from './bare-client.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const PEERS = ['mcp-proxy@6.7', 'supergateway@4.0', 'mcp-hub@4.2']
export const EVERYTHING = { command: process.execPath, args: [serverScript('everything')] }
export const MEMORY = { command: process.execPath, args: [serverScript('memory')] }

/**
 * What every program that is measured gets. Where this variable is set, Node.js reads a bundle of certificates at each start,
 * which takes longer than the rest of its own start; nothing outside this machine is reached.
 */
export const ENVIRONMENT: NodeJS.ProcessEnv = { ...process.env, NODE_EXTRA_CA_CERTS: '' }

/** An MCP server over HTTP with the reference server behind it. */
export interface Contender {
  readonly endpoint: Endpoint
  readonly pid: number
  /** Its name for the tool `echo`. */
  readonly tool: string
  readonly hasProcessPerSession?: boolean
  close(): Promise<void>
}

/** Installs the peers from npm. Returns their folder; undefined, with a note, when that fails. */
export async function installPeers(): Promise<string | undefined> {
  const folder = join(ROOT, '.bench', 'gateway-peers')
  if (existsSync(join(folder, 'node_modules', 'mcp-hub'))) return folder
  try {
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'package.json'), '{ "private": true }\n')
    execFileSync('npm', ['install', '--no-audit', '--no-fund', ...PEERS], { cwd: folder, stdio: 'ignore' })
    return folder
  } catch {
    console.log(`gateway: ${PEERS.join(', ')} could not be installed, and are left out`)
    return undefined
  }
}

/** How to start each. */
export function contenders(
  folder: string,
  peers: string | undefined,
): Readonly<Record<string, () => Promise<Contender>>> {
  const own = {
    'bare server': startBareServer,
    toolcrib: async () => {
      const own = { folder: join(folder, 'calls'), servers: { everything: EVERYTHING } }
      const contender = await startToolcrib(own)
      await answers(contender.endpoint, contender.tool)
      return contender
    },
  }
  if (peers === undefined) return own
  const bin = (name: string) => join(peers, 'node_modules', '.bin', name)
  const behind = [EVERYTHING.command, ...EVERYTHING.args]
  return {
    ...own,
    'mcp-proxy': () =>
      startPeer(bin('mcp-proxy'), (port) => [
        '--port',
        port,
        '--host',
        '127.0.0.1',
        '--server',
        'stream',
        '--',
        ...behind,
      ]),
    supergateway: () =>
      startPeer(
        bin('supergateway'),
        (port) => [
          '--stdio',
          behind.join(' '),
          '--outputTransport',
          'streamableHttp',
          '--port',
          port,
          '--logLevel',
          'none',
        ],
        { hasProcessPerSession: true },
      ),
    'mcp-hub': async () => {
      const config = join(folder, 'mcp-hub.json')
      await writeFile(config, JSON.stringify({ mcpServers: { everything: EVERYTHING } }))
      return startPeer(bin('mcp-hub'), (port) => ['--port', port, '--config', config], {
        transport: 'sse',
        tool: 'everything__echo',
      })
    },
  }
}

export interface ToolcribOptions {
  readonly folder: string
  readonly servers: Readonly<Record<string, object>>
  readonly flags?: readonly string[]
  /** Flags of Node.js. */
  readonly nodeFlags?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
}

/** `toolcrib serve` as built. Its cache is in the folder. */
export async function startToolcrib(options: ToolcribOptions): Promise<Contender> {
  const { folder, servers, flags = [], nodeFlags = [], env = {} } = options
  await mkdir(folder, { recursive: true })
  const config = join(folder, 'mcp.json')
  await writeFile(config, JSON.stringify({ mcpServers: servers }))
  const child = spawn(
    process.execPath,
    [...nodeFlags, MAIN, 'serve', '--port', '0', '--json', '--config', config, ...flags],
    {
      env: { ...ENVIRONMENT, ...foldersIn(folder), ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const exited = once(child, 'exit').then(([status]) => {
    throw new Error(`toolcrib serve exited with ${status}`)
  })
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), exited])
  const { url, token, pid } = JSON.parse(String(line))
  const headers = { authorization: `Bearer ${token}` }
  return {
    endpoint: { url, transport: 'streamable', headers },
    pid,
    tool: 'everything__echo',
    close: () => ended(child),
  }
}

/** The command line as built. */
export const MAIN = join(ROOT, 'packages', 'toolcrib', 'dist', 'main.js')

/** Where a program that is measured keeps its files. */
export function foldersIn(folder: string): NodeJS.ProcessEnv {
  return { XDG_CACHE_HOME: join(folder, 'cache'), XDG_STATE_HOME: join(folder, 'state') }
}

async function startBareServer(): Promise<Contender> {
  const env = (port: string) => ({ ...ENVIRONMENT, PORT: port })
  return startPeer(EVERYTHING.command, () => [...EVERYTHING.args, 'streamableHttp'], { env })
}

interface PeerOptions {
  readonly env?: (port: string) => NodeJS.ProcessEnv
  readonly transport?: Endpoint['transport']
  readonly tool?: string
  readonly hasProcessPerSession?: boolean
}

async function startPeer(
  command: string,
  args: (port: string) => readonly string[],
  { env = () => ENVIRONMENT, transport = 'streamable', tool = 'echo', ...more }: PeerOptions = {},
): Promise<Contender> {
  const port = await freePort()
  const child = spawn(command, args(port), { env: env(port), stdio: 'ignore', detached: true })
  const endpoint: Endpoint = { url: `http://127.0.0.1:${port}/mcp`, transport }
  await answers(endpoint, tool)
  return { endpoint, pid: child.pid ?? 0, tool, ...more, close: () => ended(child, { isGroup: true }) }
}

/** Waits until a call succeeds. */
async function answers(endpoint: Endpoint, tool: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      const connection = await connect(endpoint)
      await connection.request('tools/call', { name: tool, arguments: { message: 'ready?' } })
      return await connection.close()
    } catch (error) {
      if (tries === 100) throw error
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }
}

async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('there is no free port')
  return String(address.port)
}

async function ended(child: ChildProcess, { isGroup = false } = {}): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  if (isGroup) process.kill(-child.pid, 'SIGKILL')
  else child.kill('SIGTERM')
  await exited
}

function serverScript(name: string): string {
  const manifest = createRequire(import.meta.url).resolve(`@modelcontextprotocol/server-${name}/package.json`)
  return join(dirname(manifest), 'dist', 'index.js')
}
