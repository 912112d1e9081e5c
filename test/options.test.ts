import { ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { registerServers, tool } from './helpers.ts'

/** What callers without types may write. */
const untyped = (value: unknown) => value as never

const house = () => {
  const registry = new ToolRegistry({ mode: 'lazy' })
  registerServers(registry)
  return registry
}

/** What an action throws or rejects with. */
async function faultOf(action: () => unknown): Promise<{ code?: string; message: string }> {
  try {
    await action()
  } catch (error) {
    return error as { code?: string; message: string }
  }
  return { message: 'nothing thrown' }
}

/** Every place that takes options, with one that it knows. */
const PLACES: [string, (options: never) => unknown][] = [
  ['new ToolRegistry()', (options) => new ToolRegistry(options)],
  ['openSession()', (options) => new ToolRegistry().openSession(options)],
  ['register()', (options) => new ToolRegistry().register(tool('a'), options)],
  ['syncMcp()', (options) => new ToolRegistry().syncMcp('s', [tool('a')], options)],
  ['fork()', async (options) => (await new ToolRegistry().openSession()).fork(options)],
  ['registry.search()', (options) => house().search('file', options)],
  ['session.search()', async (options) => (await house().openSession()).search('file', options)],
  ['subscribe()', (options) => new ToolRegistry().subscribe(() => {}, options)],
  ['a policy', (policy) => new ToolRegistry({ policy })],
  ['a policy of a session', (policy) => new ToolRegistry().openSession({ policy })],
  ['a policy of a search', (policy) => house().search('file', { policy })],
  ['the filter of a policy', (filter) => new ToolRegistry({ policy: { filter } })],
  ['the filter of toDefinitions()', (filter) => new ToolRegistry().toDefinitions(undefined, filter)],
  ['hooks', (hooks) => new ToolRegistry({ hooks })],
  ['hooks in a list', (hooks) => new ToolRegistry({ hooks: [{}, hooks] })],
]

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

  it.each(PLACES)('%s refuses what is no object', async (_, take) => {
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
  ])('%s refuses %j', async (place, options) => {
    const take = PLACES.find(([name]) => name === place)?.[1]
    expect(await faultOf(() => take?.(untyped(options)))).toMatchObject({ code: 'config-invalid' })
  })

  it('of a fork never include a policy of its own: what it may use is `tools`', async () => {
    const session = await house().openSession()
    expect(await faultOf(() => session.fork(untyped({ allow: ['x'] })))).toMatchObject({
      code: 'config-invalid',
      message: expect.stringContaining('a fork has no option "allow"'),
    })
  })
})
