import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fromOpenAI, ToolRegistry } from 'toolcrib'
import { runAgent, scriptedModel } from 'toolcrib/agent'
import { expect, onTestFinished } from 'vitest'
import { ask, call, shown, tool } from '../helpers.ts'
import { changingServer, fromConfig, readTools, servers } from './registries.ts'

const DEFINITION = {
  type: 'function' as const,
  function: { name: 'query', description: 'Runs SQL.', parameters: { type: 'object' } },
}

export const logicore = {
  '`tool_threshold=15`': () => {
    const registry = new ToolRegistry({ defer: 'all' })
    const add = (at: number) => registry.register(tool(`tool_${at}`))
    for (let at = 1; at < 15; at++) add(at)
    expect(registry.stats()).toMatchObject({ deferred_mode: false, threshold: 15 })
    add(15)
    expect(registry.stats()).toMatchObject({ deferred_mode: true, auto_deferred: true })
    registry.unregister('tool_15')
    expect(registry.stats().deferred_mode).toBe(true)
  },
  '`deferred_tools=True`': async () => {
    expect((await readTools('deferred_tools = true')).shown).toEqual(['tool_search'])
    expect(servers({ mode: 'lazy' }).stats()).toMatchObject({ deferred_mode: true, auto_deferred: false })
  },
  'default tools are deferred with the others': async () => {
    const registry = servers()
    registry.register(tool('exec'))
    expect(shown(await registry.openSession({ defer: 'all' }))).toEqual(['tool_search'])
    expect(shown(await registry.openSession())).toEqual(['exec', 'tool_search'])
  },
  '`MCPAgent(mcp_config_path="mcp.json")`, `init_mcp_servers()`': async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolcrib-from-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const mcpServers = { weather: await changingServer(folder) }
    const opened = await fromConfig('mcp.json', JSON.stringify({ mcpServers }))
    const { matches } = await opened.registry.search('get rain')
    expect(matches[0]?.name).toBe('mcp__weather__get_rain')
    expect(await opened.servers.ready()).toMatchObject([{ server: 'weather', state: 'ready' }])
  },
  '`agent.chat(…)`': async () => {
    const session = await servers().openSession()
    const model = scriptedModel([{ text: 'Hello.' }])
    expect(await runAgent({ model, session, messages: 'Hi.' })).toMatchObject({ text: 'Hello.' })
    const turn = (await servers().openSession({ dialect: model.dialect })).turn([])
    expect(turn.request).toMatchObject({ messages: expect.any(Array), tools: expect.any(Array) })
  },
  '`tool_search_regex`': async () => {
    const session = await servers().openSession({ searchTool: 'tool_search_regex' })
    expect(await ask(session, 'tool_search_regex', { pattern: 'FORECAST|alerts', limit: 5 })).toMatchObject({
      status: 'success',
      total_matches: 2,
      newly_loaded: 2,
    })
    expect(await ask(session, 'tool_search_regex', { pattern: '(' })).toMatchObject({
      status: 'error',
      error: expect.stringContaining('('),
    })
  },
  '`register_tool_deferred(schema, preload)`': async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    for (const [name, preload] of [
      ['query', false],
      ['insert', true],
    ] as const) {
      const definition = { ...DEFINITION, function: { ...DEFINITION.function, name } }
      registry.register(
        fromOpenAI(definition, () => 'done'),
        { deferred: true, preload },
      )
    }
    const session = await registry.openSession()
    expect(shown(session)).toEqual(['insert', 'tool_search'])
    expect(await call(session, 'query')).toMatchObject({ value: 'done' })
  },
  '`preload_tools([…])`': async () => {
    const registry = servers()
    registry.preload(['mcp__slack__send_message'])
    const session = await registry.openSession()
    await session.preload(['mcp__slack__add_reaction'])
    expect(shown(session)).toEqual(['mcp__slack__send_message', 'tool_search', 'mcp__slack__add_reaction'])
    expect(shown(await registry.openSession())).toEqual(['mcp__slack__send_message', 'tool_search'])
  },
  '`register_tool_from_function(fn)`': async () => {
    const registry = new ToolRegistry({ mode: 'lazy', defer: 'all' })
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const double = ({ n }: { n: number }) => n * 2
    registry.registerFunction(double, { description: 'Doubles.', inputSchema: schema })
    expect(shown(await registry.openSession())).toEqual(['double'])
    expect(await call(await registry.openSession(), 'double', { n: 2 })).toMatchObject({ value: '4' })
    for (let at = 0; at < 20; at++)
      registry.registerFunction(() => '', { name: `more_${at}`, description: 'More.', preload: at === 0 })
    expect(shown(await registry.openSession())).toEqual(['more_0', 'tool_search'])
  },
  '`get_registry_stats()`': async () => {
    const registry = servers()
    const keys = Object.keys(registry.stats()).sort()
    expect(keys).toEqual([
      'auto_deferred',
      'deferred',
      'deferred_mode',
      'loaded',
      'threshold',
      'tool_names',
      'total_registered',
    ])
    const session = await registry.openSession()
    await session.activate(['mcp__slack__send_message'])
    expect(Object.keys(session.stats()).sort()).toEqual(keys)
    expect([session.stats().loaded, registry.stats().loaded]).toEqual([1, 0])
  },
  '`_tool_registry`, `_loaded_tools`': async () => {
    const registry = servers()
    const [one, other] = [await registry.openSession(), await registry.openSession()]
    await one.activate(['mcp__slack__send_message'])
    expect(registry.listSchemas()).toHaveLength(15)
    expect([shown(one).length, shown(other).length]).toEqual([2, 1])
  },
  'tools stay loaded forever': async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    const names = Array.from({ length: 30 }, (_, at) => `tool_${at}`)
    registry.syncMcp(
      's',
      names.map((name) => tool(name)),
    )
    const activeOf = async (options: object) => {
      const session = await registry.openSession(options)
      for (const name of names) await session.activate([`mcp__s__${name}`])
      return session.toJSON().activations.length
    }
    expect([await activeOf({}), await activeOf({ maxActive: 0 })]).toEqual([24, 30])
  },
}
