// How long does a search through the gateway take, over HTTP, with all its tools at one server? `npm run bench --
// gateway-search`
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from './gateway/bare-client.ts'
import { buildGateway } from './gateway/build-gateway.ts'
import { startToolcrib } from './gateway/contenders.ts'
import { percentile } from './gateway/measures.ts'

const GOAL_MS = 3
const QUERIES = [
  'create an invoice',
  'list open issues',
  'send a message',
  'delete old files',
  'rain in Oslo',
]

export async function run({ smoke }: { readonly smoke: boolean }): Promise<void> {
  buildGateway()
  const folder = await mkdtemp(join(tmpdir(), 'toolcrib-bench-'))
  const count = smoke ? 100 : 2_600
  const script = join(import.meta.dirname, 'gateway', 'many-tools.mjs')
  const servers = { many: { command: process.execPath, args: [script, String(count)] } }
  const gateway = await startToolcrib({ folder, servers, flags: ['--mode', 'lazy'] })
  try {
    const connection = await connect(gateway.endpoint)
    // Lists once the server has.
    await connection.request('tools/list', {})
    const timed = (work: () => Promise<unknown>) => timesOf(smoke ? 10 : 300, work)
    let nth = 0
    const search = () => {
      const query = `${QUERIES[nth % QUERIES.length]} ${nth++}`
      return connection.request('tools/call', { name: 'tool_search', arguments: { query } })
    }
    // As many to warm up as calls get in the benchmark of calls.
    await timed(search)
    const searches = await timed(search)
    const pings = await timed(() => connection.request('ping', {}))
    await connection.close()
    const p50 = percentile(searches, 50)
    const missed = p50 < GOAL_MS ? '' : '  MISSED'
    console.log(`gateway-search: a search of ${count.toLocaleString('en-US')} tools, through HTTP`)
    console.log(
      `  p50 ${p50.toFixed(2)} ms, p95 ${percentile(searches, 95).toFixed(2)} ms (goal: p50 under ${GOAL_MS})${missed}`,
    )
    console.log(`  a ping beside it: p50 ${percentile(pings, 50).toFixed(2)} ms`)
  } finally {
    await gateway.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

async function timesOf(times: number, work: () => Promise<unknown>): Promise<number[]> {
  const taken: number[] = []
  for (let nth = 0; nth < times; nth++) {
    const startedAt = performance.now()
    await work()
    taken.push(performance.now() - startedAt)
  }
  return taken
}
