import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Runs every example as a user would, against the built package. Each asserts what it shows. */
const examples = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.ts') && file !== 'run.ts')
const failed = examples.filter((file) => {
  const path = join(import.meta.dirname, file)
  const env = { ...process.env, TSX_TSCONFIG_PATH: join(import.meta.dirname, 'tsconfig.json') }
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', path], {
    encoding: 'utf8',
    env,
  })
  console.log(`${status === 0 ? 'ok    ' : 'FAILED'} examples/${file}`)
  if (status !== 0) console.log(`${stdout}\n${stderr}`)
  return status !== 0
})
console.log(`${examples.length - failed.length} passed, ${failed.length} failed`)
process.exitCode = failed.length > 0 ? 1 : 0
