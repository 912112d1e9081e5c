import { ToolRegistry } from 'toolcrib'
import { connectServers, loadConfig } from 'toolcrib/mcp'
import { expect, it } from 'vitest'
import { tool } from '../helpers.ts'

it('a loaded config is accepted unchanged by the registry and by connectServers()', async () => {
  const text =
    '[tools]\nregistry_mode = "lazy"\n[server.files]\ncommand = "no-such-command"\nstart = "on-demand"\n'
  const config = await loadConfig({ cwd: '/', env: {}, path: '/toolcrib.toml', readFile: async () => text })
  const registry = new ToolRegistry(config.tools)
  const servers = connectServers(registry, config)
  expect(servers.status().map(({ server }) => server)).toEqual(['files'])
  registry.register({ ...tool('flagged'), deferred: true })
  registry.registerMcp(tool('listed'), 'other')
  expect(registry.stats()).toMatchObject({ deferred_mode: true, auto_deferred: false, deferred: 2 })
  await servers.close()
})
