// Runs the tests of the dialects with the next major versions of what they are tested with otherwise: a newer Node.js
// and a newer `openai`, installed into a side folder. `npm run newer`
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const PACKAGES = { node: '22', openai: '7' }
const ROOT = join(import.meta.dirname, '..', '..')
const FOLDER = join(ROOT, '.bench', 'newer')
const manifest = JSON.stringify({ private: true, dependencies: PACKAGES })
const node = join(FOLDER, 'node_modules', '.bin', 'node')
const openai = join(FOLDER, 'node_modules', 'openai')

if (!isInstalled()) {
  console.log('installing the newer versions into .bench/newer …')
  // In an empty folder with a manifest, or npm would install into the folder above.
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(join(FOLDER, 'package.json'), manifest)
  execFileSync('npm', ['install', '--no-audit', '--no-fund'], { cwd: FOLDER })
  writeFileSync(join(FOLDER, 'installed.json'), manifest)
}
const { version } = JSON.parse(readFileSync(join(openai, 'package.json'), 'utf8'))
console.log(`Node.js ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}, openai ${version}`)
const { status } = spawnSync(
  node,
  [join(ROOT, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '--config', 'scripts/newer/vitest.config.ts'],
  { cwd: ROOT, stdio: 'inherit', env: { ...process.env, NEWER_OPENAI: join(openai, 'index.mjs') } },
)
process.exitCode = status ?? 1

function isInstalled(): boolean {
  const path = join(FOLDER, 'installed.json')
  return existsSync(path) && readFileSync(path, 'utf8') === manifest
}
