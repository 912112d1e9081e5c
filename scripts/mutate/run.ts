// Breaks one source file in many small ways and runs its tests each time, to find changes that no test detects:
//   npm run mutate -- packages/core/src/schema/coerce.ts [more tests…]
// Runs the tests of its folder that are named after the file or import it (all of them when none does), and any other tests
// named.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { parseArgs } from 'node:util'

const { positionals } = parseArgs({ allowPositionals: true })
const files = positionals.filter((path) => !path.endsWith('.test.ts'))
const tests = positionals.filter((path) => path.endsWith('.test.ts'))
if (files.length === 0) {
  process.stderr.write('Which file? npm run mutate -- packages/core/src/schema/coerce.ts\n')
  process.exit(2)
}
const beside = files.flatMap((file) => {
  const [path = file] = file.split(':')
  const folder = dirname(path)
  const inFolder = readdirSync(folder).filter((name) => name.endsWith('.test.ts'))
  const own = inFolder.filter(
    (name) =>
      name === basename(path).replace(/\.ts$/, '.test.ts') ||
      readFileSync(join(folder, name), 'utf8').includes(`'./${basename(path)}'`),
  )
  return own.length > 0 ? own.map((name) => join(folder, name)) : [`${folder}/**/*.test.ts`]
})
const { status } = spawnSync(
  'npx',
  ['stryker', 'run', 'scripts/mutate/stryker.config.json', '--mutate', files.join(',')],
  { stdio: 'inherit', env: { ...process.env, MUTATE_TESTS: [...beside, ...tests].join(',') } },
)
process.exitCode = status ?? 1
