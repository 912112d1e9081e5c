import { readFileSync } from 'node:fs'
import { defineConfig, type UserConfig } from 'tsdown'
import { CORE_CHUNKS } from './scripts/core-chunks.ts'

const { compilerOptions } = JSON.parse(readFileSync('./tsconfig.json', 'utf8'))

const shared = {
  format: 'esm',
  target: 'node20.19',
  fixedExtension: false,
  // The packages ship no sources for maps to point at.
  sourcemap: false,
} as const satisfies UserConfig

/** What removes the types of scripts, with its own dependencies. */
const STRIPS_TYPES = [
  'sucrase',
  'lines-and-columns',
  'ts-interface-checker',
  '@jridgewell/gen-mapping',
  '@jridgewell/sourcemap-codec',
  '@jridgewell/trace-mapping',
  '@jridgewell/resolve-uri',
]

// Few files load sooner than many: each group is loaded whole by whoever needs a part, with what it imports. Few packages
// are bundled, and no types of optional SDKs: small ones that every start loads, and one table of the tokenizer's 30 MB.
export default defineConfig([
  library('core', { bundled: ['tokenx'], groups: CORE_CHUNKS }),
  { ...library('embedder', { bundled: ['gpt-tokenizer'] }), plugins: [tableAsText()] },
  library('mcp', {
    groups: [{ name: 'servers', test: /mcp[\\/]src[\\/](stores[\\/])?index\.ts$/, priority: 3 }],
  }),
  library('scripts', { bundled: STRIPS_TYPES, platform: 'node' }),
  library('gateway'),
  library('toolcrib'),
  {
    ...shared,
    entry: './packages/toolcrib/src/main.ts',
    outDir: 'packages/toolcrib/dist',
    platform: 'node',
    dts: false,
    // The build of the library does this.
    clean: false,
    outputOptions: {
      codeSplitting: {
        groups: [
          {
            name: 'command-line',
            test: /toolcrib[\\/]src[\\/](command-line|chat[\\/]provider-names)\.ts$/,
            priority: 2,
          },
          {
            name: 'commands',
            test: /toolcrib[\\/]src[\\/](with-registry|mend-server|access-token|alike-servers|client-place|serve[\\/](open-stores|serve-settings))\.ts$/,
            priority: 1,
          },
        ],
      },
    },
    deps: bundling(['commander', 'picocolors']),
  },
])

/**
 * The tokenizer's table as one text, which is cut while it is read: compiling 200,000 tokens as code, or parsing them as JSON,
 * would block the gateway for 100 ms when its page is opened.
 */
function tableAsText(): NonNullable<UserConfig['plugins']> {
  return {
    name: 'table-as-text',
    async load(id: string) {
      if (!/gpt-tokenizer.*bpeRanks/.test(id)) return null
      const { default: table }: { default: (string | number[])[] } = await import(id)
      const text = table
        .map((token) => (typeof token === 'string' ? token : `\ufffe${String.fromCharCode(...token)}`))
        .join('\uffff')
      return `const text = ${JSON.stringify(text)}
export default {
  *entries() {
    for (let rank = 0, from = 0, to; from <= text.length; rank++, from = to + 1) {
      to = text.indexOf('\\uffff', from)
      if (to < 0) to = text.length
      const token = text.slice(from, to)
      yield [rank, token[0] === '\\ufffe' ? Array.from(token.slice(1), (byte) => byte.charCodeAt(0)) : token]
    }
  },
}`
    },
  }
}

interface Groups {
  readonly bundled?: string[]
  readonly platform?: 'node'
  readonly groups?: { name: string; test: RegExp; priority: number }[]
}

/** Every public name of a package in tsconfig's paths is a file of its dist/. */
function library(folder: string, { bundled = [], groups = [], platform }: Groups = {}): UserConfig {
  const sources = Object.entries<string[]>(compilerOptions.paths).filter(([, [path = '']]) =>
    path.startsWith(`./packages/${folder}/`),
  )
  return {
    ...shared,
    entry: Object.fromEntries(
      sources.map(([name, [path = '']]) => [
        name.replace(/^(@toolcrib\/[^/]+|toolcrib)\/?/, '') || 'index',
        path,
      ]),
    ),
    outDir: `packages/${folder}/dist`,
    platform: platform ?? 'neutral',
    dts: { sourcemap: false },
    clean: true,
    outputOptions: { codeSplitting: { groups } },
    deps: bundling(bundled),
  }
}

/** Bundles these packages and no others; the packages of the workspace find each other by name, as any user's code does. */
function bundling(bundled: string[]): NonNullable<UserConfig['deps']> {
  const others =
    bundled.length === 0 ? /^[\w@][^:]*$/ : new RegExp(`^(?!(?:${bundled.join('|')})(?:/|$))[\\w@][^:]*$`)
  return {
    neverBundle: [others, /^node:/],
    ...(bundled.length === 0
      ? {}
      : { alwaysBundle: bundled.map((name) => new RegExp(`^${name}(/|$)`)), onlyBundle: bundled }),
  }
}
