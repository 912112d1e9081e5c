import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

/** The suite needs a newer Node.js than toolcrib does. */
const PACKAGES = ['@modelcontextprotocol/conformance@0.2.0-alpha.12', 'node@22']
const FOLDER = join(import.meta.dirname, '..', '..', '.bench', 'conformance')

export interface ServerTest {
  readonly url: string
  readonly revision: string
  /** Where the suite writes what it saw. */
  readonly folder: string
}

export interface ClientTest {
  /** What is started for each scenario. */
  readonly command: string
  readonly revision: string
  readonly folder: string
  /** Only this one; all that the revision requires when absent. */
  readonly scenario?: string
}

export interface SuiteReport {
  /** The scenarios that the revision requires, and those of them that failed. */
  readonly required: ReadonlySet<string>
  readonly failed: ReadonlySet<string>
  /** What failed in them, with the reasons. */
  readonly faults: readonly string[]
  /** Scenarios beyond those that passed, such as `14 of 16`. */
  readonly others: string
  readonly output: string
}

/** The official suite, installed into a side folder with its own Node.js when it is not there yet. */
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
  const listed = new Map<string, ReturnType<typeof conformance>>()
  const requirements = (revision: string) => {
    const known = listed.get(revision) ?? conformance('list', '--requirements', revision)
    listed.set(revision, known)
    return known
  }
  return {
    /** Runs the scenarios for clients; `command` is started with the URL of a server for each. */
    testClient: async ({ command, revision, folder, scenario }: ClientTest): Promise<SuiteReport> => {
      const required = readRequired((await requirements(revision)).output, 'Client')
      const which = scenario
        ? ['--scenario', scenario, '--spec-version', revision]
        : ['--requirements', revision]
      const { output } = await conformance('client', '--command', command, ...which, '-o', folder)
      if (scenario) {
        const failed = new Set(output.includes('OVERALL: PASSED') ? [] : [scenario])
        return { required, failed, others: '', faults: [], output }
      }
      return { required, ...readScores(output, required), faults: [], output }
    },
    /** Runs scenarios of an extension, which no revision requires. Returns those that failed. */
    testExtension: async (url: string, scenarios: readonly string[]): Promise<ReadonlySet<string>> => {
      const failed = new Set<string>()
      for (const scenario of scenarios) {
        const which = ['--scenario', scenario, '--spec-version', '2026-07-28', '--force']
        const { output } = await conformance('server', '--url', url, ...which)
        if (!/^Passed: (\d+)\/\1, 0 failed/m.test(output)) failed.add(scenario)
      }
      return failed
    },
    testServer: async ({ url, revision, folder }: ServerTest): Promise<SuiteReport> => {
      const required = readRequired((await requirements(revision)).output, 'Server')
      const { output } = await conformance('server', '--url', url, '--requirements', revision, '-o', folder)
      const faults = await readFaults(folder, required)
      return { required, ...readScores(output, required), faults, output }
    },
  }
}

/** The scenarios for servers, or for clients, that a revision requires. */
function readRequired(listed: string, kind: 'Server' | 'Client'): ReadonlySet<string> {
  const [, scenarios = ''] = new RegExp(`^${kind} scenarios.*\\n((?: {2}- .*\\n)+)`, 'm').exec(listed) ?? []
  return new Set([...scenarios.matchAll(/- (\S+)/g)].map(([, name = '']) => name))
}

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  return new Promise<{ output: string }>((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.stderr.on('data', (chunk) => (output += chunk))
    child.once('error', reject)
    child.once('close', () => resolve({ output }))
  })
}

/** Reads the summary, which has a line for each scenario. A required one without a line has failed. */
function readScores(output: string, required: ReadonlySet<string>): Pick<SuiteReport, 'failed' | 'others'> {
  const summary = output.slice(output.search(/^=== (?:SUITE )?SUMMARY ===$/m))
  const lines = [...summary.matchAll(/^([✓✗]) ([\w./-]+): /gm)]
  const passed = new Set(lines.filter(([, mark]) => mark === '✓').map(([, , name = '']) => name))
  const others = lines.map(([, , name = '']) => name).filter((name) => !required.has(name))
  return {
    failed: new Set([...required].filter((name) => !passed.has(name))),
    others: `${others.filter((name) => passed.has(name)).length} of ${others.length}`,
  }
}

/** The checks that failed, from the folders `server-<scenario>-<time>` that the suite writes. */
async function readFaults(folder: string, required: ReadonlySet<string>): Promise<string[]> {
  const faults = (await readdir(folder)).map(async (name) => {
    const scenario = name.replace(/^server-(.*)-\d{4}-\d\d-\d\dT.*$/, '$1')
    if (!required.has(scenario)) return []
    const checks: { id: string; status: string; errorMessage?: string }[] = JSON.parse(
      await readFile(join(folder, name, 'checks.json'), 'utf8'),
    )
    return checks
      .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
      .map(({ id, errorMessage = 'no reason given' }) => `${scenario} ${id}: ${errorMessage}`)
  })
  return (await Promise.all(faults)).flat()
}
