import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The path of the bundled command line. */
    readonly commandLine: string
    /** The path of the bundled test/mcp/host.fixture.ts. */
    readonly mcpHost: string
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
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(root, 'models'), join(folder, 'models'))
  const input = {
    'cli/main': join(root, 'src/cli/main.ts'),
    'mcp/host': join(root, 'test/mcp/host.fixture.ts'),
  }
  await bundle(input, join(folder, 'dist'))
  provide('commandLine', join(folder, 'dist', 'cli', 'main.js'))
  provide('mcpHost', join(folder, 'dist', 'mcp', 'host.js'))
  return () => rmSync(folder, { recursive: true, force: true })
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
