// The official conformance suite, run against a gateway before our own conformance server: both revisions, with the
// server over stdio and HTTP, of the newer and the older era. As `client`, the suite is the server behind the gateway; as `tasks`,
// a server with the tasks extension is.
// With `inspector`, the command line of the MCP inspector is the client, which takes a while to install.
// `npm run conformance [-- stdio-modern … client tasks inspector] [-- --verbose] [-- --built]`; `--built` runs the built packages instead of their sources.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { printTable } from '../../bench/report.ts'
import { EXPECTED_FAILURES } from './expected-failures.ts'
import { testInspector } from './inspector.ts'
import { listed, startFixture, startGateway, UPSTREAMS, type UpstreamName, warmUp } from './processes.ts'
import { installSuite } from './suite.ts'
import { startUpstreamClients } from './upstream-client.ts'

const REVISIONS = ['2025-11-25', '2026-07-28'] as const
const isVerbose = process.argv.includes('--verbose')
const isBuilt = process.argv.includes('--built')
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const OTHERS = ['client', 'tasks', 'inspector']
const unknown = named.find((name) => !OTHERS.includes(name) && !Object.hasOwn(UPSTREAMS, name))
if (unknown !== undefined) {
  console.error(
    `there is no upstream ${unknown}; there are ${[...Object.keys(UPSTREAMS), ...OTHERS].join(', ')}`,
  )
  process.exit(2)
}

const TASKS_SERVER = 'test/fixtures/tasks-server.mjs'
const TASKS = [
  'tasks-lifecycle',
  'tasks-capability-negotiation',
  'tasks-wire-fields',
  'tasks-request-state-removal',
  'tasks-mrtr-input',
  'tasks-request-headers',
  'tasks-dispatch-and-envelope',
  'tasks-required-task-error',
  'tasks-mrtr-composition',
]

/** Upstreams at once: the suite mostly waits, but some scenarios have 600 ms for a call. */
const AT_ONCE = 2

const suite = await installSuite()
const folder = await mkdtemp(join(tmpdir(), 'toolcrib-conformance-'))
const waiting = (Object.keys(UPSTREAMS) as UpstreamName[]).filter(
  (name) => named.length === 0 || named.includes(name),
)
const isClientTested = named.length === 0 || named.includes('client')
const order = [...waiting, ...(isClientTested ? ['client'] : [])].flatMap((name) =>
  REVISIONS.map((revision) => `${name} ${revision}`),
)
const rows = new Map<string, Record<string, string>>()
const surprises: string[] = []
try {
  await Promise.all(Array.from({ length: AT_ONCE }, testWaiting))
  if (isClientTested) await testClients()
  if (named.length === 0 || named.includes('tasks')) await testTasks()
  if (named.includes('inspector')) await testInspectors()
} finally {
  await rm(folder, { recursive: true, force: true })
}
console.log('conformance: scenarios passed, through the gateway')
printTable([...order, ...(rows.has('tasks') ? ['tasks'] : [])].map((each) => rows.get(each) ?? {}))
for (const { revision, scenario, era, reason, isUnstable } of EXPECTED_FAILURES)
  console.log(
    `${isUnstable ? 'may' : 'must'} fail at ${revision} ${era === 'client' ? 'as a client' : `with a ${era} server`}: ${scenario}. ${reason}`,
  )
for (const surprise of surprises) console.error(surprise)
process.exitCode = surprises.length > 0 ? 1 : 0

async function testWaiting(): Promise<void> {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) await testUpstream(name)
}

async function testUpstream(name: UpstreamName): Promise<void> {
  await using fixture = await startFixture(name)
  await using gateway = await startGateway(join(folder, name), fixture.config, { isBuilt })
  for (const revision of REVISIONS) {
    const test = async (attempt: string) => {
      await warmUp(gateway.url)
      return suite.testServer({ url: gateway.url, revision, folder: join(folder, name, revision, attempt) })
    }
    let report = await test('first')
    const [surprise] = surprisesOf(name, revision, report.failed)
    if (surprise !== undefined) {
      // Some scenarios have 600 ms for a call that starts a server, which a busy machine can miss.
      console.log(`${surprise}; ${name} ${revision} is tested once more`)
      report = await test('second')
    }
    if (isVerbose) console.log(report.output)
    for (const fault of report.faults) console.log(`${name} ${revision}  ${fault}`)
    const { required, failed, others } = report
    surprises.push(...surprisesOf(name, revision, failed))
    const scored = `${required.size - failed.size}/${required.size}`
    rows.set(`${name} ${revision}`, { upstream: name, revision, scored, 'not scored': others })
  }
}

/** The gateway as a client of the suite's servers. */
async function testClients(): Promise<void> {
  await using clients = await startUpstreamClients()
  const command = `${process.execPath} ${join(import.meta.dirname, 'relay.mjs')} ${clients.url}`
  for (const revision of REVISIONS) {
    const test = (scenario?: string) =>
      suite.testClient({
        command,
        revision,
        folder: join(folder, 'client', revision, scenario ?? 'all'),
        ...(scenario === undefined ? {} : { scenario }),
      })
    const { required, failed, others, output } = await test()
    if (isVerbose) console.log(output)
    const left = new Set(failed)
    for (const scenario of failed) {
      if (isExpected('client', revision, scenario)) continue
      // The suite starts all of them at once, and some have a second for a response.
      const alone = await test(scenario)
      if (alone.failed.size === 0) left.delete(scenario)
      else console.log(alone.output)
    }
    surprises.push(...surprisesOf('client', revision, left))
    const scored = `${required.size - left.size}/${required.size}`
    rows.set(`client ${revision}`, { upstream: 'client', revision, scored, 'not scored': others })
  }
}

/** The tasks extension, with a server that has it. The suite itself skips `tasks-status-notifications`. */
async function testTasks(): Promise<void> {
  const server = { command: process.execPath, args: [join(import.meta.dirname, '..', '..', TASKS_SERVER)] }
  await using gateway = await startGateway(join(folder, 'tasks'), server, { isBuilt })
  await listed(gateway.url)
  const failed = await suite.testExtension(gateway.url, TASKS)
  surprises.push(...[...failed].map((scenario) => `tasks 2026-07-28: ${scenario} failed`))
  const scored = `${TASKS.length - failed.size}/${TASKS.length}`
  rows.set('tasks', { upstream: 'tasks', revision: '2026-07-28', scored, 'not scored': '' })
}

async function testInspectors(): Promise<void> {
  await using fixture = await startFixture('stdio-modern')
  await using gateway = await startGateway(join(folder, 'inspector'), fixture.config, {
    isBuilt,
    mode: 'lazy',
  })
  const faults = await testInspector(gateway.url, folder)
  surprises.push(...faults)
  console.log(
    `the command line of the MCP inspector: ${faults.length === 0 ? 'lists, searches and calls' : 'failed'}`,
  )
}

function isExpected(era: string, revision: string, scenario: string): boolean {
  return EXPECTED_FAILURES.some(
    (each) => each.revision === revision && each.era === era && each.scenario === scenario,
  )
}

/** What differs from expected-failures.ts. */
function surprisesOf(name: UpstreamName | 'client', revision: string, failed: ReadonlySet<string>): string[] {
  const era = name === 'client' ? name : UPSTREAMS[name].era
  const expected = EXPECTED_FAILURES.filter((each) => each.revision === revision && each.era === era)
  const known = new Set(expected.map(({ scenario }) => scenario))
  const news = [...failed].filter((scenario) => !known.has(scenario))
  const outdated = expected.filter(({ scenario, isUnstable }) => !isUnstable && !failed.has(scenario))
  return [
    ...news.map((scenario) => `${name} ${revision}: ${scenario} failed`),
    ...outdated.map(
      ({ scenario }) => `${name} ${revision}: ${scenario} passes; remove it from expected-failures.ts`,
    ),
  ]
}
