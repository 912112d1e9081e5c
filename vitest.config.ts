import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

// Doors import the package by its public name; in tests that name means the source, as in tsconfig's paths.
const { compilerOptions } = JSON.parse(readFileSync('./tsconfig.json', 'utf8'))
const alias = Object.entries<string[]>(compilerOptions.paths).map(([name, [path]]) => ({
  find: new RegExp(`^${name}$`),
  replacement: fileURLToPath(new URL(path ?? '', import.meta.url)),
}))

export default defineConfig({
  resolve: { alias },
  test: {
    testTimeout: 20_000,
    env: { NO_COLOR: '1' },
    projects: [
      // Beside the code, and fast.
      { extends: true, test: { name: 'unit', include: ['src/**/*.test.ts'] } },
      // Whole flows: these start processes and real servers.
      {
        extends: true,
        test: { name: 'flows', include: ['test/**/*.test.ts'], globalSetup: './test/bundle-programs.ts' },
      },
    ],
  },
})
