// Builds each package into its dist/, and the page with the gateway. `npm run build`; with `-- --quick` without types, and quietly.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build as buildModules } from 'tsdown'
import { build as buildPage } from 'vite'

const { quick = false } = parseArgs({ options: { quick: { type: 'boolean' } } }).values

// Called from here because the command of tsdown begins with a notice about the version of Node.js.
await buildModules(quick ? { dts: false, logLevel: 'error' } : {})
await buildPage({
  configFile: 'packages/gateway/src/inspector/page/vite.config.ts',
  ...(quick ? { logLevel: 'error' as const } : {}),
})
if (!quick) for (const folder of readdirSync('packages')) mendTypes(join('packages', folder))

/** Types of an optional peer are `any` where it is not installed, instead of an error in a file that no user wrote. */
function mendTypes(folder: string): void {
  const { peerDependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const names = Object.keys(peerDependencies).join('|')
  if (names === '') return
  const importing = new RegExp(`^import .* from "(?:${names})(?:/[^"]*)?";$`, 'gm')
  for (const file of readdirSync(join(folder, 'dist')).filter((name) => name.endsWith('.d.ts'))) {
    const path = join(folder, 'dist', file)
    writeFileSync(path, readFileSync(path, 'utf8').replace(importing, '// @ts-ignore: optional\n$&'))
  }
}
