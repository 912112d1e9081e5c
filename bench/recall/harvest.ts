import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { ToolRegistry } from '../../packages/core/src/tool-registry.ts'
import { connectServers } from '../../packages/mcp/src/index.ts'
import type { EvalTool } from '../../packages/toolcrib/src/eval/load-case.ts'
import type { PublishedServer } from './published-servers.ts'

const START_TIMEOUT_MS = 60_000
const INSTALL_TIMEOUT_MS = 300_000
const PING_TIMEOUT_MS = 10_000

/** The tools of the servers, and which servers could not be asked. */
export interface Harvest {
  readonly tools: readonly EvalTool[]
  readonly failures: readonly { readonly server: string; readonly reason: string }[]
}

/**
 * Asks published servers for their tools: each is installed into `folder` (without its install scripts), started with
 * made-up credentials and its own home, and asked once. The result is cached there. A server that cannot be installed
 * or started is left out, with the reason.
 */
export async function harvest(servers: readonly PublishedServer[], folder: string): Promise<Harvest> {
  await mkdir(folder, { recursive: true })
  const tools: EvalTool[] = []
  const failures: { server: string; reason: string }[] = []
  const registry = once(reachRegistry)
  // One at a time: two dozen servers starting at once would time out.
  for (const server of servers) {
    try {
      // A server runs in its own folder, where a relative path to its program would lead nowhere.
      tools.push(...(await askOnce(server, resolve(folder), registry)))
    } catch (failure) {
      failures.push({ server: server.name, reason: reasonOf(failure) })
    }
  }
  return { tools, failures }
}

async function askOnce(
  server: PublishedServer,
  folder: string,
  registry: () => Promise<void>,
): Promise<readonly EvalTool[]> {
  const identity = createHash('sha256').update(JSON.stringify(server)).digest('hex').slice(0, 16)
  const file = join(folder, `${server.name}-${identity}.json`)
  if (existsSync(file)) return JSON.parse(await readFile(file, 'utf8'))
  const home = join(folder, server.name)
  await mkdir(home, { recursive: true })
  const packageFolder = server.isAtHand ? ownFolder(server) : await install(server, home, registry)
  const tools = await listTools(server, await startScript(packageFolder, server.bin), home)
  await writeFile(`${file}.draft`, JSON.stringify(tools))
  await rename(`${file}.draft`, file)
  return tools
}

function ownFolder(server: PublishedServer): string {
  return dirname(createRequire(import.meta.url).resolve(`${server.package}/package.json`))
}

/** Installs the package into its own folder, so that a failing one does not affect the others. */
async function install(
  { package: name, version }: PublishedServer,
  home: string,
  registry: () => Promise<void>,
): Promise<string> {
  const folder = join(home, 'node_modules', name)
  if (existsSync(folder)) return folder
  await registry()
  console.log(`  installing ${name}@${version}`)
  await writeFile(join(home, 'package.json'), '{ "private": true }')
  const flags = ['--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund', '--loglevel=error']
  await runNpm(['install', ...flags, `${name}@${version}`], { cwd: home, timeout: INSTALL_TIMEOUT_MS })
  return folder
}

/** Rejects when npm's registry cannot be reached. Checked once, since npm is slow to give up. */
async function reachRegistry(): Promise<void> {
  try {
    await runNpm(['ping', '--fetch-retries=0', `--fetch-timeout=${PING_TIMEOUT_MS}`], {})
  } catch (cause) {
    throw new Error("npm's registry cannot be reached, so it could not be installed", { cause })
  }
}

const runNpm = (args: readonly string[], options: { cwd?: string; timeout?: number }) =>
  promisify(execFile)('npm', args, options)

function once(action: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= action()
    return done
  }
}

async function startScript(folder: string, wanted: string | undefined): Promise<string> {
  const { bin }: { bin?: string | Record<string, string> } = JSON.parse(
    await readFile(join(folder, 'package.json'), 'utf8'),
  )
  const script = typeof bin === 'object' ? (wanted ? bin[wanted] : Object.values(bin)[0]) : bin
  if (script === undefined) throw new Error('the package has no command to start')
  return join(folder, script)
}

async function listTools(
  server: PublishedServer,
  script: string,
  home: string,
): Promise<readonly EvalTool[]> {
  const { name, args = [], env = {} } = server
  const config = {
    command: process.execPath,
    args: [script, ...args],
    cwd: home,
    env: { HOME: home, ...env },
  }
  const connected = connectServers(new ToolRegistry(), { mcpServers: { [name]: config } })
  try {
    const [status] = await connected.ready({ timeoutMs: START_TIMEOUT_MS })
    const tools = connected.tools(name) ?? []
    if (tools.length === 0)
      throw new Error(status && 'reason' in status ? status.reason : 'it lists no tools')
    return tools.map(({ name: tool, description, inputSchema }) => ({
      id: `${name}/${tool}`,
      server: name,
      name: tool,
      description: description ?? '',
      inputSchema,
    }))
  } finally {
    await connected.close()
  }
}

function reasonOf(failure: unknown): string {
  const message = failure instanceof Error ? failure.message : String(failure)
  const lines = message.split('\n').filter((line) => line.trim() !== '')
  // npm prints the cause on a separate line, below the command.
  const told = lines.find((line) => /^npm error (?!code)/.test(line)) ?? lines[0]
  return (told ?? 'it gave no reason').slice(0, 200)
}
