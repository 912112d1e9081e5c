/**
 * `npm run trace`: counts the source files that run during one turn, and during an MCP server's start, search and call. A
 * file counts if V8 saw at least one of its functions run during the scenario; loading a module does not count.
 *
 *     npm run trace                  the files per room
 *     npm run trace -- --files       every file
 *     npm run trace -- --root DIR    another checkout, to compare
 */
import { Session as Inspector } from 'node:inspector/promises'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const here = fileURLToPath(new URL('../..', import.meta.url))
const args = process.argv.slice(2)
const root = resolve(args.includes('--root') ? (args[args.indexOf('--root') + 1] ?? here) : here)
const load = (path: string) => import(pathToFileURL(join(root, path)).href)

const { ToolRegistry } = await load('packages/core/src/index.ts')
const { connectServers } = await load('packages/mcp/src/index.ts')

const inspector = new Inspector()
inspector.connect()
await inspector.post('Profiler.enable')
await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

await trace('a turn with a search and a call', async () => {
  const session = await lazySession()
  return async () => {
    session.surface()
    const search = { toolCallId: '1', name: 'tool_search', args: { query: 'weather forecast' } }
    await session.execute([search])
    session.surface()
    await session.execute([{ toolCallId: '2', name: 'mcp__weather__forecast', args: { city: 'Bern' } }])
  }
})

await trace('one call', async () => {
  const session = await lazySession()
  return () => session.execute([{ toolCallId: '1', name: 'mcp__weather__forecast', args: { city: 'Bern' } }])
})

await trace("an MCP server's start, a search and a call", async () => async () => {
  const registry = new ToolRegistry({ mode: 'lazy' })
  const script = join(here, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
  const servers = connectServers(registry, {
    mcpServers: { everything: { command: process.execPath, args: [script, 'stdio'] } },
  })
  await servers.ready({ timeoutMs: 30_000 })
  const session = await registry.openSession()
  await session.execute([{ toolCallId: '1', name: 'tool_search', args: { query: 'echo a message' } }])
  const [result] = await session.execute([
    { toolCallId: '2', name: 'mcp__everything__echo', args: { message: 'hello' } },
  ])
  if (!result?.result.ok) throw new Error(`the call failed: ${JSON.stringify(result)}`)
  await servers.close()
})

process.exit(0)

async function lazySession() {
  const registry = new ToolRegistry({ mode: 'lazy' })
  const tool = (name: string, description: string) => ({
    name,
    description,
    inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
    execute: () => ({ ok: true as const, value: 'sunny' }),
  })
  registry.syncMcp('weather', [
    tool('forecast', 'Weather forecast of a city'),
    tool('rain', 'Rain of a city'),
  ])
  return registry.openSession()
}

/** Prepares a scenario, runs it, and prints the files that ran. */
async function trace(name: string, prepare: () => Promise<() => Promise<unknown>>): Promise<void> {
  const scenario = await prepare()
  // Taking coverage resets the counters, so that earlier code does not count.
  await inspector.post('Profiler.takePreciseCoverage')
  await scenario()
  const { result } = await inspector.post('Profiler.takePreciseCoverage')
  const files = result
    .filter(({ functions }) =>
      functions.some(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0),
    )
    .flatMap(({ url }) => sourceOf(url))
    .sort()
  console.log(`\n${name}: ${files.length} files`)
  for (const [room, count] of countByRoom(files)) console.log(`  ${String(count).padStart(3)} ${room}`)
  if (args.includes('--files')) for (const file of files) console.log(`      ${file}`)
}

function sourceOf(url: string): string[] {
  if (!url.startsWith('file:')) return []
  const path = relative(join(root, 'packages'), fileURLToPath(url))
  return path.startsWith('..') || path.startsWith('/') ? [] : [path.replace('/src/', '/')]
}

function countByRoom(files: readonly string[]): [string, number][] {
  const rooms = new Map<string, number>()
  for (const file of files) {
    const [packageName = '', ...path] = file.split('/')
    const room = path.length > 1 ? `${packageName}/${path[0]}` : packageName
    rooms.set(room, (rooms.get(room) ?? 0) + 1)
  }
  return [...rooms].sort()
}
