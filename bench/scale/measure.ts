/** Measures one size, in a process of its own; prints the figures as one line of JSON. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { hybrid, type Tool, ToolRegistry } from 'toolcrib'
import { staticEmbedder } from 'toolcrib/embedders'
import { longQueries, realQueries, shortQueries } from '../hybrid/speed-catalogue.ts'
import { publicSets } from '../recall/public-sets.ts'
import { baseTools, ScaleCatalogue, type ScaleServer } from './catalogue.ts'

/** What one size costs: milliseconds and megabytes. */
export interface ScaleFigures {
  readonly tools: number
  readonly register: Times
  /** Until the first search has its answer. */
  readonly index: Times
  readonly save: Times
  readonly savedMegabytes: number
  /** Until the first search of an index that starts from the saved one has its answer. */
  readonly load: Times
  readonly short: Quantiles
  readonly long: Quantiles
  /** One server changes, and a search has seen it. */
  readonly update: Times
  /** A session's surface after that. */
  readonly surface: Times
  readonly firstSession: Times
  readonly session: Times
  readonly megabytes: number
}

export interface Times {
  readonly ms: number
  readonly busyMs: number
}

interface Quantiles {
  readonly p50: Times
  readonly p95: Times
}

const UPDATES = 7
const LONG_QUERIES = 20

export async function measureSize(count: number, smoke: boolean): Promise<ScaleFigures> {
  const base = await baseTools({ smoke })
  const catalogue = new ScaleCatalogue(base)
  const searcher = hybrid({ embedder: staticEmbedder() })
  const registry = new ToolRegistry({ searcher })
  const before = usedMegabytes()
  let register = NOTHING
  let last: ScaleServer | undefined
  for (const server of catalogue.servers(count)) {
    const tools = server.tools.map(toTool)
    register = sum(register, await timed(() => registry.syncMcp(server.name, tools)))
    last = server
  }
  const index = await timed(() => registry.search('opens the index'))
  const firstSession = await timed(() => openSession(registry))
  const session = await timed(() => openSession(registry))
  const megabytes = usedMegabytes() - before
  const cases = smoke ? [] : await publicSets()
  const short = await quantiles(registry, shortQueries(base, smoke ? 50 : 300))
  const long = await quantiles(registry, requestsForSeveral(await realQueries(cases, 12)))
  const updates = await measureUpdates(registry, last)
  let bytes: Uint8Array | undefined
  const save = await timed(() => {
    bytes = searcher.exportIndex()
  })
  const savedMegabytes = (bytes?.length ?? 0) / 1e6
  const load = await measureLoad(registry, bytes ?? new Uint8Array(0))
  return {
    tools: registry.size,
    register,
    index,
    save,
    savedMegabytes,
    load,
    short,
    long,
    ...updates,
    firstSession,
    session,
    megabytes,
  }
}

/** Real requests for several things; three requests in one where there are too few. */
function requestsForSeveral(real: readonly string[]): string[] {
  const long = longQueries(real)
  const joined = real.slice(2).map((query, at) => `${real[at]}, then ${real[at + 1]}, and ${query}`)
  return [...long, ...(long.length < LONG_QUERIES ? joined : [])].slice(0, LONG_QUERIES)
}

async function openSession(registry: ToolRegistry) {
  const session = await registry.openSession({ mode: 'lazy' })
  session.surface()
  return session
}

/** One tool of a server changes: until a search has seen it, and until a session's surface has. */
async function measureUpdates(registry: ToolRegistry, server: ScaleServer | undefined) {
  const open = await openSession(registry)
  const updates: Times[] = []
  const surfaces: Times[] = []
  for (let turn = 0; turn < UPDATES && server !== undefined; turn++) {
    const [first, ...others] = server.tools
    if (first === undefined) break
    const tools = [{ ...first, description: `${first.description} (${turn})` }, ...others].map(toTool)
    const update = await timed(async () => {
      registry.syncMcp(server.name, tools)
      await registry.search('send a message')
    })
    updates.push(update)
    surfaces.push(await timed(() => open.surface()))
  }
  return { update: median(updates), surface: median(surfaces) }
}

/** A second registry of the same tools, whose first search starts from the saved index. */
async function measureLoad(registry: ToolRegistry, bytes: Uint8Array): Promise<Times> {
  const searcher = hybrid({ embedder: staticEmbedder() })
  searcher.importIndex(bytes)
  return await timed(() => registry.search('opens the index', { searcher }))
}

function toTool({ name, description, inputSchema }: ScaleServer['tools'][number]): Tool {
  return { name, description, inputSchema, execute }
}

const execute: Tool['execute'] = () => ({ ok: true, value: '' })

async function quantiles(registry: ToolRegistry, queries: readonly string[]): Promise<Quantiles> {
  const times: Times[] = []
  for (const pass of [0, 1, 2]) {
    for (const [at, query] of queries.entries()) {
      const took = await timed(() => registry.search(query))
      const known = times[at]
      // The first pass is warm-up; of the others, the quicker one counts.
      if (pass === 1) times[at] = took
      else if (pass === 2 && known !== undefined)
        times[at] = { ms: Math.min(known.ms, took.ms), busyMs: Math.min(known.busyMs, took.busyMs) }
    }
  }
  return { p50: quantile(times, 0.5), p95: quantile(times, 0.95) }
}

function median(times: readonly Times[]): Times {
  return quantile(times, 0.5)
}

function quantile(times: readonly Times[], share: number): Times {
  const at = (figures: number[]) =>
    figures.sort((a, b) => a - b)[Math.floor(share * figures.length)] ?? Number.NaN
  return { ms: at(times.map(({ ms }) => ms)), busyMs: at(times.map(({ busyMs }) => busyMs)) }
}

/** Time by the clock, and on the processor: on a busy machine, only the second says something about the code. */
async function timed(action: () => unknown): Promise<Times> {
  const cpu = process.cpuUsage()
  const start = performance.now()
  await action()
  const ms = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  return { ms, busyMs: (user + system) / 1000 }
}

const NOTHING: Times = { ms: 0, busyMs: 0 }

function sum(a: Times, b: Times): Times {
  return { ms: a.ms + b.ms, busyMs: a.busyMs + b.busyMs }
}

/** Megabytes in use after a garbage collection, including typed arrays. */
function usedMegabytes(): number {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return (heapUsed + arrayBuffers) / 1e6
}

const [count, smoke] = process.argv.slice(2)
console.log(JSON.stringify(await measureSize(Number(count), smoke === 'smoke')))
