import { memorySpill, type ServerStatus, ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { ask, call, eventLog, registerServers, shown, tool } from './helpers.ts'

const many = (count: number) => Array.from({ length: count }, (_, index) => tool(`t${index}`))

describe('auto mode', () => {
  it('decides at every change, for every reader', async () => {
    const registry = new ToolRegistry()
    registry.syncMcp('s', many(15))
    registry.syncMcp('s', many(14))
    expect(registry.stats().deferred_mode).toBe(true)
    const session = await registry.openSession()
    expect(shown(session)).toEqual(['tool_search'])
    expect(shown(session.fork())).toEqual(['tool_search'])
    expect(shown(await registry.openSession({ state: session.toJSON() }))).toEqual(['tool_search'])
    registry.syncMcp('s', many(5))
    expect(shown(session)).toHaveLength(5)
  })

  it('reports that no search is permitted', async () => {
    const registry = new ToolRegistry({ policy: { deny: ['tool_search'] } })
    registry.syncMcp('s', many(20))
    const session = await registry.openSession()
    expect(session.stats()).toMatchObject({
      deferred_mode: false,
      auto_deferred: false,
      loaded: 20,
      deferred: 0,
    })
    expect(registry.stats()).toMatchObject({ deferred_mode: false, loaded: 20, deferred: 0 })
    expect(registry.explain('mcp__s__t1').state).toBe('visible')
    expect(registry.explain('tool_search', session).state).toBe('denied')
  })
})

describe('quarantine', () => {
  it('applies to a tool that arrives while a search waits', async () => {
    const registry = new ToolRegistry()
    let statuses: ServerStatus[] = [{ server: 'late', state: 'connecting' }]
    registry.attachServers({
      statuses: () => statuses,
      settled: async () => {
        registry.syncMcp('late', [tool('translate')])
        registry.quarantine('mcp__late__translate', 'its description changed')
        statuses = [{ server: 'late', state: 'ready' }]
      },
    })
    expect((await registry.search('translate')).matches).toEqual([])
  })

  it('counts as registered, and is copied', () => {
    const registry = new ToolRegistry()
    registry.registerAll([tool('a'), tool('b')])
    registry.quarantine('a', 'changed')
    expect(registry.stats()).toMatchObject({
      total_registered: 2,
      loaded: 1,
      deferred: 1,
      tool_names: ['a', 'b'],
    })
    expect(registry.withoutMcp().explain('a')).toEqual({ name: 'a', state: 'quarantined', reason: 'changed' })
    expect(registry.release('a')).toBe(true)
    expect(registry.explain('a').state).toBe('visible')
  })
})

describe('sessions', () => {
  it('never share an id, so they never share a spilled result', async () => {
    const registry = new ToolRegistry({ spill: memorySpill(), resultBudgetChars: 100 })
    registry.register(tool('long', { execute: () => ({ ok: true, value: 'secret '.repeat(100) }) }))
    const session = await registry.openSession()
    const other = await registry.withoutMcp().openSession()
    const result = await call(session, 'long')
    const handle = /handle "([^"]+)"/.exec(result.ok ? result.value : '')?.[1] ?? 'r1'
    expect(other.id).not.toBe(session.id)
    expect(await ask(other, 'read_result', { handle })).toMatchObject({ found: false })
  })

  it('report what a smaller cap evicted when they are loaded', async () => {
    const log = eventLog()
    const registry = new ToolRegistry({ onEvent: log.onEvent })
    registerServers(registry)
    const session = await registry.openSession()
    await session.activate(['mcp__slack__send_message', 'mcp__github__get_file'])
    const restored = await registry.openSession({ state: session.toJSON(), maxActive: 1 })
    expect(log.of('evicted')).toMatchObject([{ names: ['mcp__github__get_file'] }])
    expect((await ask(restored, 'tool_search', { name: 'send_message' })).evicted).toEqual([
      'mcp__github__get_file',
    ])
  })

  it('keep what a fork was limited to when it is saved', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registerServers(registry)
    const child = (await registry.openSession()).fork({ tools: ['mcp__slack__*'] })
    const restored = await registry.openSession({ state: JSON.parse(JSON.stringify(child)) })
    expect(restored.deferred()).toHaveLength(5)
  })

  it('keep the whole surface constant under dispatch', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', strategy: 'dispatch' })
    registerServers(registry)
    const session = await registry.openSession()
    const before = JSON.stringify(session.surface())
    await session.activate(['mcp__slack__send_message'])
    expect(JSON.stringify(session.surface())).toBe(before)
  })

  it('see only servers they may use', async () => {
    const registry = new ToolRegistry()
    registerServers(registry)
    const waited: unknown[] = []
    registry.attachServers({
      statuses: () => [
        { server: 'secret-hr', state: 'connecting' },
        { server: 'slack', state: 'failed', reason: 'gone' },
      ],
      settled: async (options) => void waited.push(options),
    })
    const session = await registry.openSession({
      mode: 'lazy',
      policy: { filter: { allowedMcpServers: ['slack'] } },
    })
    const found = await ask(session, 'tool_search', { query: 'message' })
    expect(found.servers).toEqual([{ server: 'slack', state: 'failed', reason: 'gone' }])
    expect(waited).toEqual([])
  })

  it('wait for a server before they report a name as unknown', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registerServers(registry)
    let statuses: ServerStatus[] = [{ server: 'late', state: 'connecting' }]
    registry.attachServers({
      statuses: () => statuses,
      settled: async () => {
        registry.syncMcp('late', [tool('translate')])
        statuses = [{ server: 'late', state: 'ready' }]
      },
    })
    const session = await registry.openSession()
    expect(await ask(session, 'tool_search', { name: 'translate' })).toMatchObject({ activated: true })
  })
})

describe('results of meta-tools', () => {
  const huge = 'word '.repeat(20_000)

  it('stay within their budget for any input', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registerServers(registry)
    registry.syncMcp(
      'jp',
      Array.from({ length: 60 }, (_, index) =>
        tool(`yoyaku_${index}`, { description: '車を予約する。'.repeat(100) }),
      ),
    )
    const asked: [string, string, object][] = [
      ['tool_search', 'tool_search', { query: huge }],
      ['tool_search', 'tool_search', { name: huge }],
      ['tool_search', 'tool_search', { query: `select:${huge.replaceAll(' ', ',')}` }],
      ['ToolSearch', 'ToolSearch', { query: huge }],
      ['tool_search_regex', 'tool_search_regex', { pattern: 'yoyaku', limit: 50 }],
    ]
    for (const [searchTool, name, args] of asked) {
      const session = await registry.openSession({ searchTool: searchTool as 'tool_search' })
      const found = await ask(session, name, args)
      expect(JSON.stringify(found).length).toBeLessThan(20_000)
      expect(JSON.stringify(found)).not.toMatch(/\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f])/)
    }
  })

  it('page through a selection, and name what did not fit', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    const properties = Object.fromEntries(
      Array.from({ length: 120 }, (_, index) => [
        `field${index}`,
        { type: 'string', description: 'A text about it.' },
      ]),
    )
    registry.syncMcp(
      's',
      many(32).map((one) => ({ ...one, inputSchema: { type: 'object', properties } })),
    )
    const query = `select:${many(32)
      .map(({ name }) => name)
      .join(',')}`
    const seen: string[] = []
    let offset: unknown = 0
    while (offset !== undefined) {
      const session = await registry.openSession()
      const page = await ask(session, 'tool_search', { query, offset })
      seen.push(...(page.matches as { name: string }[]).map(({ name }) => name))
      offset = page.next_offset
    }
    expect(seen).toEqual(many(32).map(({ name }) => `mcp__s__${name}`))
    const session = await registry.openSession({ searchTool: 'ToolSearch' })
    const answer = await ask(session, 'ToolSearch', { query })
    expect([
      ...(answer.matches as { name: string }[]).map(({ name }) => name),
      ...(answer.omitted as string[]),
    ]).toEqual(seen)
  })

  it('accept limits out of range', async () => {
    const registry = new ToolRegistry()
    registerServers(registry)
    expect(
      (await registry.search('get list search', { limit: Number.POSITIVE_INFINITY })).matches.length,
    ).toBeGreaterThan(5)
    expect((await registry.search('get list search', { limit: -7 })).matches).toHaveLength(1)
    expect((await registry.search('get list search', { offset: 1e9 })).matches).toEqual([])
  })
})

describe('bad input', () => {
  const codeOf = (action: () => unknown) => {
    try {
      action()
    } catch (error) {
      return (error as { code?: string }).code
    }
    return 'nothing thrown'
  }

  it.each([
    { policy: { allow: 'x' } },
    { policy: { alow: ['x'] } },
    { policy: null },
    { policy: { filter: { excludeTools: [1] } } },
    { pinned: 'x' },
    { searcher: {} },
    { searcher: 'hybrid' },
  ])('in options is config-invalid: %j', (options) => {
    expect(codeOf(() => new ToolRegistry(options as never))).toBe('config-invalid')
  })

  it('in one of several tools registers none', () => {
    const registry = new ToolRegistry()
    expect(codeOf(() => registry.registerAll([tool('a'), tool('b'), tool('a')]))).toBe('tool-duplicate')
    expect(registry.size).toBe(0)
  })
})
