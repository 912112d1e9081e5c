import { ToolRegistry } from 'toolcrib'
import { parseAgent } from 'toolcrib/agent'
import { anthropic } from 'toolcrib/anthropic'
import { openaiChat } from 'toolcrib/openai-chat'
import { memoryStore } from 'toolcrib/stores'
import { expect } from 'vitest'
import { runSlashCommand } from '../../packages/toolcrib/src/chat/slash-commands.ts'
import { ask, call, shown, tool } from '../helpers.ts'
import { fromConfig, readTools, servers } from './registries.ts'

const SEND = 'mcp__slack__send_message'

export const caliban = {
  '`tools.lazy_mcp = true`': async () => {
    expect((await readTools('lazy_mcp = true')).shown).toEqual(['exec', 'tool_search'])
    const registry = new ToolRegistry({ mode: 'lazy' })
    for (let at = 0; at < 20; at++) registry.register(tool(`own_${at}`))
    expect(shown(await registry.openSession())).toEqual(['tool_search'])
    expect(shown(await registry.openSession({ defer: 'mcp' }))).toHaveLength(20)
  },
  '`[server.X] lazy = false`': async () => {
    const { config } = await fromConfig('toolcrib.toml', '[server.x]\ncommand = "none"\nlazy = false')
    expect(config.servers.x?.lazy).toBe(false)
    const registry = servers()
    registry.syncMcp('x', [tool('one')], { lazy: false })
    expect(shown(await registry.openSession())).toEqual(['mcp__x__one', 'tool_search'])
  },
  '`ToolSearch`': async () => {
    const session = await servers().openSession({ searchTool: 'ToolSearch' })
    const { matches } = await ask(session, 'ToolSearch', { query: 'select:send_message' })
    expect(matches).toMatchObject([{ name: SEND, parameters: { required: ['channel', 'text'] } }])
    expect(shown(session)).toEqual(['ToolSearch', SEND])
  },
  '`max_active_schemas = 24`': async () => {
    expect(
      (await fromConfig('toolcrib.toml', '[tools]\nmax_active_schemas = 24')).config.tools.maxActive,
    ).toBe(24)
    const session = await servers({ maxActive: 1, searchTool: 'ToolSearch' }).openSession()
    await session.activate(['mcp__slack__add_reaction'])
    const { evicted } = await ask(session, 'ToolSearch', { query: 'select:send_message' })
    expect(evicted).toEqual(['mcp__slack__add_reaction'])
    expect(shown(session)).toEqual(['ToolSearch', SEND])
  },
  '`McpActivationSet`': async () => {
    const registry = servers()
    const store = memoryStore()
    const session = await registry.openSession({ id: 'c', store })
    await session.activate([SEND])
    await session.close()
    expect((await registry.openSession({ id: 'c', store })).isActive(SEND)).toBe(true)
    const state = JSON.parse(JSON.stringify(session))
    expect((await registry.openSession({ state })).isActive(SEND)).toBe(true)
  },
  '`to_caliban_tools_filtered(&WireFilter)`': async () => {
    const session = await servers().openSession({ dialect: openaiChat() })
    const names = session
      .turn([])
      .request.tools?.map((one) => (one.type === 'function' ? one.function.name : ''))
    expect(names).toEqual(shown(session))
    expect(Object.isFrozen(session.surface())).toBe(true)
  },
  'a call of a gated tool activates it': async () => {
    const session = await servers().openSession()
    expect(await call(session, SEND, { channel: 'a', text: 'b' })).toMatchObject({ ok: true })
    expect(session.isActive(SEND)).toBe(true)
  },
  'paragraph in the system prompt': async () => {
    const session = await servers().openSession({ dialect: openaiChat() })
    expect(session.promptNote()).toContain('tool_search')
    expect(JSON.stringify(session.turn([]).request.messages[0])).toContain('tool_search')
    expect((await new ToolRegistry().openSession()).promptNote()).toBe('')
  },
  '`inherit_active_mcp`': async () => {
    const parent = await servers().openSession()
    await parent.activate([SEND])
    const child = parent.fork()
    await child.activate(['mcp__slack__add_reaction'])
    expect([child.isActive(SEND), parent.isActive('mcp__slack__add_reaction')]).toEqual([true, false])
    expect(parent.fork({ inheritActive: false }).isActive(SEND)).toBe(false)
    const agent = '---\nname: a\ndescription: b\ninherit_active_mcp: false\n---\nWork.'
    expect(parseAgent(agent).inheritActiveMcp).toBe(false)
  },
  '`/context`': async () => {
    const session = await servers().openSession()
    await session.activate([SEND])
    expect(session.context()).toContain(`MCP active: 1/24 (${SEND})`)
    expect(await runSlashCommand('/context', { session } as never)).toContain('MCP active: 1/24')
  },
  WaitForMcpServers: async () => {
    const registry = new ToolRegistry()
    registry.register(tool('own'))
    registry.attachServers({
      statuses: () => [{ server: 'far', state: 'connecting' }],
      settled: async () => {},
    })
    expect(shown(await registry.openSession())).toEqual(['own', 'wait_for_servers'])
    expect(shown(await registry.openSession({ policy: { filter: { allowedMcpServers: [] } } }))).toEqual([
      'own',
    ])
    registry.syncMcp('s', [tool('one')])
    const session = await registry.openSession({ mode: 'lazy' })
    expect(shown(session)).toEqual(['own', 'tool_search'])
    expect(await ask(session, 'tool_search', { query: 'one' })).toMatchObject({
      servers: [{ server: 'far' }],
    })
  },
  'prefix lost on each activation': async () => {
    for (const dialect of [openaiChat(), anthropic()]) {
      const session = await servers().openSession({ dialect })
      const before = JSON.stringify(session.turn([]).request)
      await session.activate([SEND])
      expect(JSON.stringify(session.turn([]).request)).toBe(before)
    }
  },
}
