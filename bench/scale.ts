/**
 * How large may a catalogue be? Registering, indexing, saving and loading the index, searching, updating a server and
 * opening a session, at 10,000 to 1,000,000 tools, each size in a process of its own. The tools are real ones, then copies
 * of their servers with other words; they are outside the repository, in ../shared/data, and without them those of
 * bench/recall are used. `npm run bench -- scale --tools 100000` measures one size.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { printTable } from './report.ts'
import type { ScaleFigures, Times } from './scale/measure.ts'

const SIZES = [10_000, 100_000, 300_000, 1_000_000]
const SMOKE_SIZE = 2_000

/** For a million tools; smaller catalogues are well below. */
const GOALS = { p50: 8, update: 100, load: 10_000, megabytes: 3_000 }

export async function run({ smoke, tools }: { smoke: boolean; tools?: number }): Promise<void> {
  const sizes = tools === undefined ? (smoke ? [SMOKE_SIZE] : SIZES) : [tools]
  console.log(
    'scale: ms by the clock, on the processor in brackets: on a busy machine only these tell about the code',
  )
  for (const size of sizes) {
    const figures = await measureApart(size, smoke)
    printTable(rowsOf(figures))
    // The goals are for large catalogues.
    if (!smoke) for (const line of missed(figures)) console.log(`  ${line}`)
  }
}

/** Megabytes of heap per tool, twice what it takes, since two indexes are measured. */
const HEAP_PER_TOOL = 0.009

async function measureApart(size: number, smoke: boolean): Promise<ScaleFigures> {
  const script = fileURLToPath(new URL('scale/measure.ts', import.meta.url))
  const types = fileURLToPath(new URL('plain-types.mjs', import.meta.url))
  const heap = `--max-old-space-size=${Math.round(1_000 + HEAP_PER_TOOL * size)}`
  const flags = [heap, '--import', pathToFileURL(types).href, script, String(size), smoke ? 'smoke' : 'full']
  const { stdout } = await promisify(execFile)(process.execPath, flags, { maxBuffer: 1e6 })
  return JSON.parse(stdout)
}

function rowsOf(figures: ScaleFigures): Record<string, string>[] {
  const { tools, register, index, save, load, short, long, update, surface, firstSession, session } = figures
  const saved = `${figures.savedMegabytes.toFixed(0)} MB`
  const rows: (readonly [string, string, string?])[] = [
    ['registered', told(register)],
    ['indexed, first search', told(index)],
    ['index saved', `${told(save)}, ${saved}`],
    ['first search from the saved index', told(load), `${GOALS.load} ms`],
    ['3 to 5 words, p50', told(short.p50), `${GOALS.p50} ms`],
    ['3 to 5 words, p95', told(short.p95)],
    ['several requests in one, p50', told(long.p50)],
    ['several requests in one, p95', told(long.p95)],
    ['one server updated, and found', told(update), `${GOALS.update} ms`],
    ['surface after that', told(surface)],
    ['first session', told(firstSession)],
    ['another session', told(session)],
    ['memory', `${figures.megabytes.toFixed(0)} MB`, `${GOALS.megabytes} MB`],
  ]
  return rows.map(([what, value, goal = '']) => ({
    [`${tools.toLocaleString('en-US')} tools`]: what,
    measured: value,
    'goal at a million': goal,
  }))
}

function told({ ms, busyMs }: Times): string {
  const digits = (value: number) => (value < 20 ? value.toFixed(2) : value.toFixed(0))
  return `${digits(ms)} (${digits(busyMs)})`
}

function missed({ short, update, load, megabytes }: ScaleFigures): string[] {
  const goals: (readonly [string, number, number])[] = [
    ['p50', leastOf(short.p50), GOALS.p50],
    ['update', leastOf(update), GOALS.update],
    ['ready from the saved index', leastOf(load), GOALS.load],
    ['memory', megabytes, GOALS.megabytes],
  ]
  return goals
    .filter(([, value, goal]) => value > goal)
    .map(([what, value, goal]) => `MISSED: ${what} ${value.toFixed(1)}, goal ${goal}`)
}

/** The clock also counts other programs, and the processor all threads that collect garbage beside the work. */
function leastOf({ ms, busyMs }: Times): number {
  return Math.min(ms, busyMs)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await run({ smoke: process.argv.includes('--smoke') })
