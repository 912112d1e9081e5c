import { readFileSync } from 'node:fs'
import { connect } from './bare-client.ts'
import { MEMORY, startToolcrib, type ToolcribOptions } from './contenders.ts'
import { percentile } from './measures.ts'

const GOAL_MS = 300
const TOOLS_PER_SERVER = 9

/** A gateway whose servers have been asked before, so that it knows their tools. */
export interface Remembered extends ToolcribOptions {
  readonly tools: number
}

/** Starts a gateway of so many servers once, and waits until all have listed their tools. */
export async function remember(folder: string, count: number): Promise<Remembered> {
  const servers = Object.fromEntries(Array.from({ length: count }, (_, at) => [`memory${at}`, MEMORY]))
  const options = { folder, servers, flags: ['--mode', 'full'], tools: count * TOOLS_PER_SERVER }
  const gateway = await startToolcrib(options)
  for (let tries = 0; tries < 300; tries++) {
    const connection = await connect(gateway.endpoint)
    const { tools } = await connection.request('tools/list', {})
    await connection.close()
    if ((tools as unknown[]).length >= options.tools) break
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  await gateway.close()
  return options
}

/** How long a start takes until the first list, and the processor time of its main thread until then; NaN if unknown. */
export interface StartTimes {
  readonly ms: number
  readonly cpuMs: number
}

/** Starts the gateway and lists its tools. Throws when some are not remembered. */
export async function timeFirstList(remembered: Remembered): Promise<StartTimes> {
  const startedAt = performance.now()
  const gateway = await startToolcrib(remembered)
  try {
    const connection = await connect(gateway.endpoint)
    const { tools } = await connection.request('tools/list', {})
    const times = { ms: performance.now() - startedAt, cpuMs: processorMs(gateway.pid) }
    await connection.close()
    const listed = (tools as unknown[]).length
    if (listed < remembered.tools)
      throw new Error(`only ${listed} of ${remembered.tools} tools are remembered`)
    return times
  } finally {
    await gateway.close()
  }
}

/** Prints the median of some starts. */
export async function printFirstList(remembered: Remembered, starts: number): Promise<void> {
  const times: StartTimes[] = []
  for (let nth = 0; nth < starts; nth++) times.push(await timeFirstList(remembered))
  const { ms, cpuMs } = medianOf(times)
  const missed = ms < GOAL_MS ? '' : '  MISSED'
  const servers = Object.keys(remembered.servers).length
  console.log(
    `gateway: from start to the first tools/list, ${servers} cached servers, ${remembered.tools} tools`,
  )
  console.log(
    `  ${ms.toFixed(0)} ms, ${cpuMs.toFixed(0)} of them computing (goal: under ${GOAL_MS})${missed}`,
  )
}

export function medianOf(times: readonly StartTimes[]): StartTimes {
  const median = (key: keyof StartTimes) =>
    percentile(
      times.map((each) => each[key]),
      50,
    )
  return { ms: median('ms'), cpuMs: median('cpuMs') }
}

function processorMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  } catch {
    return Number.NaN
  }
}
