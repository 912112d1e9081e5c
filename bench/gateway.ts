// What does the gateway cost, compared with other gateways and with the bare server over HTTP, using a bare HTTP
// client? All of them use the same reference server; peers are installed from npm if missing. `npm run bench --
// gateway`
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from './gateway/bare-client.ts'
import { buildGateway } from './gateway/build-gateway.ts'
import { type Contender, contenders, installPeers } from './gateway/contenders.ts'
import { printFirstList, remember } from './gateway/first-list.ts'
import { percentile, residentMegabytes } from './gateway/measures.ts'
import { printTable, ratio } from './report.ts'

export async function run({ smoke }: { readonly smoke: boolean }): Promise<void> {
  buildGateway()
  const folder = await mkdtemp(join(tmpdir(), 'toolcrib-bench-'))
  try {
    await compareCalls(folder, smoke)
    await printFirstList(await remember(join(folder, 'remembered'), smoke ? 3 : 30), smoke ? 1 : 9)
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

interface CallFigures {
  readonly p50: number
  readonly p95: number
  readonly perSecond: number
  readonly sessionsMegabytes: number
}

async function compareCalls(folder: string, smoke: boolean): Promise<void> {
  const peers = smoke ? undefined : await installPeers()
  const figures = new Map<string, CallFigures>()
  for (const [name, start] of Object.entries(contenders(folder, peers))) {
    try {
      // In a process of its own, while the heap is as small as it gets; some never recover from so many sessions.
      const megabytes = await withContender(start, (contender) =>
        measureSessions(contender, smoke ? 20 : 500),
      ).catch(() => Number.NaN)
      const calls = await withContender(start, (contender) => measureCalls(contender, smoke))
      figures.set(name, { ...calls, sessionsMegabytes: megabytes })
    } catch (error) {
      console.log(`gateway: ${name} could not be measured: ${error instanceof Error ? error.message : error}`)
    }
  }
  const [bare, own, proxy] = ['bare server', 'toolcrib', 'mcp-proxy'].map((name) => figures.get(name))
  const sessions = smoke ? 20 : 500
  console.log('gateway: one call of echo, calls at 50 in flight, and what sessions add to the memory')
  printTable(
    [...figures].map(([name, { p50, p95, perSecond, sessionsMegabytes }]) => ({
      name,
      'p50 ms': p50.toFixed(2),
      'p95 ms': p95.toFixed(2),
      'calls/s': Math.round(perSecond),
      [`MB for ${sessions} sessions`]: sessionsMegabytes.toFixed(0),
    })),
  )
  console.log(`  p50 ${ratio(own?.p50, bare?.p50)} the bare server's (goal: at most 1.00×)`)
  if (proxy) console.log(`  calls/s ${ratio(own?.perSecond, proxy.perSecond)} mcp-proxy's (goal: 1.50×)`)
}

async function withContender<Figures>(
  start: () => Promise<Contender>,
  measure: (contender: Contender) => Promise<Figures>,
): Promise<Figures> {
  const contender = await start()
  try {
    return await measure(contender)
  } finally {
    await contender.close()
  }
}

/** A contender that takes half a second per call should not take a minute. */
const MEASURE_MS = 8_000

async function measureCalls(
  contender: Contender,
  smoke: boolean,
): Promise<Omit<CallFigures, 'sessionsMegabytes'>> {
  const connection = await connect(contender.endpoint)
  const call = () =>
    connection.request('tools/call', { name: contender.tool, arguments: { message: 'hello' } })
  await repeat(call, { times: smoke ? 5 : 300, atOnce: 10, limitMs: MEASURE_MS / 2 })
  const times: number[] = []
  await repeat(
    async () => {
      const startedAt = performance.now()
      await call()
      times.push(performance.now() - startedAt)
    },
    { times: smoke ? 20 : 1_000, atOnce: 1, limitMs: MEASURE_MS },
  )
  const rate = await repeat(call, { times: smoke ? 50 : 4_000, atOnce: 50, limitMs: MEASURE_MS })
  await connection.close()
  return { p50: percentile(times, 50), p95: percentile(times, 95), perSecond: rate }
}

/** How much `count` sessions add to the memory of the process itself; NaN where each would be a separate process. */
async function measureSessions(contender: Contender, count: number): Promise<number> {
  if (contender.hasProcessPerSession) return Number.NaN
  const before = residentMegabytes(contender.pid)
  const startedAt = performance.now()
  for (let made = 0; made < count; made++) {
    // Some take ever longer.
    if (performance.now() - startedAt > 3 * MEASURE_MS) return Number.NaN
    await connect(contender.endpoint)
  }
  const after = residentMegabytes(contender.pid)
  return after - before
}

/** Runs work a number of times, several at once, and returns how many finished per second. */
async function repeat(
  work: () => Promise<unknown>,
  { times, atOnce, limitMs }: { times: number; atOnce: number; limitMs: number },
): Promise<number> {
  const startedAt = performance.now()
  let begun = 0
  let done = 0
  const worker = async () => {
    while (begun < times && performance.now() - startedAt < limitMs) {
      begun++
      await work()
      done++
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return (done / (performance.now() - startedAt)) * 1_000
}
