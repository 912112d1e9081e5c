import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'

/** The published reference servers, by name, as test/bundle-programs.ts bundled them. */
export function referenceServer(
  name: 'everything' | 'filesystem' | 'memory' | 'sequential-thinking',
): string {
  return join(inject('servers'), `${name}.js`)
}

export const MODERN_SERVER = join(inject('servers'), 'modern.js')
export const HOSTILE_SERVER = fileURLToPath(new URL('../fixtures/hostile-server.mjs', import.meta.url))

/** A server config that runs a script with the current Node. */
export function script(path: string, ...args: string[]) {
  return { command: process.execPath, args: [path, ...args] }
}
