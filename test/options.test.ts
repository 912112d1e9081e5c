import { hybrid, memorySpill, type Session, semantic, type Tool, ToolRegistry } from 'toolcrib'
import { storageBackend } from 'toolcrib/capabilities'
import { minilm, staticEmbedder } from 'toolcrib/embedders'
import { loadConfig, readConfig, watchConfig } from 'toolcrib/mcp'
import { describe, expect, it } from 'vitest'
import { faultOf, lazyRegistry, registerServers, tool } from './helpers.ts'

/** What callers without types may write. */
const untyped = (value: unknown) => value as never

/** Every place that takes options, with one that it knows. */
const PLACES: [string, (options: never) => unknown][] = [
  ['new ToolRegistry()', (options) => new ToolRegistry(options)],
  ['openSession()', (options) => new ToolRegistry().openSession(options)],
  ['register()', (options) => new ToolRegistry().register(tool('a'), options)],
  ['syncMcp()', (options) => new ToolRegistry().syncMcp('s', [tool('a')], options)],
  ['fork()', async (options) => (await new ToolRegistry().openSession()).fork(options)],
  ['registry.search()', (options) => lazyRegistry().search('file', options)],
  ['session.search()', async (options) => (await lazyRegistry().openSession()).search('file', options)],
  ['subscribe()', (options) => new ToolRegistry().subscribe(() => {}, options)],
  ['a policy', (policy) => new ToolRegistry({ policy })],
  ['a policy of a session', (policy) => new ToolRegistry().openSession({ policy })],
  ['a policy of a search', (policy) => lazyRegistry().search('file', { policy })],
  ['the filter of a policy', (filter) => new ToolRegistry({ policy: { filter } })],
  ['the filter of toDefinitions()', (filter) => new ToolRegistry().toDefinitions(undefined, filter)],
  ['hooks', (hooks) => new ToolRegistry({ hooks })],
  ['hooks in a list', (hooks) => new ToolRegistry({ hooks: [{}, hooks] })],
  [
    'the capabilities of a tool',
    (capabilities) => new ToolRegistry().register({ ...tool('a'), capabilities } as Tool),
  ],
  ['memorySpill()', (options) => memorySpill(options)],
  ['storageBackend()', (options) => storageBackend(options)],
  ['staticEmbedder()', (options) => staticEmbedder(options)],
  ['readConfig()', (options) => readConfig({}, options)],
]

/** Takes options that must name something. */
const NAMED: [string, (options: never) => unknown][] = [
  ['registerFunction()', (options) => new ToolRegistry().registerFunction(function f() {}, options)],
  ['hybrid()', (options) => hybrid(options)],
  ['semantic()', (options) => semantic(options)],
  ['minilm()', (options) => minilm(options)],
  ['loadConfig()', (options) => loadConfig(options)],
  ['watchConfig()', (options) => watchConfig(options)],
]

/** Take an object of their own, which may have any other keys. */
const OBJECTS: [string, (fields: never) => unknown][] = [
  ['a tool', (fields: object) => new ToolRegistry().register({ ...tool('a'), ...fields })],
  [
    'a tool of a server',
    (fields: object) => new ToolRegistry().registerMcp({ ...tool('a'), ...fields }, 's'),
  ],
]

const EMBEDDER = { name: 'e', dimensions: 1, embed: (texts: readonly string[]) => texts.map(() => [1]) }
const WATCHED = { cwd: '/', env: {}, onChange: () => {}, onError: () => {} }

describe('options', () => {
  it.each(PLACES)('%s takes none, and an empty object', async (_, take) => {
    expect(await faultOf(() => take(untyped({})))).toEqual({ message: 'nothing thrown' })
  })

  it.each(PLACES)('%s refuses an unknown key', async (_, take) => {
    const fault = await faultOf(() => take(untyped({ somethingElse: 1 })))
    expect(fault).toMatchObject({ code: 'config-invalid' })
    expect(fault.message).toContain('"somethingElse"')
    expect(fault.message).toMatch(/it takes \w+/)
  })

  it.each(PLACES)('%s refuses anything but an object', async (_, take) => {
    for (const options of ['lazy', 7, [], true])
      if (!(Array.isArray(options) && take === PLACES[13]?.[1]))
        expect(await faultOf(() => take(untyped(options)))).toMatchObject({ code: 'config-invalid' })
  })

  it.each<[string, object, string]>([
    ['new ToolRegistry()', { toolTreshold: 5 }, 'toolThreshold'],
    ['new ToolRegistry()', { hook: {} }, 'hooks'],
    ['openSession()', { polcy: {} }, 'policy'],
    ['register()', { defered: true }, 'deferred'],
    ['register()', { replaces: true }, 'replace'],
    ['syncMcp()', { trusted: true }, 'trust'],
    ['fork()', { max_active: 1 }, 'maxActive'],
    ['fork()', { tool: ['a'] }, 'tools'],
    ['registry.search()', { polcy: { deny: ['*'] } }, 'policy'],
    ['session.search()', { limt: 1 }, 'limit'],
    ['subscribe()', { sesionId: 'a' }, 'sessionId'],
    ['a policy', { alow: [] }, 'allow'],
    ['a policy', { denny: [] }, 'deny'],
    ['the filter of a policy', { allowedMCPServers: [] }, 'allowedMcpServers'],
    ['the filter of toDefinitions()', { exclude_tools: [] }, 'excludeTools'],
    ['hooks', { beforeToolCall: () => {} }, 'before_tool_call'],
    ['hooks in a list', { after_tool_cal: () => {} }, 'after_tool_call'],
    ['new ToolRegistry()', { capabilities: { netwrok: { open: () => {} } } }, 'capabilities.network'],
    ['the capabilities of a tool', { secret: ['a'] }, 'secrets'],
    ['memorySpill()', { maxEntires: 1 }, 'maxEntries'],
  ])('%s: a key like %j was meant to be %s', async (place, options, meant) => {
    const take = PLACES.find(([name]) => name === place)?.[1]
    const fault = await faultOf(() => take?.(untyped(options)))
    expect(fault).toMatchObject({ code: 'config-invalid' })
    expect(fault.message).toMatch(new RegExp(`did you mean "${meant}"\\?$`))
  })

  it.each<[string, object]>([
    ['new ToolRegistry()', { mode: 'eager' }],
    ['new ToolRegistry()', { defer: 'none' }],
    ['new ToolRegistry()', { toolThreshold: -1 }],
    ['new ToolRegistry()', { toolThreshold: 1.5 }],
    ['new ToolRegistry()', { thresholdPercent: Number.NaN }],
    ['new ToolRegistry()', { thresholdPercent: 101 }],
    ['new ToolRegistry()', { contextWindow: '200k' }],
    ['new ToolRegistry()', { maxActive: 1.5 }],
    ['new ToolRegistry()', { maxActive: Number.POSITIVE_INFINITY }],
    ['new ToolRegistry()', { maxActiveTokens: -1 }],
    ['new ToolRegistry()', { searchStyle: 'three-step' }],
    ['new ToolRegistry()', { strategy: 'prepend' }],
    ['new ToolRegistry()', { dialect: 'anthropic' }],
    ['new ToolRegistry()', { capabilities: [] }],
    ['new ToolRegistry()', { reducers: {} }],
    ['new ToolRegistry()', { hooks: 'guard' }],
    ['new ToolRegistry()', { hooks: { before_tool_call: true } }],
    ['new ToolRegistry()', { onEvent: {} }],
    ['new ToolRegistry()', { resultBudgetChars: -1 }],
    ['new ToolRegistry()', { resultBudgetChars: Number.NaN }],
    ['new ToolRegistry()', { resultBudgetChars: 'x' }],
    ['new ToolRegistry()', { spill: { put: () => '' } }],
    ['new ToolRegistry()', { maxIdenticalCalls: 0.5 }],
    ['new ToolRegistry()', { serverWaitMs: 2 ** 31 }],
    ['new ToolRegistry()', { countTokens: 4 }],
    ['new ToolRegistry()', { clock: 0 }],
    ['new ToolRegistry()', { newId: 'id' }],
    ['new ToolRegistry()', { searchesPerMinute: -1 }],
    ['openSession()', { id: 7 }],
    ['openSession()', { store: {} }],
    ['openSession()', { tools: 'a' }],
    ['openSession()', { pinned: [1] }],
    ['openSession()', { maxActive: -1 }],
    ['openSession()', { searchTool: 'grep' }],
    ['register()', { deferred: 'yes' }],
    ['register()', { replace: 1 }],
    ['register()', { preload: null }],
    ['register()', { pluginId: 7 }],
    ['register()', { searchHint: ['a'] }],
    ['syncMcp()', { lazy: 'false' }],
    ['syncMcp()', { pinned: 'a' }],
    ['syncMcp()', { trust: 1 }],
    ['registry.search()', { limit: '5' }],
    ['registry.search()', { limit: Number.NaN }],
    ['session.search()', { offset: '5' }],
    ['a tool', { title: 5 }],
    ['a tool', { outputSchema: 'object' }],
    ['a tool', { annotations: 'read-only' }],
    ['a tool', { toolset: 4 }],
    ['a tool', { searchHint: 4 }],
    ['a tool', { deferred: 'yes' }],
    ['a tool', { alwaysInclude: 1 }],
    ['a tool', { maxResultChars: -1 }],
    ['a tool', { maxResultChars: Number.NaN }],
    ['a tool', { timeoutMs: '5s' }],
    ['a tool', { maxConcurrent: 0 }],
    ['a tool', { cacheTtlMs: -1 }],
    ['a tool', { isAvailable: true }],
    ['a tool', { reduce: 'short' }],
    ['a tool of a server', { timeoutMs: -1 }],
    ['fork()', { maxActive: -1 }],
    ['fork()', { maxActive: Number.NaN }],
    ['fork()', { tools: 'a' }],
    ['fork()', { inheritActive: 'no' }],
    ['fork()', { dialect: 'gemini' }],
    ['registry.search()', { server: 7 }],
    ['registry.search()', { searcher: 'magic' }],
    ['registry.search()', { policy: { allow: 'x' } }],
    ['subscribe()', { sessionId: 7 }],
    ['a policy', { allow: 'mcp__*' }],
    ['a policy', { deny: [1] }],
    ['a policy', { filter: [] }],
    ['the filter of a policy', { allowedPlugins: 'notes' }],
    ['hooks', { before_tool_call: 'deny' }],
    ['new ToolRegistry()', { capabilities: { network: true } }],
    ['new ToolRegistry()', { dialect: {} }],
    ['new ToolRegistry()', { dialect: { strategy: 'natve' } }],
    ['new ToolRegistry()', { dialect: { strategy: 'native', maxTools: '128' } }],
    ['fork()', { dialect: { strategy: 'lazy' } }],
    ['the capabilities of a tool', { network: 'example.com' }],
    ['the capabilities of a tool', { storage: 'yes' }],
    ['the capabilities of a tool', { fs_reach: { reed: ['/'] } }],
    ['registerFunction()', { description: 'x', execute: () => 1 }],
    ['registerFunction()', { description: 'x', preload: 'yes' }],
    ['memorySpill()', { ttlMs: 0 }],
    ['memorySpill()', { maxChars: Number.NaN }],
    ['storageBackend()', { persession: true }],
    ['storageBackend()', { perSession: 'yes' }],
    ['storageBackend()', { shared: { notes: 'memory_save' } }],
    ['storageBackend()', { maxKeys: 0 }],
    ['staticEmbedder()', { path: 7 }],
    ['readConfig()', { env: 'HOME=/' }],
    ['hybrid()', {}],
    ['hybrid()', { embedder: EMBEDDER, timeout: 1 }],
    ['hybrid()', { embedder: EMBEDDER, timeoutMs: 0 }],
    ['hybrid()', { embedder: EMBEDDER, memory: {} }],
    ['semantic()', { embedder: EMBEDDER, memory: {} }],
    ['semantic()', { embedder: EMBEDDER, timeoutMs: Number.NaN }],
    ['minilm()', {}],
    ['minilm()', { folder: '/', model: 'x' }],
    ['loadConfig()', {}],
    ['loadConfig()', { cwd: '/' }],
    ['loadConfig()', { cwd: '/', env: {}, file: 'mcp.json' }],
    ['watchConfig()', { ...WATCHED, onError: undefined }],
    ['watchConfig()', { ...WATCHED, settle: 1 }],
  ])('%s refuses %j', async (place, options) => {
    const take = [...PLACES, ...NAMED, ...OBJECTS].find(([name]) => name === place)?.[1]
    expect(take).toBeDefined()
    expect(await faultOf(() => take?.(untyped(options)))).toMatchObject({ code: 'config-invalid' })
  })

  it('of a search are clamped when they are numbers out of range', async () => {
    const { matches } = await lazyRegistry().search('file', { limit: -1, offset: Number.NEGATIVE_INFINITY })
    expect(matches).toHaveLength(1)
  })

  it('leave a tool its own fields, and a stream nothing but functions', async () => {
    const registry = new ToolRegistry()
    registry.register({ ...tool('a'), retries: -1 } as Tool)
    expect(registry.has('a')).toBe(true)
    expect(await faultOf(() => registry.subscribe(untyped('log')))).toMatchObject({ code: 'config-invalid' })
    expect(registry.syncMcp('s', [tool('b'), { ...tool('c'), maxConcurrent: 0 }])).toMatchObject({
      added: ['mcp__s__b'],
      skipped: [{ name: 'c', reason: expect.stringContaining('maxConcurrent is 0') }],
    })
  })

  it('of a fork never include a policy of its own: what it may use is `tools`', async () => {
    const session = await lazyRegistry().openSession()
    expect(await faultOf(() => session.fork(untyped({ allow: ['x'] })))).toMatchObject({
      code: 'config-invalid',
      message: expect.stringContaining('a fork has no option "allow"'),
    })
  })
})

describe('options that the caller changes later', () => {
  it('change nothing in a registry, its sessions or its forks', async () => {
    const pinned: string[] = []
    const deny = ['mcp__slack__*']
    const hooks = [{ before_tool_call: () => ({ deny: 'no' }) }]
    const capabilities: Record<string, unknown> = {}
    const registry = new ToolRegistry(
      untyped({ mode: 'lazy', pinned, policy: { deny }, hooks, capabilities }),
    )
    registerServers(registry)
    registry.register(tool('saver', { capabilities: { storage: true } }))
    const tools = ['mcp__github__*', 'saver']
    const options = { tools, policy: { deny: ['mcp__github__get_file'] } }
    const session = await registry.openSession(options)
    const allowed = ['mcp__github__create_issue']
    const fork = session.fork({ tools: allowed })
    pinned.push('*')
    deny.length = 0
    hooks.length = 0
    capabilities.storage = { open: () => ({}) }
    tools.push('*')
    options.policy.deny.length = 0
    allowed.push('*')

    expect(registry.stats().loaded).toBe(1)
    expect(registry.policy).toEqual({ deny: ['mcp__slack__*'] })
    expect(Object.isFrozen(registry.policy.deny)).toBe(true)
    const code = async (from: Session, name: string) => {
      const [answer] = await from.execute([{ toolCallId: '1', name, args: {} }])
      return answer?.result.ok === false && answer.result.code
    }
    expect(await code(session, 'mcp__github__create_issue')).toBe('denied')
    expect(await code(session, 'mcp__github__get_file')).toBe('not_available')
    expect(await code(session, 'saver')).toBe('not_available')
    expect(await code(session.fork(), 'mcp__weather__get_alerts')).toBe('not_available')
    expect(await code(fork.fork(), 'mcp__github__list_branches')).toBe('not_available')
  })
})
