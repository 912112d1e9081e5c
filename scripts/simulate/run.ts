// Bundles simulate.ts into one file and runs that. Loaders of TypeScript work in a thread of their own, so that each
// `import()` takes real time, in which simulated time stands still; in one file it takes none.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const file = at('../../node_modules/.cache/toolcrib/simulate.mjs')
await build({
  input: at('simulate.ts'),
  platform: 'node',
  tsconfig: at('../../tsconfig.json'),
  logLevel: 'silent',
  output: { file, codeSplitting: false },
})
const { status } = spawnSync(process.execPath, [file, ...process.argv.slice(2)], { stdio: 'inherit' })
process.exitCode = status ?? 1
