import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const ROOT = join(import.meta.dirname, '..', '..')
const FIXTURE = join(ROOT, 'test', 'fixtures', 'conformance-server.mjs')

/** The ways to reach the server behind the gateway. */
export const UPSTREAMS = {
  'stdio-modern': { transport: 'stdio', era: 'modern' },
  'http-modern': { transport: 'http', era: 'modern' },
  'stdio-legacy': { transport: 'stdio', era: 'legacy' },
  'http-legacy': { transport: 'http', era: 'legacy' },
} as const

export type UpstreamName = keyof typeof UPSTREAMS

/** The conformance server's config; over HTTP, the server runs until it is disposed. */
export async function startFixture(name: UpstreamName): Promise<AsyncDisposable & { config: object }> {
  const { transport, era } = UPSTREAMS[name]
  const args = [FIXTURE, '--era', era]
  if (transport === 'stdio')
    return { config: { command: process.execPath, args }, [Symbol.asyncDispose]: async () => {} }
  const child = spawn(process.execPath, [...args, '--http'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const url = await firstLine(child)
  return { config: { type: 'http', url }, [Symbol.asyncDispose]: () => ended(child) }
}

/** `toolcrib serve` with only this server, and every tool under its own name. */
export async function startGateway(
  folder: string,
  server: object,
): Promise<AsyncDisposable & { url: string }> {
  await mkdir(folder, { recursive: true })
  const config = join(folder, 'mcp.json')
  await writeFile(config, JSON.stringify({ mcpServers: { conformance: server } }))
  const flags = [
    '--no-token',
    '--mode',
    'full',
    '--names',
    'plain',
    '--port',
    '0',
    '--json',
    '--config',
    config,
  ]
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', join(ROOT, 'src', 'cli', 'main.ts'), 'serve', ...flags],
    {
      cwd: ROOT,
      env: { ...process.env, XDG_CACHE_HOME: join(folder, 'cache'), XDG_STATE_HOME: join(folder, 'state') },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const { url } = JSON.parse(await firstLine(child))
  return { url, [Symbol.asyncDispose]: () => ended(child) }
}

async function firstLine(child: ChildProcess): Promise<string> {
  const exited = once(child, 'exit').then(([status]) => {
    throw new Error(`the process exited with ${status} before it was ready`)
  })
  if (!child.stdout) throw new Error('the output of the process is not read')
  const line = once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text))
  return Promise.race([line, exited])
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}
