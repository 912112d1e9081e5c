import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

/** The suite needs a newer Node.js than toolcrib. */
const PACKAGES = ['@modelcontextprotocol/conformance@0.2.0-alpha.12', 'node@22']
const FOLDER = join(import.meta.dirname, '..', '..', '.bench', 'conformance')

export interface ServerTest {
  readonly url: string
  readonly revision: string
  /** Where the suite writes its results. */
  readonly folder: string
  /** A file of scenarios that are known to fail. */
  readonly expectedFailures: string
}

export interface SuiteReport {
  /** Scenarios that the revision requires. */
  readonly passed: number
  readonly total: number
  /** Scenarios beyond those, such as `14 of 16`. */
  readonly unscored: string
  /** Whether exactly the known scenarios failed. */
  readonly isExpected: boolean
  readonly output: string
}

/** Installs the official suite into a separate folder with its own Node.js, if missing. */
export async function installSuite() {
  const bin = join(FOLDER, 'node_modules', '.bin')
  if (!existsSync(join(bin, 'conformance'))) {
    console.log(`installing ${PACKAGES.join(' and ')} into .bench/conformance …`)
    await mkdir(FOLDER, { recursive: true })
    await writeFile(join(FOLDER, 'package.json'), '{ "private": true }\n')
    await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', ...PACKAGES], { cwd: FOLDER })
  }
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }
  const conformance = (...args: string[]) => run(join(bin, 'conformance'), args, env)
  return {
    testServer: async ({ url, revision, folder, expectedFailures }: ServerTest): Promise<SuiteReport> => {
      const required = readRequired((await conformance('list', '--requirements', revision)).output)
      const flags = ['--url', url, '--requirements', revision, '-o', folder]
      const { status, output } = await conformance(
        'server',
        ...flags,
        '--expected-failures',
        expectedFailures,
      )
      return { ...readScores(output, required), isExpected: status === 0, output }
    },
  }
}

/** The scenarios for servers that a revision requires. */
function readRequired(listed: string): ReadonlySet<string> {
  const [, servers = ''] = /^Server scenarios.*\n((?: {2}- .*\n)+)/m.exec(listed) ?? []
  return new Set([...servers.matchAll(/- (\S+)/g)].map(([, name = '']) => name))
}

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  return new Promise<{ status: number | null; output: string }>((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.stderr.on('data', (chunk) => (output += chunk))
    child.once('error', reject)
    child.once('close', (status) => resolve({ status, output }))
  })
}

/** Reads the summary, which has a line for each scenario. */
function readScores(
  output: string,
  required: ReadonlySet<string>,
): Pick<SuiteReport, 'passed' | 'total' | 'unscored'> {
  const summary = output.slice(output.indexOf('=== SUMMARY ==='))
  const lines = [...summary.matchAll(/^([✓✗]) ([\w./-]+): /gm)]
  const scenarios = lines.map(([, mark, name = '']) => ({ name, isPassed: mark === '✓' }))
  const scored = scenarios.filter(({ name }) => required.has(name))
  const others = scenarios.filter(({ name }) => !required.has(name))
  const passed = (some: typeof scenarios) => some.filter(({ isPassed }) => isPassed).length
  return { passed: passed(scored), total: required.size, unscored: `${passed(others)} of ${others.length}` }
}
