import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))

interface Import {
  readonly from: string
  readonly to: string
  readonly isType: boolean
  /** true: loaded only when it is needed. */
  readonly isDynamic: boolean
}

const sources = listFiles('packages').filter(
  (path) => /^packages\/[^/]+\/src\/.*\.tsx?$/.test(path) && !/\.(?:test|fuzz|fixture)\.ts$/.test(path),
)
const imports = sources.flatMap(readImports).filter((one) => !isDefaultEmbedder(one))

/** The one import backwards: a search loads the embedder if it is installed, and does without it otherwise. */
function isDefaultEmbedder({ from, to, isDynamic }: Import): boolean {
  return from === 'packages/core/src/search/best-installed.ts' && to === '@toolcrib/embedder' && isDynamic
}

/** Bundled into dist/, so that nobody has to install them. */
const BUNDLED = ['commander', 'gpt-tokenizer', 'picocolors', 'sucrase', 'tokenx']

// The packages in their order: one imports those before it, by name.
const PACKAGES = ['core', 'embedder', 'scripts', 'mcp', 'gateway', 'toolcrib']

// The rooms of a package, innermost first: a room imports those before it, and those of its own line. A file in src itself
// that is not named is in the first line.
const ROOMS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  core: [
    ['words'],
    ['secrets'],
    ['schema'],
    ['store'],
    ['authoring'],
    ['registry'],
    ['search'],
    ['skills'],
    ['reduce'],
    ['call'],
    ['meta-tools'],
    ['session'],
    ['tool-registry', 'registry-options'],
    ['dialects'],
    ['agent'],
    ['index', 'internal', 'stores', 'testing'],
  ],
  mcp: [
    ['listed'],
    ['stores'],
    ['capabilities'],
    ['builtin-tools'],
    ['config'],
    ['openapi', 'skills'],
    ['connection'],
    ['cache'],
    ['lock'],
    ['scan'],
    ['connect-options'],
    ['server', 'connected-servers'],
    ['connect-servers'],
    ['clients'],
    ['find-config', 'user-memory'],
    ['open-from-config'],
    ['unmatched-in-config', 'agent-files', 'index'],
  ],
}

describe('the house', () => {
  it('is found by the parser', () => {
    expect(sources).toContain('packages/core/src/registry/catalogue.ts')
    expect(imports).toContainEqual({
      from: 'packages/core/src/search/catalogue-search.ts',
      to: 'packages/core/src/search/lexical.ts',
      isType: false,
      isDynamic: false,
    })
    expect(imports).toContainEqual({
      from: 'packages/core/src/search/tool-finder.ts',
      to: 'packages/core/src/search/catalogue-search.ts',
      isType: false,
      isDynamic: true,
    })
  })

  it.each(Object.keys(ROOMS))('has a package %s whose imports point inward', (name) => {
    const outward = imports.filter(
      ({ from, to }) => packageOf(from) === name && isOwn(to) && ringOf(to) > ringOf(from),
    )
    expect(outward.map(({ from, to }) => `${from} → ${to}`)).toEqual([])
  })

  it('has no import cycle, types included', () => {
    expect(cyclesAmong(imports)).toEqual([])
  })

  it('has packages that import only those before them, by their names', () => {
    const wrong = imports.filter(({ from, to }) => {
      const target = sourceOf(to)
      if (!isOwn(target)) return false
      const [mine, theirs] = [packageOf(from), packageOf(target)]
      return (mine === theirs) !== isOwn(to) || PACKAGES.indexOf(theirs) > PACKAGES.indexOf(mine)
    })
    expect(wrong).toEqual([])
  })

  it('has packages that declare what they import', () => {
    const undeclared = imports.flatMap(({ from, to }) => {
      if (isOwn(to) || isNodeModule(to) || from.includes('/inspector/page/')) return []
      const name = to
        .split('/')
        .slice(0, to.startsWith('@') ? 2 : 1)
        .join('/')
      const { dependencies = {}, peerDependencies = {} } = manifestOf(packageOf(from))
      const isBundled = BUNDLED.includes(name)
      return name in dependencies || name in peerDependencies || isBundled ? [] : [`${from} → ${to}`]
    })
    expect(undeclared).toEqual([])
  })

  it('has a core without dependencies that imports nothing from Node', () => {
    expect(manifestOf('core').dependencies).toBeUndefined()
    const core = sources.filter((path) => packageOf(path) === 'core')
    expect(imports.filter(({ from, to }) => core.includes(from) && isNodeModule(to))).toEqual([])
    const globals = core.filter((path) =>
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
    expect(packagesOf('packages/core/src/index.ts')).toEqual(['tokenx'])
    expect(reachableFrom('packages/mcp/src/index.ts', atOnce)).toContain(
      'packages/mcp/src/server/server-link.ts',
    )
    expect(packagesOf('packages/mcp/src/index.ts')).toEqual(['tokenx'])
    expect(packagesOf('packages/toolcrib/src/list/run-list.ts')).toEqual(['picocolors', 'tokenx'])
    expect(packagesOf('packages/toolcrib/src/serve/run-serve.ts')).toEqual(['picocolors', 'tokenx'])
  })

  it('has a test for every promise of the security model', () => {
    const page = readFileSync(join(root, 'docs/guides/security-model.md'), 'utf8')
    const [, promised = ''] = /\n## What is promised\n([\s\S]*?)\n## /.exec(page) ?? []
    const rows = promised.split('\n').filter((line) => /^\| (?!promise \|)/.test(line))
    expect(rows.length).toBeGreaterThan(30)
    for (const row of rows) {
      const tests = [...(row.split('|').at(-2) ?? '').matchAll(/`([^`]*)`/g)].map(([, path = '']) => path)
      expect(
        tests.filter((path) => path.endsWith('.test.ts') && existsSync(join(root, path))),
        row,
      ).toEqual(tests)
      expect(tests, row).not.toEqual([])
    }
  })

  it('exports only what exists, with types, under the same name everywhere', () => {
    const names = PACKAGES.flatMap((folder) => {
      const { name, exports } = manifestOf(folder)
      const { './package.json': _, ...subpaths } = exports
      return Object.entries<{ types: string; default: string }>(subpaths).map(([key, paths]) => {
        const built = key.replace(/^\.\/?/, '') || 'index'
        expect(paths).toEqual({ types: `./dist/${built}.d.ts`, default: `./dist/${built}.js` })
        return key.replace(/^\./, name)
      })
    })
    // The build and the tests read these paths: what is exported, built and tested is the same list.
    expect(Object.keys(compilerOptions.paths)).toEqual(names)
    for (const [path] of Object.values<[string]>(compilerOptions.paths))
      expect(sources).toContain(normalize(path))
  })

  it('releases all packages together', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    for (const folder of PACKAGES) {
      const { dependencies = {}, ...manifest } = manifestOf(folder)
      expect(manifest.version).toBe(version)
      const own = Object.entries(dependencies).filter(([name]) => name.startsWith('@toolcrib/'))
      expect(own.filter(([, range]) => range !== version)).toEqual([])
    }
  })

  it('has no file that is too long', () => {
    const lengthOf = (path: string) => codeOf(path).trimEnd().split('\n').length
    expect(sources.filter((path) => lengthOf(path) > 320)).toEqual([])
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
  // Lines of doc comments may have programs.
  const code = codeOf(path).replace(/^ *\*.*$/gm, '')
  const statements = code.matchAll(
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
  return path.startsWith('packages/')
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

/** The folder of the package that a source belongs to. */
function packageOf(path: string): string {
  return path.split('/')[1] ?? ''
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly exports: Readonly<Record<string, { types: string; default: string }>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(codeOf(`packages/${folder}/package.json`))
}

/** The place of a file's room in the order of its package. */
function ringOf(path: string): number {
  const name = packageOf(path)
  const [first = ''] = relative(`packages/${name}/src`, path).split('/')
  const room = first.replace(/\.ts$/, '')
  return Math.max(
    0,
    (ROOMS[name] ?? []).findIndex((rooms) => rooms.includes(room)),
  )
}

/** The groups of files that import each other, directly or through others. */
function cyclesAmong(all: readonly Import[]): string[][] {
  const targets = new Map<string, string[]>()
  for (const { from, to } of all)
    if (isOwn(sourceOf(to))) targets.set(from, [...(targets.get(from) ?? []), sourceOf(to)])
  const reach = (start: string) => {
    const reached = new Set(targets.get(start))
    for (const path of reached) for (const next of targets.get(path) ?? []) reached.add(next)
    return reached
  }
  const reachable = new Map([...targets.keys()].map((path) => [path, reach(path)]))
  const inCycles = [...reachable].filter(([path, reached]) => reached.has(path))
  const cycles = inCycles.map(([path, reached]) =>
    [...reached].filter((other) => reachable.get(other)?.has(path)).sort(),
  )
  return [...new Map(cycles.map((cycle) => [cycle.join(), cycle])).values()]
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
