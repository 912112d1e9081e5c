import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const ROOT = join(import.meta.dirname, '..', '..')
const FIXTURE = join(ROOT, 'test', 'fixtures', 'conformance-server.mjs')

/** The ways in which the server behind the gateway can be reached. */
export const UPSTREAMS = {
  'stdio-modern': { transport: 'stdio', era: 'modern' },
  'http-modern': { transport: 'http', era: 'modern' },
  'stdio-legacy': { transport: 'stdio', era: 'legacy' },
  'http-legacy': { transport: 'http', era: 'legacy' },
} as const

export type UpstreamName = keyof typeof UPSTREAMS

/** The conformance server, as a config names it; over HTTP it runs until it is disposed of. */
export async function startFixture(name: UpstreamName): Promise<AsyncDisposable & { config: object }> {
  const { transport, era } = UPSTREAMS[name]
  const args = [FIXTURE, '--era', era]
  if (transport === 'stdio')
    return { config: { command: process.execPath, args }, [Symbol.asyncDispose]: async () => {} }
  const child = spawn(process.execPath, [...args, '--http'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const url = await firstLine(child)
  return { config: { type: 'http', url }, [Symbol.asyncDispose]: () => ended(child) }
}

/** `toolcrib serve` with this one server, every tool under its own name; from dist/ or from src/. */
export async function startGateway(
  folder: string,
  server: object,
  { isBuilt, mode = 'full' }: { readonly isBuilt: boolean; readonly mode?: string },
): Promise<AsyncDisposable & { url: string }> {
  await mkdir(folder, { recursive: true })
  const config = join(folder, 'mcp.json')
  await writeFile(config, JSON.stringify({ mcpServers: { conformance: server } }))
  const flags = [
    '--no-token',
    '--mode',
    mode,
    '--names',
    'plain',
    '--port',
    '0',
    '--json',
    '--config',
    config,
  ]
  const program = isBuilt
    ? [join(ROOT, 'packages', 'toolcrib', 'dist', 'main.js')]
    : ['--import', 'tsx', join(ROOT, 'packages', 'toolcrib', 'src', 'main.ts')]
  const child = spawn(process.execPath, [...program, 'serve', ...flags], {
    cwd: ROOT,
    env: { ...process.env, XDG_CACHE_HOME: join(folder, 'cache'), XDG_STATE_HOME: join(folder, 'state') },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const { url } = JSON.parse(await firstLine(child))
  return { url, [Symbol.asyncDispose]: () => ended(child) }
}

/**
 * Waits until a tool can be called, so that the server runs: the suite waits 600 ms for some answers, which is less than a
 * server takes to start.
 */
export async function warmUp(url: string): Promise<void> {
  let answer = ''
  for (let tries = 0; tries < 60; tries++) {
    answer = await callSimpleText(url)
    if (answer.includes('simple text')) return
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  throw new Error(`the gateway is not ready: ${answer}`)
}

/** Waits until the server behind a gateway has been asked for its tools, so that its capabilities are known. */
export async function listed(url: string): Promise<void> {
  for (let tries = 0; tries < 60; tries++) {
    const answer = await post(url, 'tools/list', {})
    if (answer.includes('inputSchema')) return
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  throw new Error('the gateway lists no tools')
}

function callSimpleText(url: string): Promise<string> {
  return post(url, 'tools/call', { name: 'test_simple_text', arguments: {} })
}

async function post(url: string, method: string, params: Readonly<Record<string, unknown>>): Promise<string> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  }
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof params.name === 'string' ? { 'mcp-name': params.name } : {}),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  })
  return response.text()
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
