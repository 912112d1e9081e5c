import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RegistryOptions, type Stats, ToolRegistry } from 'toolcrib'
import { openFromConfig } from 'toolcrib/mcp'
import { onTestFinished } from 'vitest'
import { registerServers, shown, tool } from '../helpers.ts'

/** A registry with three servers of five tools each. */
export function servers(options: RegistryOptions = {}): ToolRegistry {
  const registry = new ToolRegistry({ mode: 'lazy', ...options })
  registerServers(registry)
  return registry
}

/** What a registry with one built-in tool and two of a server does under these keys of `[tools]`. */
export async function readTools(lines: string, more = ''): Promise<{ stats: Stats; shown: string[] }> {
  const { registry } = await fromConfig('toolcrib.toml', `[tools]\n${lines}\n${more}`)
  registry.register(tool('exec'))
  registry.syncMcp('s', [tool('one'), tool('two')])
  return { stats: registry.stats(), shown: shown(await registry.openSession()) }
}

/** Opens a config, and closes it with the test. */
export async function fromConfig(name: string, text: string) {
  const folder = await mkdtemp(join(tmpdir(), 'toolcrib-from-'))
  const path = join(folder, name)
  await writeFile(path, text)
  const opened = await openFromConfig({ path, store: false, env: {} })
  onTestFinished(async () => {
    await opened.close()
    await rm(folder, { recursive: true })
  })
  return opened
}

/** A configured server of the tests: it lists `announce` and `get_rain`. */
export async function changingServer(folder: string) {
  const tools = [tool('get_rain'), tool('announce')].map(({ name, description, inputSchema }) => ({
    ...{ name, description, inputSchema },
  }))
  await writeFile(join(folder, 'tools.json'), JSON.stringify(tools))
  const program = join(import.meta.dirname, '../fixtures/changing-server.mjs')
  return { command: process.execPath, args: [program, join(folder, 'tools.json')] }
}
