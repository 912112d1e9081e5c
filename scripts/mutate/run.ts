// Breaks one source file in many small ways and runs its tests each time, to find changes that no test detects:
//   npm run mutate -- src/schema/coerce.ts [more tests…]
// Runs the test beside the file (all tests of its folder when there is none), and any other tests named.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'

const { positionals } = parseArgs({ allowPositionals: true })
const files = positionals.filter((path) => !path.endsWith('.test.ts'))
const tests = positionals.filter((path) => path.endsWith('.test.ts'))
if (files.length === 0) {
  process.stderr.write('Which file? npm run mutate -- src/schema/coerce.ts\n')
  process.exit(2)
}
const beside = files.map((file) => {
  const test = file.replace(/\.ts.*$/, '.test.ts')
  return existsSync(test) ? test : `${dirname(file)}/**/*.test.ts`
})
const { status } = spawnSync(
  'npx',
  ['stryker', 'run', 'scripts/mutate/stryker.config.json', '--mutate', files.join(',')],
  { stdio: 'inherit', env: { ...process.env, MUTATE_TESTS: [...beside, ...tests].join(',') } },
)
process.exitCode = status ?? 1
