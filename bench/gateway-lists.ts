// How long does one server's list stop the gateway for everybody else? Measures the longest block of its event loop while a
// large list is read, compared with a lockfile, remembered, searched, shown and changed. `npm run bench -- gateway-lists`
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Connection, connect } from './gateway/bare-client.ts'
import { buildGateway } from './gateway/build-gateway.ts'
import { type Contender, ENVIRONMENT, foldersIn, MAIN, startToolcrib } from './gateway/contenders.ts'
import { processorSeconds } from './gateway/measures.ts'
import { printTable } from './report.ts'

const GOAL_MS = 50
const CHARACTERS = 700
const CHANGE_MS = 200
const WATCH_MS = 10_000

export async function run({
  smoke,
  tools,
}: {
  readonly smoke: boolean
  readonly tools?: number
}): Promise<void> {
  buildGateway()
  // Ten tools show what a start costs anyway: modules are loaded and compiled.
  const counts = tools === undefined ? [10, 3_000, 20_000, 50_000] : [tools]
  for (const count of smoke ? [100] : counts) {
    const folder = await mkdtemp(join(tmpdir(), 'toolcrib-bench-'))
    try {
      const rows = await measure(folder, count, smoke ? 1_000 : WATCH_MS)
      console.log(
        `gateway-lists: ${count.toLocaleString('en-US')} tools of ${CHARACTERS} characters (goal: no block over ${GOAL_MS} ms)`,
      )
      printTable(rows)
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    }
  }
}

type Row = Record<string, string | number>

async function measure(folder: string, count: number, watchMs: number): Promise<Row[]> {
  const rows: Row[] = []
  const still = [String(count), String(CHARACTERS)]
  await withGateway(folder, still, [], async (watched) => {
    rows.push(await watched.during('start, nothing remembered', () => watched.lists('many')))
    rows.push(await watched.during('first search', () => watched.search()))
    rows.push(await watched.during('second search', () => watched.search()))
    rows.push(await watched.during('/api/overview', () => watched.get('/api/overview')))
    rows.push(await watched.during('/api/tools', () => watched.get('/api/tools')))
    rows.push(await watched.during('saving', () => sleep(3_000)))
  })
  await withGateway(folder, still, [], async (watched) => {
    rows.push(await watched.during('start, remembered', () => watched.lists('many')))
    rows.push(await watched.during('first search, remembered', () => watched.search()))
  })
  await withGateway(folder, still, ['--mode', 'full'], async (watched) => {
    rows.push(await watched.during('tools/list in full', () => watched.connection.request('tools/list', {})))
  })
  await promisify(execFile)(process.execPath, [MAIN, 'lock', '--config', join(folder, 'mcp.json')], {
    env: { ...ENVIRONMENT, ...foldersIn(folder) },
    cwd: folder,
  })
  await rm(join(folder, 'cache'), { recursive: true, force: true })
  await withGateway(folder, still, [], async (watched) => {
    rows.push(await watched.during('start, locked', () => watched.lists('many')))
    rows.push(await watched.during('call, locked', () => watched.call()))
  })
  await rm(join(folder, 'toolcrib.lock'), { force: true })
  await withGateway(folder, [...still, String(CHANGE_MS)], [], async (watched) => {
    await watched.lists('many')
    rows.push(await watched.during(`changes every ${CHANGE_MS} ms`, () => sleep(watchMs)))
  })
  return rows
}

async function withGateway(
  folder: string,
  args: readonly string[],
  flags: readonly string[],
  use: (watched: WatchedGateway) => Promise<void>,
): Promise<void> {
  const blocksFile = join(folder, 'blocks')
  await writeFile(blocksFile, '')
  const startedAt = Date.now()
  const script = join(import.meta.dirname, 'gateway', 'many-tools.mjs')
  const gateway = await startToolcrib({
    folder,
    servers: { many: { command: process.execPath, args: [script, ...args], connectTimeoutMs: 120_000 } },
    flags: ['--operator-token-file', join(folder, 'operator'), ...flags],
    nodeFlags: ['--require', join(import.meta.dirname, 'gateway', 'report-blocks.cjs')],
    env: { BLOCKS_FILE: blocksFile },
  })
  try {
    const connection = await connect(gateway.endpoint)
    const operator = (await readFile(join(folder, 'operator'), 'utf8')).trim()
    await use(new WatchedGateway(gateway, connection, { blocksFile, operator, startedAt }))
    await connection.close()
  } finally {
    await gateway.close()
  }
}

/** A gateway, and how long its event loop was blocked. */
class WatchedGateway {
  readonly connection: Connection
  readonly #gateway: Contender
  readonly #files: { readonly blocksFile: string; readonly operator: string }
  #from: number

  constructor(
    gateway: Contender,
    connection: Connection,
    {
      startedAt,
      ...files
    }: { readonly blocksFile: string; readonly operator: string; readonly startedAt: number },
  ) {
    this.#gateway = gateway
    this.connection = connection
    this.#files = files
    this.#from = startedAt
  }

  async during(what: string, work: () => Promise<unknown>): Promise<Row> {
    const startedAt = performance.now()
    const usedBefore = processorSeconds(this.#gateway.pid)
    const failure = await work().then(() => '', String)
    const seconds = (performance.now() - startedAt) / 1_000
    const used = processorSeconds(this.#gateway.pid) - usedBefore
    // A block is reported after it ends.
    await sleep(100)
    const lines = (await readFile(this.#files.blocksFile, 'utf8'))
      .split('\n')
      .map((line) => line.split(' ').map(Number))
    const blocks = lines.flatMap(([at = 0, ms = 0]) => (at >= this.#from ? [ms] : []))
    this.#from = Date.now()
    return {
      what,
      'longest block, ms': Math.max(0, ...blocks),
      'blocks over 50 ms': blocks.filter((ms) => ms > GOAL_MS).length,
      seconds: seconds.toFixed(1),
      'of a core': `${Math.round((100 * used) / seconds)} %`,
      failure: failure.slice(0, 60),
    }
  }

  /** Waits until the tools of a server are known. */
  async lists(server: string): Promise<void> {
    for (let tries = 0; tries < 600; tries++) {
      const { servers } = (await this.get('/api/overview')) as {
        servers: { server: string; tools?: number }[]
      }
      if (servers.some((one) => one.server === server && (one.tools ?? 0) > 0)) return
      await sleep(200)
    }
    throw new Error('the tools are never listed')
  }

  search(): Promise<unknown> {
    return this.connection.request('tools/call', {
      name: 'tool_search',
      arguments: { query: 'create an invoice' },
    })
  }

  call(): Promise<unknown> {
    const params = { name: 'many__archive_create_invoice_0', arguments: {} }
    return this.connection.request('tools/call', { name: 'call_tool', arguments: params })
  }

  async get(path: string): Promise<unknown> {
    const headers = { authorization: `Bearer ${this.#files.operator}` }
    const response = await fetch(new URL(path, this.#gateway.endpoint.url), { headers })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return await response.json()
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
