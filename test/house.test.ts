import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))

interface Import {
  readonly from: string
  readonly to: string
  readonly isType: boolean
  /** true: loaded only when it is needed. */
  readonly isDynamic: boolean
}

const sources = listFiles('src').filter((path) => /\.tsx?$/.test(path) && !/\.(?:test|fuzz)\.ts$/.test(path))
const imports = sources.flatMap(readImports)

// The rings in their order, innermost first: a room imports those before it, and those of its own line.
const RINGS: readonly (readonly string[])[] = [
  [
    'tool',
    'check-options',
    'capability',
    'errors',
    'events',
    'finding',
    'reply',
    'usage',
    'names',
    'nearest-name',
    'json',
    'on-first-use',
    'time',
    'text',
    'bounded-pattern',
    'pattern-program',
    'pattern-syntax',
  ],
  ['secrets'],
  ['schema'],
  ['store'],
  ['authoring'],
  ['registry'],
  ['search'],
  ['reduce'],
  ['call'],
  ['meta-tools'],
  ['session'],
  ['tool-registry', 'registry-options'],
  ['dialects', 'capabilities', 'builtin-tools', 'mcp', 'embedders'],
  ['agent', 'clients'],
  // A file in src itself that is not named here is API, as is each room's index.ts.
  ['api'],
  ['cli', 'gateway', 'inspector'],
]
const DOORS = ['cli', 'gateway', 'inspector']

describe('the house', () => {
  it('is found by the parser', () => {
    expect(sources).toContain('src/registry/catalogue.ts')
    expect(imports).toContainEqual({
      from: 'src/search/catalogue-search.ts',
      to: 'src/search/lexical.ts',
      isType: false,
      isDynamic: false,
    })
    expect(imports).toContainEqual({
      from: 'src/search/tool-finder.ts',
      to: 'src/search/catalogue-search.ts',
      isType: false,
      isDynamic: true,
    })
  })

  it('has imports that point inward', () => {
    const outward = imports.filter(({ from, to }) => isOwn(to) && ringOf(to) > ringOf(from))
    expect(outward.map(({ from, to }) => `${from} → ${to}`)).toEqual([])
  })

  it('has doors that use only the public API', () => {
    const shortcuts = imports.filter(
      ({ from, to }) => DOORS.includes(roomOf(from)) && isOwn(to) && roomOf(from) !== roomOf(to),
    )
    expect(shortcuts).toEqual([])
  })

  it('has a core that imports nothing from Node', () => {
    const reached = reachableFrom('src/index.ts')
    const nodeImports = imports.filter(({ from, to }) => reached.has(from) && isNodeModule(to))
    expect(nodeImports).toEqual([])
    const globals = [...reached].filter((path) =>
      /\b(process|Buffer|__dirname|require)\b(?=[.(])/.test(withoutComments(codeOf(path))),
    )
    expect(globals).toEqual([])
  })

  it('loads packages only when they are needed, because loading takes longer than a search', () => {
    const atOnce = imports.filter(({ isDynamic }) => !isDynamic)
    const packagesOf = (entry: string) => {
      const reached = reachableFrom(entry, atOnce)
      const loading = atOnce.filter(({ from, to, isType }) => reached.has(from) && !isType && isPackage(to))
      return [...new Set(loading.map(({ to }) => to))].sort()
    }
    expect(packagesOf('src/index.ts')).toEqual(['tokenx'])
    expect(reachableFrom('src/mcp/index.ts', atOnce)).toContain('src/mcp/server/server-link.ts')
    expect(packagesOf('src/mcp/index.ts')).toEqual(['tokenx'])
    expect(packagesOf('src/cli/list/run-list.ts')).toEqual(['picocolors', 'tokenx'])
    expect(packagesOf('src/cli/serve/run-serve.ts')).toEqual(['picocolors', 'tokenx'])
  })

  it('exports only what exists, with types, under the same name everywhere', () => {
    const { './package.json': _, ...subpaths } = manifest.exports
    const sources = Object.entries<{ types: string; default: string }>(subpaths).map(([key, paths]) => {
      const built = paths.default.replace(/^\.\/dist\/(.*)\.js$/, '$1')
      expect(paths.types).toBe(`./dist/${built}.d.ts`)
      expect(existsSync(join(root, `src/${built}.ts`))).toBe(true)
      return [key.replace(/^\./, 'toolcrib'), [`./src/${built}.ts`]]
    })
    // The build and the tests read these paths: what is exported, built and tested is the same list.
    expect(compilerOptions.paths).toEqual(Object.fromEntries(sources))
  })

  it('has no file that is too long', () => {
    const long = sources.filter((path) => codeOf(path).trimEnd().split('\n').length > 400)
    expect(long).toEqual([])
  })
})

function listFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
    join(folder, path),
  )
}

function codeOf(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

function withoutComments(code: string): string {
  return code.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
}

function readImports(path: string): Import[] {
  const statements = codeOf(path).matchAll(
    /^(?:import|export)\s+(type\s)?([^'";]*?from\s*)?'([^']+)'|\bimport\('([^']+)'\)/gm,
  )
  return [...statements].map(([, type, names = '', specifier, dynamic]) => {
    const target = specifier ?? dynamic ?? ''
    const to = target.startsWith('.') ? normalize(join(dirname(path), target)) : target
    const isType = type !== undefined || bringsOnlyTypes(names)
    return { from: path, to, isType, isDynamic: dynamic !== undefined }
  })
}

/** `import { type A, type B } from …` brings nothing at run time. */
function bringsOnlyTypes(names: string): boolean {
  const list = /\{([^}]*)\}/.exec(names)?.[1]
  if (list === undefined || /^\s*[\w*]+\s*,/.test(names)) return false
  return list
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
    .every((name) => name.startsWith('type '))
}

function isOwn(path: string): boolean {
  return path.startsWith('src')
}

function isPackage(specifier: string): boolean {
  return !isOwn(sourceOf(specifier)) && !isNodeModule(specifier) && !specifier.endsWith('package.json')
}

/** The file that a name such as `toolcrib/mcp` means. */
function sourceOf(specifier: string): string {
  return normalize(compilerOptions.paths[specifier]?.[0] ?? specifier)
}

function isNodeModule(specifier: string): boolean {
  return specifier.startsWith('node:') || builtinModules.includes(specifier)
}

function roomOf(path: string): string {
  const [first = '', second] = relative('src', path).split('/')
  return second === undefined ? first.replace(/\.ts$/, '') : first
}

function ringOf(path: string): number {
  const room = roomOf(path)
  const ring = RINGS.findIndex((rooms) => rooms.includes(room))
  const isIndex = path.endsWith('/index.ts') && !DOORS.includes(room)
  return ring < 0 || isIndex ? RINGS.findIndex((rooms) => rooms.includes('api')) : ring
}

function reachableFrom(entry: string, among: readonly Import[] = imports): ReadonlySet<string> {
  const loads = new Map<string, string[]>()
  for (const { from, to, isType } of among) {
    if (!isType && isOwn(sourceOf(to))) loads.set(from, [...(loads.get(from) ?? []), sourceOf(to)])
  }
  const reached = new Set([entry])
  for (const path of reached) for (const source of loads.get(path) ?? []) reached.add(source)
  return reached
}
