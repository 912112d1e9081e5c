import { fromOpenAI, type RegistryOptions, ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { eventLog, registerServers, tool } from './helpers.ts'

const names = (definitions: readonly { name: string }[]) => definitions.map(({ name }) => name)
const codeOf = (action: () => unknown) => {
  try {
    action()
  } catch (error) {
    return (error as { code: string }).code
  }
  return 'nothing thrown'
}

describe('registering', () => {
  it('knows the source of each tool, whatever its name looks like', () => {
    const registry = new ToolRegistry()
    registry.register(tool('mcp__x__y'))
    registry.register(tool('note'), { pluginId: 'notes' })
    registry.registerMcp(tool('search'), 'github')
    expect(
      registry
        .listSchemas()
        .map(({ name, source, mcpServer, pluginId }) => [name, source, mcpServer, pluginId]),
    ).toEqual([
      ['mcp__github__search', 'mcp', 'github', undefined],
      ['mcp__x__y', 'builtin', undefined, undefined],
      ['note', 'plugin', undefined, 'notes'],
    ])
  })

  it('rejects a second registration of a name, unless it replaces', () => {
    const registry = new ToolRegistry()
    registry.register(tool('a'))
    expect(codeOf(() => registry.register(tool('a')))).toBe('tool-duplicate')
    registry.register(tool('a', { description: 'new' }), { replace: true })
    expect(registry.get('a')?.description).toBe('new')
    expect(registry.size).toBe(1)
  })

  it('never lets a plugin or a server take the name of a built-in', () => {
    const registry = new ToolRegistry()
    registry.register(tool('a'))
    registry.register(tool('mcp__s__b'))
    expect(codeOf(() => registry.register(tool('a'), { pluginId: 'p', replace: true }))).toBe(
      'tool-duplicate',
    )
    expect(codeOf(() => registry.registerMcp(tool('b'), 's'))).toBe('tool-duplicate')
    expect(registry.syncMcp('s', [tool('b'), tool('c')]).skipped.map(({ name }) => name)).toEqual([
      'mcp__s__b',
    ])
    expect(registry.has('mcp__s__c')).toBe(true)
  })

  it.each([
    ['case', 'Search', 'search'],
    ['a letter of another script', 'seаrch', 'search'],
    ['where the __ falls', 'mcp__a__b_c', 'mcp__a_b__c'],
  ])('treats names that differ only by %s as the same', (_, first, second) => {
    const registry = new ToolRegistry()
    registry.register(tool(first))
    expect(codeOf(() => registry.register(tool(second)))).toBe('tool-duplicate')
    expect(codeOf(() => registry.register(tool(second), { replace: true }))).toBe('tool-duplicate')
  })

  it('treats a__b + c and a + b__c as the same', () => {
    const registry = new ToolRegistry()
    registry.registerMcp(tool('c'), 'a__b')
    expect(codeOf(() => registry.registerMcp(tool('b__c'), 'a'))).toBe('tool-duplicate')
    expect(registry.syncMcp('a', [tool('b__c'), tool('d')])).toMatchObject({
      added: ['mcp__a__d'],
      skipped: [{ name: 'mcp__a__b__c' }],
    })
  })

  it.each([
    'tool_search',
    'tool_search_regex',
    'ToolSearch',
    'call_tool',
    'read_result',
    'wait_for_servers',
    'Tool_Search',
  ])('reserves %s', (name) => {
    expect(codeOf(() => new ToolRegistry().register(tool(name)))).toBe('name-invalid')
  })

  it('works with names of object properties, and with long ones', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', defer: 'all' })
    const odd = ['__proto__', 'constructor', 'toString', 'x'.repeat(200)]
    for (const name of odd) registry.register(tool(name))
    expect(names(registry.toDefinitions())).toEqual([...odd].sort())
    expect(registry.has('hasOwnProperty')).toBe(false)
    const session = await registry.openSession()
    expect((await session.activate(odd)).activated).toEqual(odd)
    const results = await session.execute(odd.map((name) => ({ toolCallId: name, name, args: {} })))
    expect(results.map(({ result }) => result.ok)).toEqual([true, true, true, true])
  })

  it.each<[string, object]>([
    ['no execute', { execute: undefined }],
    ['no description', { description: undefined }],
    ['no schema', { inputSchema: undefined }],
    ['a schema that is text', { inputSchema: 'string' }],
    ['a cyclic schema', { inputSchema: cyclic() }],
    ['a schema with a function inside', { inputSchema: { type: 'object', default: () => 1 } }],
  ])('rejects a tool with %s', (_, more) => {
    expect(codeOf(() => new ToolRegistry().register(tool('a', more)))).toBe('config-invalid')
  })

  it.each<[string, Partial<ReturnType<typeof tool>>]>([
    ['an empty description', { description: '' }],
    ['a description of 100 KB', { description: 'word '.repeat(20_000) }],
    ['the schema true', { inputSchema: true }],
    ['a recursive schema', { inputSchema: { type: 'object', properties: { child: { $ref: '#' } } } }],
  ])('accepts a tool with %s, and finds it', async (_, more) => {
    const registry = new ToolRegistry()
    registry.register(tool('peculiar', more))
    expect((await registry.search('peculiar')).matches[0]?.name).toBe('peculiar')
  })

  it('is not affected by later changes of a tool object', () => {
    const registry = new ToolRegistry()
    const schema = { type: 'object', properties: { a: { type: 'string' } } }
    const mutable = { ...tool('a'), inputSchema: schema }
    registry.register(mutable)
    const before = JSON.stringify(registry.toDefinitions())
    mutable.description = 'changed'
    schema.properties.a.type = 'number'
    expect(JSON.stringify(registry.toDefinitions())).toBe(before)
    expect(() => Object.assign(registry.toDefinitions()[0] ?? {}, { name: 'b' })).toThrow(TypeError)
  })

  it('strips hidden characters from text for the model', () => {
    const registry = new ToolRegistry()
    const hidden = 'Reads\u200b \u202ea\u{e0041} file.'
    registry.registerMcp(
      tool('read', {
        description: hidden,
        inputSchema: { type: 'object', properties: { p: { type: 'string', description: hidden } } },
      }),
      's',
    )
    expect(JSON.stringify(registry.toDefinitions())).not.toMatch(/[\u200b\u202e]|\udb40/)
  })
})

describe('functions and foreign definitions', () => {
  it('wraps what a plain function returns', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', defer: 'all' })
    registry.registerFunction(({ a, b }) => ({ sum: a + b }), {
      name: 'add',
      description: 'Adds.',
      inputSchema: {
        type: 'object',
        properties: { a: { type: 'number' }, b: { type: 'number' } },
        required: ['a', 'b'],
      },
    })
    const session = await registry.openSession()
    expect(session.surface().tools.map(({ name }) => name)).toEqual(['add'])
    const [answer] = await session.execute([{ toolCallId: '1', name: 'add', args: { a: 2, b: 3 } }])
    expect(answer?.result).toEqual({ ok: true, value: '{"sum":5}', structured: { sum: 5 } })
  })

  it('defers a function only if it says so', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registry.registerFunction(() => 1, { name: 'shown', description: 'Shown.' })
    registry.registerFunction(() => 2, { name: 'hidden', description: 'Hidden.', deferred: true })
    const session = await registry.openSession()
    expect(session.surface().tools.map(({ name }) => name)).toEqual(['shown', 'tool_search'])
    expect(session.deferred().map(({ name }) => name)).toEqual(['hidden'])
  })

  it('preloads a function while there are few tools, and defers it like any other beyond that', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', defer: 'all', toolThreshold: 3 })
    registry.registerFunction(() => 1, { name: 'one', description: 'One.' })
    registry.registerFunction(() => 2, { name: 'two', description: 'Two.' })
    expect(registry.stats()).toMatchObject({ loaded: 2, deferred: 0 })
    expect(registry.explain('one').reason).toContain('fewer than 3 tools')
    registry.registerFunction(() => 3, { name: 'three', description: 'Three.' })
    registry.registerFunction(() => 4, { name: 'kept', description: 'Kept.', preload: true })
    const session = await registry.openSession()
    expect(session.surface().tools.map(({ name }) => name)).toEqual(['kept', 'tool_search'])
    const few = new ToolRegistry({ mode: 'lazy', defer: 'all' })
    few.registerFunction(() => 5, { name: 'five', description: 'Five.', preload: false })
    expect(few.stats()).toMatchObject({ loaded: 0, deferred: 1 })
  })

  it('does not show sixty functions as sixty schemas', async () => {
    const registry = new ToolRegistry()
    for (let at = 0; at < 60; at++)
      registry.registerFunction(() => at, { name: `f_${at}`, description: 'One of many.' })
    const session = await registry.openSession()
    expect(session.surface().tools.map(({ name }) => name)).toEqual(['tool_search'])
  })

  it('shows a deferred tool from the start if it is preloaded too', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    const before = await registry.openSession()
    registry.register(tool('both'), { preload: true, deferred: true })
    registry.register(tool('other'), { deferred: true })
    expect(before.deferred().map(({ name }) => name)).toEqual(['both', 'other'])
    const session = await registry.openSession()
    expect(session.surface().tools.map(({ name }) => name)).toEqual(['both', 'tool_search'])
    expect(registry.stats()).toMatchObject({ loaded: 1, deferred: 1 })
    expect(registry.withoutMcp().stats()).toMatchObject({ loaded: 1, deferred: 1 })
  })

  it('counts what is preloaded in its own figures, and names what it does not know', () => {
    const registry = new ToolRegistry({ mode: 'lazy', defer: 'all' })
    registry.registerAll([tool('alpha'), tool('beta')])
    expect(registry.stats()).toMatchObject({ loaded: 0, deferred: 2 })
    expect(registry.preload(['alpha', 'gamma'])).toEqual({ missing: ['gamma'] })
    expect(registry.stats()).toMatchObject({ loaded: 1, deferred: 1 })
    expect(registry.explain('alpha')).toMatchObject({ state: 'visible', reason: 'pinned by name' })
    expect(registry.deferredTools().map(({ name }) => name)).toEqual(['beta'])
  })

  it('accepts an OpenAI definition', async () => {
    const registry = new ToolRegistry()
    registry.register(
      fromOpenAI({ type: 'function', function: { name: 'ping', description: 'Pings.' } }, () => ({
        ok: true,
        value: 'pong',
      })),
    )
    const [answer] = await registry.executeParallel([{ toolCallId: '1', name: 'ping', args: {} }], {
      sessionId: 's',
    })
    expect(answer).toMatchObject({ toolCallId: '1', name: 'ping', result: { ok: true, value: 'pong' } })
  })

  it('returns execution_failed for an invalid result', async () => {
    const registry = new ToolRegistry()
    registry.register({
      name: 'odd',
      description: '',
      inputSchema: true,
      execute: () => ({ ok: true, value: '', content: 'text' }) as never,
    })
    const [answer] = await registry.executeParallel([{ toolCallId: '1', name: 'odd', args: {} }], {
      sessionId: 's',
    })
    expect(answer?.result).toMatchObject({ ok: false, code: 'execution_failed' })
  })
})

describe('MCP servers', () => {
  it('replaces a server atomically and reports what changed', () => {
    const registry = new ToolRegistry()
    registry.syncMcp('s', [tool('a'), tool('b'), tool('c')])
    const report = registry.syncMcp('s', [tool('b', { description: 'other' }), tool('c'), tool('d')])
    expect(report).toEqual({
      added: ['mcp__s__d'],
      removed: ['mcp__s__a'],
      changed: ['mcp__s__b'],
      skipped: [],
    })
  })

  it('never shows half a sync to an earlier reader', () => {
    const registry = new ToolRegistry()
    registry.syncMcp('s', [tool('a'), tool('b')])
    const before = registry.toDefinitions()
    registry.syncMcp('s', [tool('c')])
    expect(names(before)).toEqual(['mcp__s__a', 'mcp__s__b'])
    expect(names(registry.toDefinitions())).toEqual(['mcp__s__c'])
  })

  it('skips one invalid tool of a list, and reports it', () => {
    const log = eventLog()
    const registry = new ToolRegistry({ onEvent: log.onEvent })
    const report = registry.syncMcp('s', [
      tool('good'),
      tool(''),
      tool('bad', { inputSchema: 7 as never }),
      tool('good'),
    ])
    expect(report.added).toEqual(['mcp__s__good'])
    expect(report.skipped).toHaveLength(3)
    expect(log.of('tool-skipped')).toHaveLength(3)
  })

  it('removes one server or all, and counts', () => {
    const registry = new ToolRegistry()
    registerServers(registry)
    registry.register(tool('local'))
    expect(registry.unregisterMcp('slack')).toBe(5)
    expect(registry.unregisterMcp()).toBe(10)
    expect(registry.unregisterMcp()).toBe(0)
    expect(names(registry.listSchemas())).toEqual(['local'])
  })

  it('returns an independent copy without MCP', () => {
    const registry = new ToolRegistry()
    registerServers(registry)
    registry.register(tool('local'))
    const copy = registry.withoutMcp()
    copy.register(tool('other'))
    expect(names(copy.listSchemas())).toEqual(['local', 'other'])
    expect(registry.size).toBe(16)
  })
})

describe('definitions', () => {
  it('are byte-identical while nothing changes', () => {
    const registry = new ToolRegistry()
    registerServers(registry)
    expect(JSON.stringify(registry.toDefinitions())).toBe(JSON.stringify(registry.toDefinitions()))
  })

  it('are filtered by availability, toolset and filter', () => {
    const registry = new ToolRegistry()
    registry.register(tool('read', { toolset: 'files' }))
    registry.register(tool('write', { toolset: 'files' }))
    registry.register(tool('help', { alwaysInclude: true }))
    registry.register(tool('gone', { isAvailable: () => false }))
    registry.register(tool('note'), { pluginId: 'notes' })
    registry.registerMcp(tool('search'), 'github')
    expect(names(registry.toDefinitions())).toEqual(['help', 'mcp__github__search', 'note', 'read', 'write'])
    expect(names(registry.toDefinitions(['read']))).toEqual(['help', 'mcp__github__search', 'note', 'read'])
    expect(names(registry.toDefinitions([], { allowedMcpServers: [], allowedPlugins: [] }))).toEqual(['help'])
    expect(names(registry.toDefinitions(undefined, { excludeTools: ['help'], allowedMcpTools: [] }))).toEqual(
      ['note', 'read', 'write'],
    )
    expect(registry.getForToolset('files').map(({ name }) => name)).toEqual(['read', 'write'])
    expect(registry.getAvailable().map(({ name }) => name)).not.toContain('gone')
  })

  it('leave out only the tool whose isAvailable() throws', async () => {
    const log = eventLog()
    const registry = new ToolRegistry({ onEvent: log.onEvent })
    registry.register(tool('a'))
    registry.register(
      tool('b', {
        isAvailable: () => {
          throw new Error('no network')
        },
      }),
    )
    expect(names(registry.toDefinitions())).toEqual(['a'])
    expect(log.of('tool-hidden')).toMatchObject([{ name: 'b', error: 'no network' }])
    expect((await registry.search('b')).matches).toEqual([])
  })
})

describe('modes', () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => tool(`t${index}`))

  it('auto turns lazy at the threshold, and back only clearly below it', () => {
    const registry = new ToolRegistry()
    registry.syncMcp('s', many(14))
    expect(registry.stats()).toMatchObject({
      deferred_mode: false,
      auto_deferred: false,
      loaded: 14,
      deferred: 0,
      threshold: 15,
    })
    registry.syncMcp('s', many(15))
    expect(registry.stats()).toMatchObject({
      deferred_mode: true,
      auto_deferred: true,
      loaded: 0,
      deferred: 15,
      total_registered: 15,
    })
    registry.syncMcp('s', many(14))
    expect(registry.stats().deferred_mode).toBe(true)
    registry.syncMcp('s', many(11))
    expect(registry.stats().deferred_mode).toBe(false)
  })

  it('auto counts tokens only with a context window', () => {
    const heavy = tool('heavy', { description: 'word '.repeat(2_000) })
    const blind = new ToolRegistry()
    blind.registerMcp(heavy, 's')
    expect(blind.stats().deferred_mode).toBe(false)
    const seeing = new ToolRegistry({ contextWindow: 10_000 })
    seeing.registerMcp(heavy, 's')
    expect(seeing.stats()).toMatchObject({ deferred_mode: true, auto_deferred: true })
  })

  it.each([
    ['mcp', ['mcp__s__m', 'flagged', 'plug'], ['fn', 'never', 'plain']],
    ['auto', ['mcp__s__m', 'flagged', 'plug'], ['fn', 'never', 'plain']],
    ['all', ['mcp__s__m', 'flagged', 'plain', 'plug'], ['fn', 'never']],
    ['flagged', ['flagged'], ['fn', 'mcp__s__m', 'never', 'plain', 'plug']],
  ] as const)('lazy with defer %s', async (defer, deferred, visible) => {
    const registry = new ToolRegistry({ mode: 'lazy', defer })
    registry.register(tool('plain'))
    registry.register(tool('plug'), { pluginId: 'p' })
    registry.register(tool('flagged', { deferred: true }))
    registry.register(tool('never', { deferred: false }))
    registry.registerFunction(() => 1, { name: 'fn', description: '', inputSchema: true })
    registry.registerMcp(tool('m'), 's')
    const session = await registry.openSession()
    expect(
      session
        .deferred()
        .map(({ name }) => name)
        .sort(),
    ).toEqual([...deferred].sort())
    expect(session.surface().tools.map(({ name }) => name)).toEqual([...visible, 'tool_search'])
  })

  it('auto below the threshold defers only flagged tools', async () => {
    const registry = new ToolRegistry()
    registry.register(tool('flagged'), { deferred: true })
    registry.registerMcp(tool('m'), 's')
    const session = await registry.openSession()
    expect(session.surface().tools.map(({ name }) => name)).toEqual(['mcp__s__m', 'tool_search'])
    expect(session.surface().deferredCount).toBe(1)
  })

  it('pins by name, by server, by tool, and on request of a trusted server', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', pinned: ['mcp__a__x', 'mcp__e__*'] })
    const wishing = { ...tool('w'), _meta: { 'anthropic/alwaysLoad': true } }
    registry.syncMcp('a', [tool('x'), tool('y')])
    registry.syncMcp('b', [tool('x')], { lazy: false })
    registry.syncMcp('c', [tool('x'), tool('y')], { pinned: ['y'] })
    registry.syncMcp('d', [wishing], { trust: true })
    registry.syncMcp('dd', [wishing])
    registry.syncMcp('e', [tool('x')])
    const session = await registry.openSession()
    expect(session.surface().tools.map(({ name }) => name)).toEqual([
      'mcp__a__x',
      'mcp__b__x',
      'mcp__c__y',
      'mcp__d__w',
      'mcp__e__x',
      'tool_search',
    ])
  })

  it('rejects invalid options', async () => {
    expect(codeOf(() => new ToolRegistry({ mode: 'eager' as never }))).toBe('config-invalid')
    expect(codeOf(() => new ToolRegistry({ maxActive: -1 }))).toBe('config-invalid')
    expect(codeOf(() => new ToolRegistry({ searcher: 'magic' as never }))).toBe('config-invalid')
    await expect(new ToolRegistry().openSession({ searchTool: 'grep' as never })).rejects.toMatchObject({
      code: 'config-invalid',
    })
  })
})

describe('resolve', () => {
  const open = (options: RegistryOptions = {}) => {
    const registry = new ToolRegistry(options)
    registry.syncMcp('github', [tool('get-file'), tool('search')])
    registry.syncMcp('slack', [tool('search')])
    return registry
  }

  it('returns the tool that a name means, however it is written', () => {
    for (const name of ['mcp__github__get-file', 'github.get_file', 'GitHub get file', 'get_file', 'getFile'])
      expect(open().resolve(name)).toEqual(['mcp__github__get-file'])
    for (const name of ['get_files', 'slack.get_file', '', 'x'.repeat(3_000)])
      expect(open().resolve(name)).toEqual([])
  })

  it('prefers a name as it is written, and never takes a tool for that of another server', () => {
    const registry = open()
    registry.syncMcp('files', [tool('get_file'), tool('github.search')])
    expect(registry.resolve('get_file')).toEqual(['mcp__files__get_file'])
    expect(registry.resolve('get-file')).toEqual(['mcp__github__get-file'])
    expect(registry.resolve('getFile')).toEqual(['mcp__github__get-file', 'mcp__files__get_file'])
    expect(registry.resolve('github.search')).toEqual(['mcp__github__search'])
  })

  it('returns all tools that share a name, also those that cannot be called', () => {
    expect(open().resolve('search')).toEqual(['mcp__github__search', 'mcp__slack__search'])
    expect(open().resolve('slack.search')).toEqual(['mcp__slack__search'])
    const denying = open({ policy: { deny: ['mcp__github__*'] } })
    expect(denying.resolve('search')).toEqual(['mcp__github__search', 'mcp__slack__search'])
    expect(denying.resolve('get_file')).toEqual(['mcp__github__get-file'])
  })
})

describe('explain', () => {
  it('explains why a tool is present or not', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registry.register(tool('local'))
    registry.register(tool('off', { isAvailable: () => false }))
    registry.syncMcp('s', [tool('a'), tool('b'), tool('c'), tool('d')])
    registry.quarantine('mcp__s__d', 'its description changed')
    const session = await registry.openSession({ policy: { deny: ['mcp__s__c'] } })
    await session.activate(['mcp__s__a'])
    const states = [
      'local',
      'off',
      'mcp__s__a',
      'mcp__s__b',
      'mcp__s__c',
      'mcp__s__d',
      'nope',
      'tool_search',
    ].map((name) => registry.explain(name, session))
    expect(states.map(({ state }) => state)).toEqual([
      'visible',
      'unavailable',
      'active',
      'deferred',
      'denied',
      'quarantined',
      'unknown',
      'visible',
    ])
    expect(states[4]?.reason).toContain('the deny list')
    expect(registry.explain('mcp__s__c').state).toBe('deferred')
  })

  it.each<[string, RegistryOptions, string]>([
    ['own', { mode: 'lazy' }, 'visible: defer is auto, which leaves builtin tools shown'],
    [
      'own',
      { mode: 'lazy', toolThreshold: 1 },
      'deferred: shown once activated: mode is lazy; 1 or more tools would stay shown',
    ],
    ['own', { mode: 'lazy', defer: 'all' }, 'deferred: shown once activated: mode is lazy; defer is all'],
    ['own', { mode: 'lazy', pinned: ['ow*'] }, 'visible: pinned by name'],
    ['own', { mode: 'full' }, 'visible: nothing is deferred: mode is full'],
    ['own', {}, 'visible: only tools that ask for it are deferred: 5 tools, threshold 15'],
    ['flagged', {}, 'deferred: shown once activated: registered as deferred'],
    ['flagged', { mode: 'full' }, 'visible: nothing is deferred: mode is full'],
    ['never', { mode: 'lazy', defer: 'all' }, 'visible: pinned: it was registered as never deferred'],
    ['mcp__s__a', { mode: 'lazy' }, 'deferred: shown once activated: mode is lazy; defer is auto'],
    [
      'mcp__s__a',
      { mode: 'lazy', defer: 'flagged' },
      'visible: defer is flagged, which leaves mcp tools shown',
    ],
    [
      'mcp__s__a',
      { mode: 'lazy', policy: { deny: ['tool_search'] } },
      'visible: nothing is deferred: no search tool is permitted',
    ],
    [
      'needy',
      { mode: 'lazy' },
      'visible: defer is auto, which leaves builtin tools shown; calls are refused: it needs network, which this host does not grant',
    ],
  ])('says why %s is there with %j', async (name, options, expected) => {
    const registry = new ToolRegistry(options)
    registry.register(tool('own'))
    registry.register(tool('flagged', { deferred: true }))
    registry.register(tool('never', { deferred: false }))
    registry.register(tool('needy', { capabilities: { network: ['example.com'] } }))
    registry.syncMcp('s', [tool('a')])
    for (const session of [undefined, await registry.openSession()]) {
      const { state, reason } = registry.explain(name, session)
      expect(`${state}: ${reason}`).toBe(expected)
    }
  })

  it('explains how a tool is active, and that one has left', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registry.syncMcp('s', [tool('a'), tool('b')])
    const session = await registry.openSession({ strategy: 'dispatch' })
    await session.activate(['mcp__s__a'])
    await session.preload('mcp__s__b')
    const reason = (name: string) => registry.explain(name, session).reason
    expect(reason('mcp__s__a')).toBe('checked out by this session; called through call_tool')
    expect(reason('mcp__s__b')).toBe('preloaded by this session; called through call_tool')
    registry.unregisterMcp('s')
    expect(registry.explain('mcp__s__a', session)).toMatchObject({
      state: 'unknown',
      reason: 'no longer registered; calls return not_available',
    })
  })
})

function cyclic(): object {
  const schema: Record<string, unknown> = { type: 'object' }
  schema.self = schema
  return schema
}
