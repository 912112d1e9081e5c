import { readFileSync } from 'node:fs'
import { defineConfig } from 'tsdown'

const { compilerOptions } = JSON.parse(readFileSync('./tsconfig.json', 'utf8'))

// Every public name of tsconfig's paths is an entry; so is the command line. Output mirrors the sources.
const entries = Object.values<string[]>(compilerOptions.paths).flat()
const entry = Object.fromEntries(
  [...entries, './src/cli/main.ts'].map((path) => [path.replace('./src/', '').replace(/\.ts$/, ''), path]),
)

export default defineConfig({
  entry,
  format: 'esm',
  platform: 'neutral',
  target: 'node20.19',
  fixedExtension: false,
  dts: { sourcemap: false },
  // The package ships no sources for maps to point at.
  sourcemap: false,
  clean: true,
  // Few files load sooner than many: each of these is loaded whole by whoever needs a part, with what it imports.
  outputOptions: {
    codeSplitting: {
      groups: [
        { name: 'package', test: /package\.json$/, priority: 5 },
        { name: 'core', test: /src[\\/]index\.ts$/, priority: 4 },
        // What checks arguments is loaded by the first call, also in a browser.
        { name: 'arguments', test: /src[\\/]schema[\\/]check-arguments\.ts$/, priority: 3.5 },
        { name: 'servers', test: /src[\\/](mcp|store)[\\/]index\.ts$/, priority: 3 },
        {
          name: 'terminal',
          test: /src[\\/]cli[\\/](terminal|text|interrupt|chat[\\/]provider-names)\.ts$/,
          priority: 2,
        },
        {
          name: 'commands',
          test: /src[\\/]cli[\\/](with-registry|mend-server|access-token)\.ts$/,
          priority: 1,
        },
      ],
    },
  },
  // No package is bundled, types of optional SDKs included, but one: of the tokenizer's 30 MB a single table is used.
  // The doors import toolcrib by its name too, and find it through package.json, as any user's code does.
  deps: {
    neverBundle: [/^(?!gpt-tokenizer\/)[\w@][^:]*$/, /^node:/],
    alwaysBundle: [/^gpt-tokenizer\//],
    onlyBundle: ['gpt-tokenizer'],
  },
})
