import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

// Packages import each other by their public names; in tests a name means the source, as in tsconfig's paths.
const { compilerOptions } = JSON.parse(readFileSync('./tsconfig.json', 'utf8'))
const alias = Object.entries<string[]>(compilerOptions.paths).map(([name, [path]]) => ({
  find: new RegExp(`^${name}$`),
  replacement: fileURLToPath(new URL(path ?? '', import.meta.url)),
}))

/** Tests beside the code that start processes or servers. */
const STARTING = [
  'packages/core/src/agent/models/load-sdk.test.ts',
  'packages/mcp/src/builtin-tools/builtin-tools.test.ts',
  'packages/mcp/src/capabilities/{fs-reach,network,process}.test.ts',
  'packages/mcp/src/stores/redis/*.test.ts',
]

export default defineConfig({
  resolve: { alias },
  test: {
    testTimeout: 20_000,
    // Tests reach nothing outside this machine; reading a bundle of certificates takes Node.js longer than the rest of a start.
    env: { NO_COLOR: '1', NODE_EXTRA_CA_CERTS: '' },
    // No module keeps state, so files share their workers: reading the modules again would cost more than most tests.
    isolate: false,
    // Two more than cores: a flow waits for its processes about a third of the time.
    maxWorkers: availableParallelism() + 2,
    projects: [
      // Beside the code: `vitest --project unit` while you work.
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['packages/*/src/**/*.test.ts', 'scripts/train/*.test.ts'],
          exclude: STARTING,
        },
      },
      // Whole flows, which start processes and real servers.
      {
        extends: true,
        test: {
          name: 'flows',
          include: ['test/**/*.test.ts', ...STARTING],
          // A loaded machine may delay a process for seconds. The report names each test that needed its second try.
          retry: process.env.CI === 'true' ? 1 : 0,
          globalSetup: ['./test/bundle-programs.ts', './test/redis-server.ts'],
        },
      },
    ],
  },
})
