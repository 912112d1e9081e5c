/** One process of a candidate: `worker <kind> <directory> <job> [number]`. Prints its result on stdout, as JSON. */
import { type Candidate, KINDS } from './candidates.ts'

const [name, directory = '', job = '', number = '0'] = process.argv.slice(2)
const count = Number(number)
const started = performance.now()
const kind = KINDS.find((known) => known.name === name)
if (kind === undefined) throw new Error(`unknown candidate ${name}`)
const candidate = kind.open(directory)

const JOBS: Record<string, (candidate: Candidate) => Promise<unknown>> = {
  /** The time until the first value is read, including loading. */
  async start(opened) {
    await opened.get('seed')
    return performance.now() - started
  },
  async seed(opened) {
    await opened.set('seed', new Uint8Array(1_024))
  },
  latency: measureLatency,
  /** Starts on a line of input, at the same time as the other processes. */
  async count(opened) {
    console.log('ready')
    await new Promise((resolve) => process.stdin.once('data', resolve))
    process.stdin.unref()
    for (let round = 0; round < count; round++) await opened.update('counter', increment)
  },
  /** Until killed: writes values whose bytes are all equal, so that a torn one is visible. */
  async scribble(opened) {
    console.log('ready')
    for (let round = 0; ; round++) await opened.update('page', () => new Uint8Array(count).fill(round % 256))
  },
  /** Until killed: rewrites the counter unchanged. */
  async hold(opened) {
    console.log('ready')
    for (;;) await opened.update('counter', (current) => current ?? new Uint8Array(4))
  },
  async read(opened) {
    const bytes = await opened.get('counter')
    return bytes === undefined ? 0 : readNumber(bytes)
  },
  /** Whether the value is intact, and how long the next update takes. */
  async recover(opened) {
    const page = await opened.get('page')
    const isWhole = page === undefined || (page.length === count && page.every((byte) => byte === page[0]))
    const start = performance.now()
    await opened.update('page', () => new Uint8Array(count))
    return { isWhole, ms: performance.now() - start }
  },
}

const found = await JOBS[job]?.(candidate)
console.log(JSON.stringify(found ?? null))
await candidate.close()

async function measureLatency(opened: Candidate): Promise<Record<string, number>> {
  const figures: Record<string, number> = {}
  for (const [label, bytes, rounds] of [
    ['1 KB', 1_024, count],
    ['2 MB', 2 * 1_024 * 1_024, Math.ceil(count / 10)],
  ] as const) {
    // Different each time, because SQLite skips writing an unchanged value.
    const values = Array.from({ length: rounds }, (_, round) => new Uint8Array(bytes).fill(round))
    const next = () => values.pop() ?? new Uint8Array(bytes)
    const kept = [...values]
    figures[`set ${label}`] = await medianOf(rounds, () => opened.set(label, next()))
    figures[`get ${label}`] = await medianOf(rounds, () => opened.get(label))
    values.push(...kept)
    figures[`update ${label}`] = await medianOf(rounds, () => opened.update(label, next))
  }
  return figures
}

async function medianOf(rounds: number, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const start = performance.now()
    await work()
    times.push(performance.now() - start)
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN
}

function increment(current: Uint8Array | undefined): Uint8Array {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, (current === undefined ? 0 : readNumber(current)) + 1)
  return bytes
}

function readNumber(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0)
}
