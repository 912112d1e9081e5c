/**
 * Which storage should `fileStore` use? Runs the same work through each candidate: latency of small and large values,
 * two processes updating one counter, a process killed while it writes, startup time, install size. Candidates that
 * Toolcrib does not use are compared if they are installed: `npm install --prefix /tmp/candidates lmdb better-sqlite3
 * proper-lockfile write-file-atomic` and then `CANDIDATES=/tmp/candidates npm run bench -- store`.
 */
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'
import { printTable } from './report.ts'
import { CANDIDATES, type CandidateKind, KINDS } from './store/candidates.ts'

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  console.log(`store: candidates for the file store, Node.js ${process.version}`)
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-bench-store-'))
  try {
    const bench = new StoreBench(folder, await bundleWorker(folder), smoke)
    const kinds = KINDS.filter(isInstalled)
    const missing = KINDS.filter((kind) => !kinds.includes(kind)).map(({ name }) => name)
    if (missing.length > 0) console.log(`  not installed here: ${missing.join(', ')}`)
    const rows = []
    for (const kind of kinds) rows.push(await bench.measure(kind))
    printTable(rows.map(({ latency }) => latency))
    printTable(rows.map(({ safety }) => safety))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const COUNTERS = 6
/** When the lock of a killed process counts as stale, for candidates that use locks. */
const STALE_AFTER_MS = 2_100

interface CountOptions {
  readonly rounds: number
  readonly each: number
  readonly killFirst?: boolean
}

interface Row {
  readonly latency: Record<string, string | number>
  readonly safety: Record<string, string | number>
}

class StoreBench {
  readonly #folder: string
  readonly #worker: string
  readonly #smoke: boolean

  constructor(folder: string, worker: string, smoke: boolean) {
    this.#folder = folder
    this.#worker = worker
    this.#smoke = smoke
  }

  async measure(kind: CandidateKind): Promise<Row> {
    const figures = (await this.#work(kind, 'latency', 'latency', this.#smoke ? 5 : 100)) as Record<
      string,
      number
    >
    const latency = Object.entries(figures).map(([what, ms]) => [what, `${ms.toFixed(3)} ms`])
    const lost = await this.#countLost(kind, { rounds: 1, each: this.#smoke ? 2 : 50 })
    const lostAfterKill = await this.#countLost(kind, {
      rounds: this.#smoke ? 1 : 10,
      each: 2,
      killFirst: true,
    })
    const recovery = await this.#kill(kind)
    return {
      latency: { candidate: kind.name, ...Object.fromEntries(latency) },
      safety: {
        candidate: kind.name,
        'updates lost': lost,
        'after kill -9': lostAfterKill,
        'values torn by it': recovery.torn,
        'longest wait after it': `${recovery.longestMs.toFixed(0)} ms`,
        start: `${(await this.#start(kind)).toFixed(0)} ms`,
        install: `${(installedBytes(kind.packages) / 1e6).toFixed(1)} MB`,
      },
    }
  }

  /** Several processes update one counter, optionally after another was killed while writing to it. */
  async #countLost(kind: CandidateKind, { rounds, each, killFirst }: CountOptions): Promise<string> {
    const place = killFirst ? 'count-after-kill' : 'count'
    for (let round = 0; round < rounds; round++) {
      if (killFirst) {
        await this.#runAndKill(kind, place, 'hold', { afterMs: 20 + round * 7 })
        await new Promise((resolve) => setTimeout(resolve, STALE_AFTER_MS))
      }
      await this.#countTogether(kind, place, each)
    }
    const expected = COUNTERS * each * rounds
    return `${expected - Number(await this.#work(kind, place, 'read'))} of ${expected}`
  }

  async #countTogether(kind: CandidateKind, place: string, each: number): Promise<void> {
    const children = Array.from({ length: COUNTERS }, () =>
      spawn(process.execPath, this.#arguments(kind, place, 'count', each)),
    )
    const ended = Promise.all(children.map((child) => new Promise((resolve) => child.once('exit', resolve))))
    await Promise.all(children.map(({ stdout }) => new Promise((resolve) => stdout.once('data', resolve))))
    for (const { stdin } of children) stdin.write('go')
    await ended
  }

  /** Kills a process in the middle of its writes; another reads the value, and writes. */
  async #kill(kind: CandidateKind): Promise<{ torn: string; longestMs: number }> {
    const rounds = this.#smoke ? 1 : 8
    const bytes = 2 * 1_024 * 1_024
    let torn = 0
    let longestMs = 0
    for (let round = 0; round < rounds; round++) {
      await this.#runAndKill(kind, 'kill', 'scribble', { afterMs: 20 + round * 7, count: bytes })
      const { isWhole, ms } = (await this.#work(kind, 'kill', 'recover', bytes)) as {
        isWhole: boolean
        ms: number
      }
      if (!isWhole) torn++
      longestMs = Math.max(longestMs, ms)
    }
    return { torn: `${torn} of ${rounds}`, longestMs }
  }

  async #runAndKill(
    kind: CandidateKind,
    place: string,
    job: string,
    { afterMs, count = 0 }: { afterMs: number; count?: number },
  ): Promise<void> {
    const child = spawn(process.execPath, this.#arguments(kind, place, job, count))
    const ended = new Promise((resolve) => child.once('exit', resolve))
    await new Promise((resolve) => child.stdout.once('data', resolve))
    await new Promise((resolve) => setTimeout(resolve, afterMs))
    child.kill('SIGKILL')
    await ended
  }

  async #start(kind: CandidateKind): Promise<number> {
    await this.#work(kind, 'start', 'seed')
    const times: number[] = []
    for (let round = 0; round < (this.#smoke ? 1 : 9); round++)
      times.push(Number(await this.#work(kind, 'start', 'start')))
    return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN
  }

  async #work(kind: CandidateKind, place: string, job: string, count = 0): Promise<unknown> {
    const { stdout } = await promisify(execFile)(process.execPath, this.#arguments(kind, place, job, count))
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
  }

  #arguments(kind: CandidateKind, place: string, job: string, count: number): string[] {
    const directory = join(this.#folder, `${kind.name.replace(':', '-')}-${place}`)
    mkdirSync(directory, { recursive: true })
    return [this.#worker, kind.name, directory, job, String(count)]
  }
}

/** Bundled as shipped, so that the startup time does not include a compiler. */
async function bundleWorker(folder: string): Promise<string> {
  const file = join(folder, 'worker.mjs')
  const bundle = await rolldown({ input: join(import.meta.dirname, 'store/worker.ts'), platform: 'node' })
  await bundle.write({ dir: folder, entryFileNames: 'worker.mjs' })
  await bundle.close()
  return file
}

function isInstalled({ name, packages }: CandidateKind): boolean {
  const { resolve } = createRequire(join(CANDIDATES, 'package.json'))
  try {
    for (const required of name.startsWith('node:') ? [name] : packages) resolve(required)
    return true
  } catch {
    return false
  }
}

/** The size of packages with all their dependencies, as npm installed them. */
function installedBytes(packages: readonly string[]): number {
  const wanted = new Set(packages)
  let bytes = 0
  for (const name of wanted) {
    const folder = join(CANDIDATES, 'node_modules', name)
    if (!existsSync(folder)) continue
    bytes += folderBytes(folder)
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const { dependencies = {}, optionalDependencies = {} } = manifest
    for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) wanted.add(needed)
  }
  return bytes
}

function folderBytes(folder: string): number {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await run({ smoke: false })
