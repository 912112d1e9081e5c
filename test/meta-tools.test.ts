import { type ServerStatus, ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { ask, call, registerServers, shown, tool } from './helpers.ts'

const open = async (options = {}) => {
  const registry = new ToolRegistry(options)
  registerServers(registry)
  return registry.openSession()
}
const namesOf = (matches: unknown) => (matches as { name: string }[]).map(({ name }) => name)

describe('tool_search, one step', () => {
  it('returns matches for a query, and activates them', async () => {
    const session = await open({ searcher: 'lexical' })
    const found = await ask(session, 'tool_search', { query: 'weather forecast city' })
    expect(Object.keys(found).slice(0, 5)).toEqual(['query', 'total', 'matches', 'activated', 'evicted'])
    expect(namesOf(found.matches)[0]).toBe('mcp__weather__get_forecast')
    expect((found.matches as object[])[0]).toEqual({
      name: 'mcp__weather__get_forecast',
      description: 'Get the weather forecast for a city.',
      score: expect.any(Number),
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    })
    expect(found.activated).toEqual(namesOf(found.matches))
    expect(shown(session)).toEqual(['tool_search', ...namesOf(found.matches)])
  })

  it('pages, clamps its limit, and reports words that match nothing', async () => {
    const session = await open()
    const first = await ask(session, 'tool_search', { query: 'list get search zebra', limit: 2 })
    expect(first.matches).toHaveLength(2)
    expect(first.next_offset).toBe(2)
    expect(first.unmatched_terms).toEqual(['zebra'])
    const second = await ask(session, 'tool_search', { query: 'list get search zebra', limit: 2, offset: 2 })
    expect(namesOf(second.matches)).not.toEqual(namesOf(first.matches))
    expect((await ask(session, 'tool_search', { query: 'list get', limit: 999 })).matches).not.toHaveLength(0)
    expect((await ask(session, 'tool_search', { query: 'list get', limit: -3 })).matches).toHaveLength(1)
  })

  it('reports that nothing matches', async () => {
    const session = await open({ searcher: 'lexical' })
    const found = await ask(session, 'tool_search', { query: 'zebra unicorn' })
    expect(found).toMatchObject({
      total: 0,
      matches: [],
      activated: [],
      evicted: [],
      unmatched_terms: ['zebra', 'unicorn'],
    })
    expect(shown(session)).toEqual(['tool_search'])
  })

  it('loads by name in any spelling; name takes precedence over query', async () => {
    const session = await open()
    for (const name of ['mcp__slack__send_message', 'slack.send_message', 'send_message']) {
      expect(await ask(session, 'tool_search', { name, query: 'weather' })).toEqual({
        activated: true,
        name: 'mcp__slack__send_message',
        description: 'Send a message to a channel.',
        parameters: expect.objectContaining({ required: ['channel', 'text'] }),
        evicted: [],
      })
    }
  })

  it('explains an unknown name', async () => {
    const session = await open()
    expect(await ask(session, 'tool_search', { name: 'send_mesage' })).toEqual({
      activated: false,
      name: 'send_mesage',
      error: expect.stringContaining('send_mesage'),
      suggestions: ['mcp__slack__send_message'],
      mcpServers: ['github', 'slack', 'weather'],
      hint: expect.any(String),
    })
  })

  it.each([
    {},
    { query: '' },
    { query: '   ', name: '' },
    { query: '-only' },
    { query: 7, limit: 'x' },
    { query: '/(/' },
  ])('returns input_invalid for %j', async (args) => {
    expect(await call(await open(), 'tool_search', args)).toMatchObject({ ok: false, code: 'input_invalid' })
  })

  it('names evictions', async () => {
    const session = await open({ maxActive: 1 })
    await ask(session, 'tool_search', { name: 'get_forecast' })
    expect(await ask(session, 'tool_search', { name: 'send_message' })).toMatchObject({
      evicted: ['mcp__weather__get_forecast'],
    })
    const found = await ask(session, 'tool_search', { query: 'search messages issues', limit: 3 })
    expect(found.activated).toHaveLength(1)
    expect(found.evicted).toEqual(['mcp__slack__send_message'])
  })

  it('stays within its budget, and is never cut off', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', resultBudgetChars: 100 })
    const properties = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, index) => [
        `field${index}`,
        { type: 'string', description: 'A long text about it. '.repeat(5) },
      ]),
    )
    registry.syncMcp(
      'huge',
      Array.from({ length: 30 }, (_, index) =>
        tool(`huge_${index}`, { inputSchema: { type: 'object', properties } }),
      ),
    )
    const session = await registry.openSession()
    const found = await ask(session, 'tool_search', { query: 'huge', limit: 25 })
    expect(found.matches).toHaveLength(1)
    expect(found.next_offset).toBe(1)
    expect(JSON.stringify(found).length).toBeLessThan(20_000)
  })

  it('finds only what policy permits', async () => {
    const registry = new ToolRegistry()
    registerServers(registry)
    const session = await registry.openSession({ policy: { deny: ['mcp__weather__*'] } })
    expect((await ask(session, 'tool_search', { query: 'weather forecast' })).matches).toEqual([])
    expect(await ask(session, 'tool_search', { name: 'get_forecast' })).toMatchObject({
      activated: false,
      suggestions: [],
      mcpServers: ['github', 'slack'],
    })
  })

  it('limits searches per minute when configured', async () => {
    let now = 0
    const session = await open({ searchesPerMinute: 2, clock: () => now })
    await ask(session, 'tool_search', { query: 'weather' })
    await ask(session, 'tool_search', { query: 'weather' })
    expect(await call(session, 'tool_search', { query: 'weather' })).toMatchObject({
      ok: false,
      code: 'denied',
      error: expect.stringContaining('60 s'),
    })
    now = 60_001
    await ask(session, 'tool_search', { query: 'weather' })
  })
})

describe('tool_search, two steps', () => {
  it('lists names and descriptions, at most 15, and loads by name', async () => {
    const session = await open({ searchStyle: 'two-step' })
    const found = await ask(session, 'tool_search', {
      query: 'get list search send add file message',
      limit: 25,
    })
    expect((found.matches as object[]).length).toBeLessThanOrEqual(15)
    for (const match of found.matches as object[]) expect(Object.keys(match)).toEqual(['name', 'description'])
    expect(found).not.toHaveProperty('activated')
    expect(shown(session)).toEqual(['tool_search'])
    expect(await ask(session, 'tool_search', { name: 'mcp__slack__send_message' })).toMatchObject({
      activated: true,
    })
    expect(shown(session)).toEqual(['tool_search', 'mcp__slack__send_message'])
  })
})

describe('tool_search_regex', () => {
  it('loads what matches', async () => {
    const session = await open({ searchTool: 'tool_search_regex' })
    const found = await ask(session, 'tool_search_regex', { pattern: '^mcp__slack__.*message', limit: 1 })
    expect(found).toEqual({
      status: 'success',
      pattern: '^mcp__slack__.*message',
      total_matches: 2,
      tools: [{ name: 'mcp__slack__search_messages', description: expect.any(String), loaded: true }],
      newly_loaded: 1,
      message: expect.stringContaining('Found 2 tools'),
    })
    expect(shown(session)).toEqual(['tool_search_regex', 'mcp__slack__search_messages'])
    const again = await ask(session, 'tool_search_regex', { pattern: '^mcp__slack__.*message' })
    expect(again).toMatchObject({ newly_loaded: 1, total_matches: 2 })
    // Callable after this call, whenever it was loaded.
    expect((again.tools as { loaded: boolean }[]).map(({ loaded }) => loaded)).toEqual([true, true])
  })

  it('handles no match, an invalid pattern and a slow one', async () => {
    const session = await open({ searchTool: 'tool_search_regex' })
    expect(await ask(session, 'tool_search_regex', { pattern: 'zebra' })).toEqual({
      status: 'no_matches',
      message: expect.any(String),
      suggestion: expect.any(String),
    })
    expect(await ask(session, 'tool_search_regex', { pattern: '(' })).toMatchObject({
      status: 'error',
      error: expect.any(String),
    })
    expect(await ask(session, 'tool_search_regex', { pattern: 'a'.repeat(201) })).toMatchObject({
      status: 'error',
    })
    expect(await ask(session, 'tool_search_regex', { pattern: '^(a+)+$' })).toMatchObject({
      status: 'no_matches',
    })
    expect(await call(session, 'tool_search_regex', {})).toMatchObject({ ok: false, code: 'input_invalid' })
  })
})

describe('ToolSearch', () => {
  it('selects by name, without scores, and names what is missing', async () => {
    const session = await open({ searchTool: 'ToolSearch' })
    const found = await ask(session, 'ToolSearch', {
      query: 'select:mcp__slack__send_message,nope,get_forecast',
    })
    expect(found).toMatchObject({ query_kind: 'select', total_deferred_tools: 15, missing: ['nope'] })
    expect(namesOf(found.matches)).toEqual(['mcp__slack__send_message', 'mcp__weather__get_forecast'])
    for (const match of found.matches as object[])
      expect(Object.keys(match)).toEqual(['name', 'description', 'parameters'])
    expect(shown(session)).toEqual(['ToolSearch', 'mcp__slack__send_message', 'mcp__weather__get_forecast'])
  })

  it('searches by words, with scores', async () => {
    const session = await open({ searchTool: 'ToolSearch' })
    const found = await ask(session, 'ToolSearch', { query: '+slack message', max_results: 2 })
    expect(found).toMatchObject({ query: '+slack message', query_kind: 'keyword', total_deferred_tools: 15 })
    expect(namesOf(found.matches).every((name) => name.startsWith('mcp__slack__'))).toBe(true)
    expect((found.matches as { score: number }[])[0]?.score).toBeGreaterThan(0)
    expect((await ask(session, 'ToolSearch', { query: 'weather' })).total_deferred_tools).toBe(15)
  })
})

describe('call_tool', () => {
  it("returns the target's own result, and hooks see the target once", async () => {
    const seen: string[] = []
    const registry = new ToolRegistry({
      strategy: 'dispatch',
      hooks: { before_tool_call: ({ name }) => void seen.push(name) },
    })
    registerServers(registry)
    const session = await registry.openSession()
    const results = await session.execute([
      {
        toolCallId: '1',
        name: 'call_tool',
        args: { name: 'mcp__weather__get_forecast', arguments: { city: 'Oslo' } },
      },
    ])
    expect(results).toMatchObject([
      { toolCallId: '1', name: 'call_tool', result: { ok: true, value: 'get_forecast {"city":"Oslo"}' } },
    ])
    expect(seen).toEqual(['mcp__weather__get_forecast'])
  })

  it('includes the schema when the arguments are invalid', async () => {
    const session = await open({ strategy: 'dispatch' })
    const result = await call(session, 'call_tool', { name: 'mcp__weather__get_forecast', arguments: {} })
    expect(result).toMatchObject({
      ok: false,
      code: 'input_invalid',
      error: expect.stringContaining('"city"'),
    })
  })

  it('explains why it cannot call a tool', async () => {
    const session = await open({ strategy: 'dispatch' })
    expect(await call(session, 'call_tool', { name: 'get_forcast', arguments: {} })).toMatchObject({
      code: 'not_available',
      error: expect.stringContaining('mcp__weather__get_forecast'),
    })
    expect(await call(session, 'call_tool', { arguments: {} })).toMatchObject({ code: 'input_invalid' })
    expect(await call(session, 'call_tool', { name: 'call_tool', arguments: {} })).toMatchObject({
      code: 'input_invalid',
    })
  })

  it('is only on dispatch surfaces', async () => {
    expect(await call(await open(), 'call_tool', { name: 'mcp__weather__get_alerts' })).toMatchObject({
      ok: false,
      code: 'not_available',
    })
  })

  it('respects policies', async () => {
    const registry = new ToolRegistry({ strategy: 'dispatch' })
    registerServers(registry)
    const session = await registry.openSession({ policy: { deny: ['mcp__weather__*'] } })
    expect(
      await call(session, 'call_tool', { name: 'mcp__weather__get_alerts', arguments: {} }),
    ).toMatchObject({ ok: false, code: 'not_available' })
  })
})

describe('servers that are still connecting', () => {
  const directory = (statuses: ServerStatus[]) => ({ statuses: () => statuses, settled: async () => {} })

  it('are waited for by a search, and named when they are missing', async () => {
    const registry = new ToolRegistry()
    registerServers(registry)
    const statuses: ServerStatus[] = [
      { server: 'late', state: 'connecting' },
      { server: 'slow', state: 'connecting' },
      { server: 'bad', state: 'failed', reason: 'spawn ENOENT' },
    ]
    registry.attachServers({
      statuses: () => statuses,
      settled: async () => {
        registry.syncMcp('late', [tool('translate', { description: 'Translate a text.' })])
        statuses[0] = { server: 'late', state: 'ready' }
      },
    })
    const session = await registry.openSession()
    const found = await ask(session, 'tool_search', { query: 'translate text' })
    expect(namesOf(found.matches)[0]).toBe('mcp__late__translate')
    expect(found.servers).toEqual([
      { server: 'slow', state: 'connecting' },
      { server: 'bad', state: 'failed', reason: 'spawn ENOENT' },
    ])
  })

  it('are neither waited for nor named where the policy does not permit them', async () => {
    const registry = new ToolRegistry()
    const awaited: unknown[] = []
    registry.attachServers({
      statuses: () => [
        { server: 'a', state: 'ready' },
        { server: 'hidden', state: 'failed', reason: 'bad token' },
      ],
      settled: async ({ servers }) => void awaited.push(servers),
    })
    const filter = { allowedMcpServers: ['a'] }
    const session = await registry.openSession({ policy: { filter } })
    expect(await ask(session, 'wait_for_servers')).toEqual({ servers: [{ server: 'a', state: 'ready' }] })
    expect(await ask(session, 'wait_for_servers', { servers: ['hidden'] })).toEqual({
      servers: [],
      unknown: ['hidden'],
    })
    expect(awaited).toEqual([['a']])
    const without = await registry.openSession({ policy: { filter: { allowedMcpServers: [] } } })
    expect(shown(without)).toEqual([])
  })

  it('and have failed are named to a model that calls what they would have, with the reason', async () => {
    const registry = new ToolRegistry()
    const statuses: ServerStatus[] = [
      { server: 'bad', state: 'failed', reason: 'spawn\u202e ENO\u200bENT' },
      { server: 'worse', state: 'failed', reason: 'x'.repeat(1_000) },
      { server: 'hidden', state: 'failed', reason: 'bad token' },
    ]
    registry.attachServers(directory(statuses))
    const policy = { filter: { allowedMcpServers: ['bad', 'worse', 'a'] } }
    const errorOf = async (name: string) => {
      const session = await registry.openSession({ policy })
      const calls = [{ toolCallId: '1', name, args: {} }]
      const [inSession] = await session.execute(calls)
      const [without] = await registry.executeParallel(calls, { sessionId: 's' }, undefined, policy.filter)
      expect(inSession?.result).toMatchObject({ ok: false, code: 'not_available' })
      expect(without?.result).toMatchObject({ ok: false, code: 'not_available' })
      return [inSession, without].map((answer) => (answer?.result.ok === false ? answer.result.error : ''))
    }
    // Nothing is registered, so there is no search either.
    for (const name of ['tool_search', 'anything', 'worse_not']) {
      const [error = '', without = ''] = await errorOf(name)
      expect(error).toMatch(
        new RegExp(
          `^Unknown tool: ${name}\\. Servers failed, so their tools are missing: "bad" \\(spawn ENOENT\\), "worse" \\(x+…\\)\\. Tell the user what has to be fixed\\.$`,
        ),
      )
      expect(error.length).toBeLessThan(400)
      expect(without).toBe(error)
    }
    registry.syncMcp('a', [tool('translate', { description: 'Translate a text.' })])
    for (const name of ['mcp__bad__read', 'bad__read', 'bad.read'])
      expect(await errorOf(name)).toEqual(
        Array.from({ length: 2 }, () =>
          expect.stringContaining('A server failed, so its tools are missing: "bad" (spawn ENOENT).'),
        ),
      )
    for (const name of ['tool_serch', 'hidden__read', 'a__read'])
      for (const error of await errorOf(name)) expect(error).not.toContain('failed')
  })

  it('and are still connecting are named to a model that calls what they may have', async () => {
    const registry = new ToolRegistry()
    const statuses: ServerStatus[] = [
      { server: 'slow', state: 'connecting' },
      { server: 'bad', state: 'failed', reason: 'spawn ENOENT' },
      ...Array.from({ length: 7 }, (_, at): ServerStatus => ({ server: `s${at}`, state: 'connecting' })),
    ]
    registry.attachServers(directory(statuses))
    const session = await registry.openSession()
    const errorOf = async (name: string) => {
      const [answer] = await session.execute([{ toolCallId: '1', name, args: {} }])
      return answer?.result.ok === false ? answer.result.error : ''
    }
    expect(await errorOf('slow__read')).toBe(
      'Unknown tool: slow__read. Still connecting: "slow"; call again in a moment.',
    )
    expect(await errorOf('tool_search')).toBe(
      'Unknown tool: tool_search. A server failed, so its tools are missing: "bad" (spawn ENOENT). Tell the user what has to be fixed. Still connecting: "slow", "s0", "s1", "s2", "s3", and 3 more; call again in a moment.',
    )
  })

  it('that do not exist are named within limits', async () => {
    const registry = new ToolRegistry()
    registry.attachServers(directory([{ server: 'a', state: 'ready' }]))
    const session = await registry.openSession()
    const servers = Array.from({ length: 1_000 }, (_, index) => `server_${index}`.repeat(100))
    expect(JSON.stringify(await ask(session, 'wait_for_servers', { servers })).length).toBeLessThan(10_000)
  })

  it('can be waited for when no search is shown', async () => {
    const registry = new ToolRegistry()
    registry.attachServers(directory([{ server: 'a', state: 'connecting' }]))
    const session = await registry.openSession()
    expect(shown(session)).toEqual(['wait_for_servers'])
    expect(await ask(session, 'wait_for_servers', { servers: ['a', 'b'], timeout_ms: 5 })).toEqual({
      servers: [{ server: 'a', state: 'connecting' }],
      unknown: ['b'],
    })
    registerServers(registry)
    expect(shown(session)).toEqual(['tool_search'])
  })
})
