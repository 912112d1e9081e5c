import { ToolRegistry } from 'toolcrib'
import { runAgent, scriptedModel } from 'toolcrib/agent'
import { expect } from 'vitest'
import { ask, registerServers, shown, tool } from '../helpers.ts'
import { readTools, servers } from './registries.ts'

export const moltis = {
  '`register`, `register_mcp(tool, server)`': () => {
    const registry = new ToolRegistry()
    registry.register(tool('exec'))
    registry.registerMcp(tool('search'), 'github')
    expect(registry.stats().tool_names).toEqual(['exec', 'mcp__github__search'])
  },
  '`clone_without_mcp()`': async () => {
    const registry = servers({ mode: 'full' })
    registry.register(tool('exec'))
    const copy = registry.withoutMcp()
    copy.register(tool('more'))
    expect([copy.size, registry.has('more')]).toEqual([2, false])
    const session = await registry.openSession({ policy: { filter: { allowedMcpServers: [] } } })
    expect(shown(session)).toEqual(['exec'])
  },
  '`unregister_mcp()`': () => {
    const registry = servers()
    expect([registry.unregisterMcp('slack'), registry.unregisterMcp(), registry.size]).toEqual([5, 10, 0])
  },
  '`list_schemas()`, `ToolSource`': () => {
    const registry = new ToolRegistry()
    registry.registerMcp(tool('search'), 'github')
    registry.register(tool('exec'))
    registry.register(tool('draw'), { pluginId: 'art' })
    expect(registry.listSchemas()).toMatchObject([
      { name: 'draw', source: 'plugin', pluginId: 'art' },
      { name: 'exec', source: 'builtin' },
      { name: 'mcp__github__search', source: 'mcp', mcpServer: 'github' },
    ])
  },
  '`registry_mode = "lazy"`': async () => {
    expect((await readTools('registry_mode = "lazy"')).stats.deferred_mode).toBe(true)
    const registry = new ToolRegistry()
    for (let count = 1; count < 15; count++) registry.registerMcp(tool(`tool_${count}`), 's')
    expect(registry.stats().deferred_mode).toBe(false)
    registry.registerMcp(tool('tool_15'), 's')
    expect(registry.stats().deferred_mode).toBe(true)
  },
  'the model receives only `tool_search`': async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registry.register(tool('exec'))
    expect(shown(await registry.openSession({ defer: 'all' }))).toEqual(['tool_search'])
    expect(shown(await registry.openSession())).toEqual(['exec'])
  },
  '`tool_search(query)`, then `tool_search(name)`': async () => {
    const session = await servers().openSession({ searchStyle: 'two-step' })
    const { matches } = await ask(session, 'tool_search', { query: 'weather forecast' })
    expect(matches).toContainEqual({ name: FORECAST, description: 'Get the weather forecast for a city.' })
    expect(shown(session)).toEqual(['tool_search'])
    const loaded = await ask(session, 'tool_search', { name: FORECAST })
    expect(loaded).toMatchObject({ activated: true, name: FORECAST, parameters: { required: ['city'] } })
    expect(shown(session)).toEqual(['tool_search', FORECAST])
    const oneStep = await servers().openSession()
    await ask(oneStep, 'tool_search', { query: 'weather forecast' })
    expect(shown(oneStep)).toContain(FORECAST)
  },
  'up to 15 name and description pairs': async () => {
    const registry = servers({ searchStyle: 'two-step', searcher: 'lexical' })
    registry.syncMcp(
      'many',
      Array.from({ length: 30 }, (_, at) => tool(`item_${at}`)),
    )
    const session = await registry.openSession()
    const search = (limit?: number) =>
      ask(session, 'tool_search', { query: 'item', ...(limit === undefined ? {} : { limit }) })
    const { matches, next_offset } = await search()
    expect([(matches as object[]).length, next_offset]).toEqual([15, 15])
    expect((await search(25)).matches).toHaveLength(15)
    expect((await search(3)).matches).toHaveLength(3)
  },
  'iteration limit tripled in lazy mode': async () => {
    const iterations = async (mode: 'lazy' | 'full') => {
      const registry = new ToolRegistry({ mode, defer: 'all', strategy: 'dispatch' })
      registerServers(registry)
      const session = await registry.openSession()
      let count = 0
      const model = scriptedModel(() => ({ calls: [{ name: FORECAST, args: { city: `${count++}` } }] }))
      return (await runAgent({ model, session, messages: 'Go.', loopGuard: { withholdAfter: 1000 } }))
        .iterations
    }
    expect(await Promise.all([iterations('full'), iterations('lazy')])).toEqual([25, 75])
  },
}

const FORECAST = 'mcp__weather__get_forecast'
