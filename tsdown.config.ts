import { readFileSync } from 'node:fs'
import { defineConfig, type UserConfig } from 'tsdown'

const { compilerOptions } = JSON.parse(readFileSync('./tsconfig.json', 'utf8'))

/** Every public name of tsconfig's paths is an entry. Output mirrors the sources. */
const library = Object.values<string[]>(compilerOptions.paths).flat()

const shared = {
  format: 'esm',
  target: 'node20.19',
  fixedExtension: false,
  // The package ships no sources for maps to point at.
  sourcemap: false,
} as const satisfies UserConfig

/** Names of packages, unless they are bundled. */
function packagesBut(...bundled: readonly string[]): RegExp {
  return new RegExp(`^(?!(?:${bundled.join('|')})(?:/|$))[\\w@][^:]*$`)
}

// Few files load sooner than many: each group is loaded whole by whoever needs a part, with what it imports. Few packages
// are bundled, and no types of optional SDKs: small ones that every start loads, and one table of the tokenizer's 30 MB.
export default defineConfig([
  {
    ...shared,
    entry: Object.fromEntries(library.map((path) => [path.replace('./src/', '').replace(/\.ts$/, ''), path])),
    platform: 'neutral',
    dts: { sourcemap: false },
    clean: true,
    outputOptions: {
      codeSplitting: {
        groups: [
          { name: 'package', test: /package\.json$/, priority: 5 },
          { name: 'core', test: /src[\\/]index\.ts$/, priority: 4 },
          // What checks arguments is loaded by the first call, also in a browser.
          { name: 'arguments', test: /src[\\/]schema[\\/]check-arguments\.ts$/, priority: 3.5 },
          { name: 'servers', test: /src[\\/](mcp|store)[\\/]index\.ts$/, priority: 3 },
        ],
      },
    },
    deps: {
      neverBundle: [packagesBut('gpt-tokenizer', 'tokenx'), /^node:/],
      alwaysBundle: [/^gpt-tokenizer\//, 'tokenx'],
      onlyBundle: ['gpt-tokenizer', 'tokenx'],
    },
  },
  {
    ...shared,
    // It imports toolcrib by its name, and finds it through package.json, as any user's code does.
    entry: './src/cli/main.ts',
    outDir: 'dist/cli',
    platform: 'node',
    dts: false,
    // The library's build does this.
    clean: false,
    outputOptions: {
      codeSplitting: {
        groups: [
          {
            name: 'command-line',
            test: /src[\\/]cli[\\/](command-line|chat[\\/]provider-names)\.ts$/,
            priority: 2,
          },
          {
            name: 'commands',
            test: /src[\\/]cli[\\/](with-registry|mend-server|access-token|alike-servers|client-place|serve[\\/](open-stores|serve-settings))\.ts$/,
            priority: 1,
          },
        ],
      },
    },
    deps: {
      neverBundle: [packagesBut('commander', 'picocolors'), /^node:/],
      alwaysBundle: ['commander', 'picocolors'],
      onlyBundle: ['commander', 'picocolors'],
    },
  },
])
