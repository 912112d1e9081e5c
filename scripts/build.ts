// Builds the package into dist/, and the page with it. `npm run build`; with `-- --quick` without types, and quietly.
import { parseArgs } from 'node:util'
import { build as buildModules } from 'tsdown'
import { build as buildPage } from 'vite'

const { quick = false } = parseArgs({ options: { quick: { type: 'boolean' } } }).values

// Called from here because the command of tsdown begins with a notice about the version of Node.js.
await buildModules(quick ? { dts: false, logLevel: 'error' } : {})
await buildPage({
  configFile: 'src/inspector/page/vite.config.ts',
  ...(quick ? { logLevel: 'error' as const } : {}),
})
