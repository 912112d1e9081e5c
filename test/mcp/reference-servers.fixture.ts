import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The published reference servers, by name. */
export function referenceServer(
  name: 'everything' | 'filesystem' | 'memory' | 'sequential-thinking',
): string {
  const require = createRequire(import.meta.url)
  const manifest = require.resolve(`@modelcontextprotocol/server-${name}/package.json`)
  return join(dirname(manifest), 'dist', 'index.js')
}

export const MODERN_SERVER = fileURLToPath(new URL('../fixtures/modern-server.mjs', import.meta.url))
export const HOSTILE_SERVER = fileURLToPath(new URL('../fixtures/hostile-server.mjs', import.meta.url))

/** A server config that runs a script with the current Node. */
export function script(path: string, ...args: string[]) {
  return { command: process.execPath, args: [path, ...args] }
}
