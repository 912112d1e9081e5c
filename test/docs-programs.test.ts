import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type Block, ROOT, readPages } from '../scripts/docs/pages.ts'
import { bundle } from './bundle-programs.ts'
import { startWireServer, type WireServer } from './dialects/wire-server/wire-server.ts'

// Inside the checkout, so that dependencies are found by name.
const folder = mkdtempSync(join(ROOT, '.docs-'))
let providers: WireServer

const pages = readPages()
  .map(({ path, blocks }) => ({ path, programs: blocks.filter(({ language }) => language === 'ts') }))
  .filter(({ programs }) => programs.length > 0)

// Bundled together: compiling the package for each program would take longer than running it.
beforeAll(async () => {
  mkdirSync(join(folder, 'source'))
  symlinkSync(join(ROOT, 'packages/embedder/models'), join(folder, 'models'))
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  const input = pages.flatMap(({ programs }) =>
    programs.map((program) => {
      const path = join(folder, 'source', `${nameOf(program)}.ts`)
      writeFileSync(path, program.code)
      return [nameOf(program), path] as const
    }),
  )
  providers = await startWireServer()
  await bundle(Object.fromEntries(input), join(folder, 'dist'))
  providers.play(...Array.from({ length: 100 }, () => ({ text: 'Take an umbrella.' })))
}, 60_000)

afterAll(async () => {
  await providers.close()
  rmSync(folder, { recursive: true })
})

describe('the programs of', () => {
  it('the README and of every guide exist', () => {
    expect(pages.map(({ path }) => path)).toContain('README.md')
    expect(pages.length).toBeGreaterThan(20)
  })

  it.concurrent.each(pages)(
    '$path run unchanged',
    async ({ path }) => {
      const { status, stdout, stderr } = await outputOf(path)
      expect(stderr).toBe('')
      expect(status).toBe(0)
      for (const printed of PRINTED[path] ?? []) expect(stdout).toMatch(printed)
    },
    180_000,
  )
})

/** What the text beside a program says that it prints. */
const PRINTED: Readonly<Record<string, readonly RegExp[]>> = {
  'README.md': [
    /name: 'read_file',\s+result: \{\s+ok: true/,
    /name: 'write_file',\s+result: \{\s+ok: false,\s+error: .*not granted/,
  ],
  'docs/guides/guarding-tools.md': [/\{ ok: true, value: '\d+' \}\s+\{\s+ok: false,[^}]*code: 'denied'/],
}

interface Output {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * Pages share a few processes, because loading the package and the clients takes longer than the programs. Each process runs
 * its pages one after the other, and must end by itself.
 */
const PROCESSES = 2
const runs = new Map<number, Promise<Output>>()

/** The output of a page, and the status of the process that ran it. */
async function outputOf(path: string): Promise<Output> {
  const at = pages.findIndex((page) => page.path === path) % PROCESSES
  const run = runs.get(at) ?? runPages(pages.filter((_, index) => index % PROCESSES === at))
  runs.set(at, run)
  const { status, stdout, stderr } = await run
  const own = (text: string) => text.split('\n=== ').find((part) => part.startsWith(`${path}\n`))
  const [printed, failed] = [own(stdout), own(stderr)]
  if (printed === undefined || failed === undefined) throw new Error(`${path} did not run: ${stderr}`)
  return { status, stdout: printed.slice(path.length + 1), stderr: failed.slice(path.length + 1) }
}

async function runPages(together: typeof pages): Promise<Output> {
  const runner = join(import.meta.dirname, 'fixtures', 'run-programs.mjs')
  const list = together.map(({ path, programs }) => ({
    page: path,
    folder: prepareFolder(path),
    files: programs.map((program) => join(folder, 'dist', `${nameOf(program)}.js`)),
  }))
  const child = spawn(process.execPath, [runner, JSON.stringify(list)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 160_000,
    env: {
      PATH: process.env.PATH,
      NO_COLOR: '1',
      NODE_NO_WARNINGS: '1',
      // The providers of this process: whoever names no other address reaches them.
      ANTHROPIC_BASE_URL: providers.url,
      ANTHROPIC_API_KEY: 'key',
      OPENAI_BASE_URL: `${providers.url}/v1`,
      OPENAI_API_KEY: 'key',
      GOOGLE_GEMINI_BASE_URL: providers.url,
      GEMINI_API_KEY: 'key',
      PORT: '0',
      GATEWAY_TOKEN: 'a-token-of-the-gateway',
    },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => (stdout += chunk))
  child.stderr.on('data', (chunk) => (stderr += chunk))
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve))
  const names = together.map(({ path }) => path).join(', ')
  return {
    status,
    stdout,
    stderr: status === null ? `${stderr}one of these did not end: ${names}\n` : stderr,
  }
}

/** A project like a reader's: a config with a server, an agent, a few files. */
function prepareFolder(path: string): string {
  const cwd = join(folder, 'projects', path.replace(/\W/g, '-'))
  mkdirSync(join(cwd, 'agents'), { recursive: true })
  copyFileSync(join(ROOT, 'package.json'), join(cwd, 'package.json'))
  symlinkSync(join(ROOT, 'node_modules'), join(cwd, 'node_modules'))
  const server = join(inject('servers'), 'memory.js')
  writeFileSync(
    join(cwd, 'toolcrib.toml'),
    `[server.memory]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(server)}]\n`,
  )
  writeFileSync(
    join(cwd, 'agents', 'triage.md'),
    '---\nname: triage\ndescription: Looks through issues.\n---\nYou triage issues.\n',
  )
  return cwd
}

function nameOf({ page, line }: Block): string {
  return `${page.replace(/\W/g, '-')}-${line}`
}
