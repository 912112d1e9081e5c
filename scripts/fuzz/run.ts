// Runs every `*.fuzz.ts` in src: npm run fuzz -- [--seconds 60] [--runs 1000] [--seed 123] [path…]
// `--seconds` is how long each property is tested, `--runs` with how many values at most; a failure prints the value, and the seed that reproduces it.
import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: 'string', default: '5' }, runs: { type: 'string' }, seed: { type: 'string' } },
})
const { status } = spawnSync(
  'npx',
  ['vitest', 'run', '--config', 'scripts/fuzz/vitest.config.ts', '--reporter', 'verbose', ...positionals],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      FUZZ_SECONDS: values.seconds,
      ...(values.runs === undefined ? {} : { FUZZ_RUNS: values.runs }),
      ...(values.seed === undefined ? {} : { FUZZ_SEED: values.seed }),
    },
  },
)
process.exitCode = status ?? 1
