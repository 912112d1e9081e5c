import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { rolldown } from 'rolldown'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The path of the bundled command line. */
    readonly commandLine: string
    /** The path of the bundled test/mcp/host.fixture.ts. */
    readonly mcpHost: string
    /** The folder of the bundled programs of single tests, and of `capabilities.js` for programs that import it. */
    readonly programs: string
    /** The folder of the bundled servers: `everything.js` and so on. */
    readonly servers: string
  }
}

const root = join(import.meta.dirname, '..')

/**
 * Bundles the programs that tests start as processes, once per run. The bundle is inside node_modules, where it finds
 * its dependencies.
 */
export default async function setup({ provide }: TestProject): Promise<() => void> {
  const cache = join(root, 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'toolcrib-cli-'))
  copyFileSync(join(root, 'packages/toolcrib/package.json'), join(folder, 'package.json'))
  symlinkSync(join(root, 'packages/embedder/models'), join(folder, 'models'))
  const input = {
    'cli/main': join(root, 'packages/toolcrib/src/main.ts'),
    'mcp/host': join(root, 'test/mcp/host.fixture.ts'),
    'programs/store-worker': join(root, 'test/fixtures/store-worker.ts'),
    'programs/next-request': join(root, 'test/fixtures/next-request.ts'),
    'programs/capabilities': join(root, 'packages/mcp/src/capabilities/index.ts'),
  }
  await Promise.all([bundle(input, join(folder, 'dist')), bundleServers(join(folder, 'servers'))])
  provide('commandLine', join(folder, 'dist', 'cli', 'main.js'))
  provide('mcpHost', join(folder, 'dist', 'mcp', 'host.js'))
  provide('programs', join(folder, 'dist', 'programs'))
  provide('servers', join(folder, 'servers'))
  return () => rmSync(folder, { recursive: true, force: true })
}

/** Bundles the reference servers with their dependencies: so they start in half the time. */
async function bundleServers(folder: string): Promise<void> {
  const require = createRequire(import.meta.url)
  const published = (name: string) =>
    join(dirname(require.resolve(`@modelcontextprotocol/server-${name}/package.json`)), 'dist', 'index.js')
  const input = {
    everything: published('everything'),
    filesystem: published('filesystem'),
    memory: published('memory'),
    'sequential-thinking': published('sequential-thinking'),
    modern: join(root, 'test', 'fixtures', 'modern-server.mjs'),
  }
  const servers = await rolldown({ input, platform: 'node', logLevel: 'silent' })
  await servers.write({ dir: folder, format: 'esm' })
  await servers.close()
  // `everything` reads them at start.
  symlinkSync(join(dirname(input.everything), 'docs'), join(dirname(folder), 'docs'))
}

/** Bundles programs, by name, into a folder. The public names of the package mean its source. */
export async function bundle(input: Readonly<Record<string, string>>, folder: string): Promise<void> {
  const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))
  const sources = new Map(Object.entries<[string]>(compilerOptions.paths))
  const programs = await rolldown({
    input: { ...input },
    platform: 'node',
    external: (id) => !sources.has(id) && !id.startsWith('.') && !id.startsWith('/'),
    plugins: [
      {
        name: 'public-names',
        resolveId: (id) => {
          const source = sources.get(id)?.[0]
          return source === undefined ? null : join(root, source)
        },
      },
    ],
  })
  await programs.write({ dir: folder, format: 'esm' })
  await programs.close()
}
