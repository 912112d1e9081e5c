import { ToolRegistry, weighted } from 'toolcrib'
import { anthropic } from 'toolcrib/anthropic'
import { gemini } from 'toolcrib/gemini'
import { openaiChat } from 'toolcrib/openai-chat'
import { expect } from 'vitest'
import { ask, shown, tool } from '../helpers.ts'
import { servers } from './registries.ts'

export const nexo = {
  '`register_with_meta(def, tool, ToolMeta::deferred_with_hint("…"))`': async () => {
    const registry = new ToolRegistry({ mode: 'lazy', defer: 'flagged', searcher: 'weighted' })
    registry.register(tool('post'), { deferred: true, searchHint: 'a slack message' })
    registry.register(tool('post_2', { deferred: true, searchHint: 'a slack message' }))
    expect((await registry.search('slack')).matches).toMatchObject([{ score: 4 }, { score: 4 }])
    expect(shown(await registry.openSession())).toEqual(['tool_search'])
  },
  'only what opts in is deferred': async () => {
    const registry = servers()
    expect(shown(await registry.openSession({ defer: 'flagged' }))).toHaveLength(15)
    expect(shown(await registry.openSession())).toEqual(['tool_search'])
  },
  '`ToolRegistry::deferred_tools()`': async () => {
    const registry = servers()
    const session = await registry.openSession()
    await session.activate(['mcp__slack__send_message'])
    expect([registry.deferredTools().length, session.deferred().length]).toEqual([15, 14])
  },
  '`ToolSearch` with `select:A,B`, words, `+required`': async () => {
    const search = async (query: string) => {
      const session = await servers().openSession({ searchTool: 'ToolSearch', searcher: weighted() })
      const answer = await ask(session, 'ToolSearch', { query })
      const names = (answer.matches as { name: string }[]).map(({ name }) => name)
      return { answer, names, active: shown(session).slice(1) }
    }
    expect(await search('select:send_message,none')).toMatchObject({
      answer: { query_kind: 'select', total_deferred_tools: 15, missing: ['none'] },
      names: ['mcp__slack__send_message'],
      active: ['mcp__slack__send_message'],
    })
    const again = async (searchAgain: 'new' | 'all') => {
      const session = await servers().openSession({ searchTool: 'ToolSearch', searchAgain })
      await ask(session, 'ToolSearch', { query: 'select:send_message' })
      const { matches } = await ask(session, 'ToolSearch', { query: 'select:send_message' })
      return 'parameters' in ((matches as object[])[0] ?? {})
    }
    expect([await again('new'), await again('all')]).toEqual([false, true])
    const words = await search('+slack message')
    expect(words.answer.query_kind).toBe('keyword')
    expect(words.names.every((name) => name.startsWith('mcp__slack__'))).toBe(true)
    expect((await search('messages -send server:slack')).names[0]).toBe('mcp__slack__search_messages')
    expect((await search('"air quality"')).names).toEqual(['mcp__weather__get_air_quality'])
    expect((await search('/get_a/')).names).toEqual([
      'mcp__weather__get_air_quality',
      'mcp__weather__get_alerts',
    ])
  },
  '`max_results`: 5, at most 25': async () => {
    const registry = new ToolRegistry({
      mode: 'lazy',
      searcher: 'weighted',
      searchTool: 'ToolSearch',
      maxActive: 0,
    })
    registry.syncMcp(
      's',
      Array.from({ length: 40 }, (_, at) => tool(`item_${at}`)),
    )
    const count = async (more: object) => {
      const { matches } = await ask(await registry.openSession(), 'ToolSearch', { query: 'item', ...more })
      return (matches as object[]).length
    }
    expect([await count({}), await count({ max_results: 99 })]).toEqual([5, 25])
  },
  'scores 10 / 12, 5 / 6, +4, +2': async () => {
    const registry = new ToolRegistry({ searcher: weighted() })
    registry.register(tool('send', { description: 'Delivers.' }))
    registry.registerMcp(tool('send', { description: 'Delivers.' }), 's')
    registry.register(tool('resender', { description: 'Delivers.', searchHint: 'send it' }))
    registry.register(tool('post', { description: 'Can send.' }))
    const scores = async (query: string) =>
      (await registry.search(query)).matches.map(({ name, score }) => [name, score])
    expect(await scores('send zebra')).toEqual([
      ['mcp__s__send', 12],
      ['send', 10],
      ['resender', 9],
      ['post', 2],
    ])
    expect((await scores('send'))[0]).toEqual(['send', 10])
    expect(await scores('+send unknownword')).toContainEqual(['post', 0])
    expect((await new ToolRegistry({ searcher: 'weighted' }).search('x')).matches).toEqual([])
  },
  'requests contain every schema': async () => {
    for (const dialect of [openaiChat(), gemini(), anthropic()]) {
      const session = await servers().openSession({ dialect, strategy: 'dispatch' })
      expect(JSON.stringify(session.turn([]).request)).not.toContain('A message')
      expect(shown(session)).toEqual(['tool_search', 'call_tool'])
    }
  },
}
