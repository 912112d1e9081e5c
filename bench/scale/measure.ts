/** Measures one size, in a process of its own; prints the figures as one line of JSON. */
import { hybrid, type Tool, ToolRegistry } from 'toolcrib'
import { staticEmbedder } from 'toolcrib/embedders'
import { longQueries, realQueries, shortQueries } from '../hybrid/speed-catalogue.ts'
import { publicSets } from '../recall/public-sets.ts'
import { baseTools, ScaleCatalogue, type ScaleServer } from './catalogue.ts'
import { usedMegabytes } from './memory.ts'

/** What one size costs: milliseconds and megabytes. */
export interface ScaleFigures {
  readonly tools: number
  readonly register: number
  readonly index: number
  readonly short: Quantiles
  readonly long: Quantiles
  readonly update: number
  readonly firstSession: number
  readonly session: number
  readonly megabytes: number
}

interface Quantiles {
  readonly p50: number
  readonly p95: number
}

const UPDATES = 7

export async function measureSize(count: number, smoke: boolean): Promise<ScaleFigures> {
  const base = await baseTools({ smoke })
  const catalogue = new ScaleCatalogue(base)
  const searcher = hybrid({ embedder: staticEmbedder() })
  const registry = new ToolRegistry({ searcher })
  const before = usedMegabytes()
  let register = 0
  let last: ScaleServer | undefined
  for (const server of catalogue.servers(count)) {
    const tools = server.tools.map(toTool)
    register += timed(() => registry.syncMcp(server.name, tools))
    last = server
  }
  note('registered')
  const index = await timedAsync(() => registry.search('opens the index'))
  note('indexed')
  const openSession = async () => {
    const session = await registry.openSession({ mode: 'lazy' })
    session.surface()
    return session
  }
  const firstSession = await timedAsync(openSession)
  const session = await timedAsync(openSession)
  const megabytes = usedMegabytes() - before
  const cases = smoke ? [] : await publicSets()
  const real = await realQueries(cases, 12)
  const short = await quantiles(registry, shortQueries(base, smoke ? 50 : 300))
  const long = await quantiles(registry, longQueries(real).slice(0, 60))
  note('searched')
  const open = await openSession()
  const updates: number[] = []
  for (let turn = 0; turn < UPDATES && last !== undefined; turn++) {
    const { name, tools } = last
    const changed = tools.map((tool, at) =>
      toTool(at === 0 ? { ...tool, description: `${tool.description} (${turn})` } : tool),
    )
    const took = await timedAsync(async () => {
      registry.syncMcp(name, changed)
      open.surface()
      await registry.search('send a message')
    })
    updates.push(took)
  }
  updates.sort((a, b) => a - b)
  const update = updates[UPDATES >> 1] ?? 0
  return { tools: registry.size, register, index, short, long, update, firstSession, session, megabytes }
}

function toTool({ name, description, inputSchema }: ScaleServer['tools'][number]): Tool {
  return { name, description, inputSchema, execute }
}

const execute: Tool['execute'] = () => ({ ok: true, value: '' })

async function quantiles(registry: ToolRegistry, queries: readonly string[]): Promise<Quantiles> {
  const times: number[] = []
  for (const pass of [0, 1]) {
    for (const query of queries) {
      const took = await timedAsync(() => registry.search(query))
      if (pass === 1) times.push(took)
    }
  }
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(share * times.length)] ?? 0
  return { p50: at(0.5), p95: at(0.95) }
}

function timed(action: () => unknown): number {
  const start = performance.now()
  action()
  return performance.now() - start
}

async function timedAsync(action: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await action()
  return performance.now() - start
}

function note(what: string): void {
  if (process.env.SCALE_NOTES) console.error(what, Math.round(performance.now()), Math.round(usedMegabytes()))
}

const [count, smoke] = process.argv.slice(2)
console.log(JSON.stringify(await measureSize(Number(count), smoke === 'smoke')))
