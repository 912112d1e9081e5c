// Scripts whose processes are killed at random, with one or two owners at once:
//   npm run crash -- [--kills 1000] [--redis]
// Counts the writes in the world. Exits with 1 if a write ran twice, or if a script was said to be done and was not. Afterwards
// every script is done, unclear or failed. --redis needs redis-server; without it, the store is a folder.
import { type ChildProcess, fork } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { ToolResult } from '@toolcrib/core'
import { bundle } from '../../test/bundle-programs.ts'
import { RedisServer } from '../../test/redis-server.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '1000' },
    redis: { type: 'boolean', default: false },
  },
})

const WRITES = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
/** Longer than most scripts take. */
const MAX_LIFE_MS = 900
const SIDE_BY_SIDE = 3

const root = join(import.meta.dirname, '../..')
const cache = join(root, 'node_modules', '.cache')
mkdirSync(cache, { recursive: true })
const folder = mkdtempSync(join(cache, 'toolcrib-crash-'))
const redis = values.redis ? await RedisServer.start() : undefined
const counts = { runs: 0, kills: 0, done: 0, unclear: 0, unrecorded: 0, failed: 0, doubled: 0, falseDone: 0 }
try {
  await bundle({ owner: join(import.meta.dirname, 'owner.ts') }, join(folder, 'dist'))
  symlinkSync(join(root, 'packages/scripts/worker'), join(folder, 'worker'))
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, runMany))
} finally {
  await redis?.close()
  rmSync(folder, { recursive: true })
}
console.log(`${redis ? 'redis' : 'files'}: ${JSON.stringify(counts)}`)
if (counts.doubled + counts.falseDone > 0) process.exitCode = 1

async function runMany(): Promise<void> {
  while (counts.kills < Number(values.kills)) judge(...(await runOne(`run-${++counts.runs}`)))
}

/** Starts owners until one of them says how the script ended. */
async function runOne(run: string): Promise<[ToolResult, readonly string[]]> {
  const world = join(folder, `${run}.txt`)
  for (;;) {
    const first = own(run, world)
    const owners = Math.random() < 0.4 ? [first, own(run, world)] : [first]
    const results = (await Promise.all(owners)).filter((result) => result !== undefined)
    const [result] = results
    if (result) return [result, linesOf(world)]
  }
}

/** One owner, which is mostly killed; undefined if it said nothing. */
function own(run: string, world: string): Promise<ToolResult | undefined> {
  const place = redis?.url ?? join(folder, 'store')
  const owner = fork(join(folder, 'dist', 'owner.js'), [run, world, place])
  return new Promise((resolve) => {
    let said: ToolResult | undefined
    owner.on('message', (message) => {
      if (message === 'ready') killSoon(owner)
      else said = message as ToolResult
    })
    owner.on('exit', () => resolve(said))
  })
}

function killSoon(owner: ChildProcess): void {
  const kill = () => {
    if (owner.exitCode === null && owner.kill('SIGKILL')) counts.kills++
  }
  if (Math.random() < 0.9) setTimeout(kill, Math.random() * MAX_LIFE_MS).unref()
  // One whose script another owner holds, or that nobody began, ends all the same.
  else setTimeout(kill, 20 * MAX_LIFE_MS).unref()
}

function judge(result: ToolResult, lines: readonly string[]): void {
  if (new Set(lines).size < lines.length) {
    counts.doubled++
    console.error(`doubled: ${lines.join(' ')}: ${JSON.stringify(result)}`)
  }
  if (result.ok) {
    counts.done++
    if (WRITES.every((id) => lines.includes(id))) return
    counts.falseDone++
    console.error(`not done: ${lines.join(' ')}: ${JSON.stringify(result)}`)
  } else if (result.code === 'unclear') {
    // Killed inside a recorded write, or before the first pause.
    if (result.error.includes('May or may not have happened')) counts.unclear++
    else counts.unrecorded++
  } else {
    counts.failed++
    console.error(`failed: ${JSON.stringify(result)}`)
  }
}

function linesOf(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').trim().split('\n')
  } catch {
    return []
  }
}
