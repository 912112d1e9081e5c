// Runs the official conformance suite against a gateway in front of our own conformance server: both revisions, with
// the server over stdio and HTTP, of the newer and the older era. `npm run conformance [-- stdio-modern …] [--
// --verbose]`
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { printTable } from '../../bench/report.ts'
import { startFixture, startGateway, UPSTREAMS, type UpstreamName } from './processes.ts'
import { installSuite } from './suite.ts'

const REVISIONS = ['2025-11-25', '2026-07-28'] as const
const isVerbose = process.argv.includes('--verbose')
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const unknown = named.find((name) => !Object.hasOwn(UPSTREAMS, name))
if (unknown !== undefined) {
  console.error(`unknown upstream ${unknown}; use one of ${Object.keys(UPSTREAMS).join(', ')}`)
  process.exit(2)
}

const suite = await installSuite()
const folder = await mkdtemp(join(tmpdir(), 'toolcrib-conformance-'))
const rows: Record<string, string>[] = []
let isGood = true
try {
  for (const name of Object.keys(UPSTREAMS) as UpstreamName[]) {
    if (named.length > 0 && !named.includes(name)) continue
    await using fixture = await startFixture(name)
    await using gateway = await startGateway(join(folder, name), fixture.config)
    for (const revision of REVISIONS) {
      const report = await suite.testServer({
        url: gateway.url,
        revision,
        folder: join(folder, name, revision),
        expectedFailures: expectedFailures(name),
      })
      if (isVerbose || !report.isExpected) console.log(report.output)
      isGood &&= report.isExpected
      const { passed, total, unscored } = report
      rows.push({ upstream: name, revision, scored: `${passed}/${total}`, 'not scored': unscored })
    }
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}
console.log('conformance: scenarios passed, through the gateway')
printTable(rows)
if (!isGood) console.error('\nconformance differs from scripts/conformance/expected-*.yml')
process.exitCode = isGood ? 0 : 1

/** The scenarios that cannot pass, with the reasons, by the era of the server. */
function expectedFailures(name: UpstreamName): string {
  return join(import.meta.dirname, `expected-${UPSTREAMS[name].era}.yml`)
}
