// What do MCP servers cost? The time to the first search, with cached and with connected servers, and how much a call
// through the registry adds to one with the bare SDK. `npm run bench -- mcp`
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { ToolRegistry } from '../packages/core/src/tool-registry.ts'
import { connectServers } from '../packages/mcp/src/index.ts'
import { fileStore } from '../packages/mcp/src/stores/file-store.ts'

const CALL_GOAL = 1.3

export async function run({ smoke }: { readonly smoke: boolean }): Promise<void> {
  const servers = smoke ? 3 : 30
  const directory = await mkdtemp(join(tmpdir(), 'toolcrib-bench-'))
  try {
    const connectedMs = await timeFirstSearch(servers, directory)
    const rememberedMs = await timeFirstSearch(servers, directory)
    console.log(`mcp: from start to the first search, ${servers} servers`)
    console.log(`  connected   ${connectedMs.toFixed(0)} ms`)
    console.log(`  cached      ${rememberedMs.toFixed(1)} ms`)
    console.log(`  ratio ${(connectedMs / rememberedMs).toFixed(0)}`)
  } finally {
    await rm(directory, { recursive: true })
  }
  const { bareMicros, toolMicros, throughMicros } = await timeCalls({
    rounds: smoke ? 2 : 40,
    callsARound: smoke ? 20 : 250,
  })
  const ratio = throughMicros / bareMicros
  const toolRatio = toolMicros / bareMicros
  console.log('mcp: one call of echo over stdio, median')
  console.log(`  the bare SDK client   ${bareMicros.toFixed(0)} µs`)
  console.log(`  the registered tool   ${toolMicros.toFixed(0)} µs, ratio ${toolRatio.toFixed(2)}`)
  console.log(`  through the registry  ${throughMicros.toFixed(0)} µs`)
  console.log(`  ratio ${ratio.toFixed(2)} (goal: under ${CALL_GOAL})${ratio < CALL_GOAL ? '' : '  MISSED'}`)
}

const MEMORY_SERVER = serverScript('memory')

async function timeFirstSearch(count: number, directory: string): Promise<number> {
  const mcpServers = Object.fromEntries(
    Array.from({ length: count }, (_, at) => [
      `memory${at}`,
      { command: process.execPath, args: [MEMORY_SERVER] },
    ]),
  )
  const registry = new ToolRegistry({ serverWaitMs: 120_000 })
  const startedAt = performance.now()
  const connected = connectServers(registry, { mcpServers }, { store: fileStore({ directory }) })
  const { total } = await registry.search('read the knowledge graph')
  const elapsedMs = performance.now() - startedAt
  if (total < count) throw new Error(`only ${total} of ${count} servers' tools were found`)
  await connected.close()
  return elapsedMs
}

/** Alternates between the two, so that other load on the machine affects both. */
async function timeCalls({ rounds, callsARound }: { rounds: number; callsARound: number }) {
  const server = { command: process.execPath, args: [serverScript('everything')] }
  const bare = new Client({ name: 'bench', version: '1' })
  await bare.connect(new StdioClientTransport({ ...server, stderr: 'ignore' }))
  await bare.listTools()
  const registry = new ToolRegistry()
  const connected = connectServers(registry, { mcpServers: { everything: server } })
  await connected.ready()

  const callBare = (message: string) => bare.callTool({ name: 'echo', arguments: { message } })
  const callThrough = (message: string) =>
    registry.executeParallel([{ toolCallId: '1', name: 'mcp__everything__echo', args: { message } }], {
      sessionId: 's',
    })
  const tool = registry.get('mcp__everything__echo')
  const context = {
    context: undefined,
    sessionId: 's',
    toolCallId: '1',
    turnCount: 0,
    resultLimitChars: 80_000,
  }
  const callTool = async (message: string) =>
    tool?.execute({ message }, { ...context, signal: new AbortController().signal })
  const micros: Record<'bare' | 'tool' | 'through', number[]> = { bare: [], tool: [], through: [] }
  for (let round = 0; round < rounds; round++) {
    for (const [way, call] of [
      ['bare', callBare],
      ['tool', callTool],
      ['through', callThrough],
    ] as const) {
      for (let nth = 0; nth < callsARound; nth++) {
        const startedAt = performance.now()
        await call(`${round}/${nth}`)
        // The first half is warm-up.
        if (round >= rounds / 2) micros[way].push((performance.now() - startedAt) * 1_000)
      }
    }
  }
  await connected.close()
  await bare.close()
  return {
    bareMicros: median(micros.bare),
    toolMicros: median(micros.tool),
    throughMicros: median(micros.through),
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function serverScript(name: string): string {
  const manifest = createRequire(import.meta.url).resolve(`@modelcontextprotocol/server-${name}/package.json`)
  return join(dirname(manifest), 'dist', 'index.js')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await run({ smoke: process.argv.includes('--smoke') })
}
