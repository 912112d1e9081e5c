import { type SessionState, type Tool, ToolRegistry } from 'toolcrib'
import { memoryStore } from 'toolcrib/stores'
import { describe, expect, it } from 'vitest'
import { call, registerServers, shown, tool } from './helpers.ts'

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

describe('the context of a batch', () => {
  const throwing = new Proxy(
    {},
    {
      get() {
        throw new Error('boom')
      },
    },
  )
  const contexts: [string, unknown, RegExp?][] = [
    ['null', null, /as an object/],
    ['a text', 'context', /as an object/],
    ['a list', [], /as an object/],
    ['what throws', throwing],
    ['a misspelt key', { dryrun: true }, /did you mean "dryRun"\?/],
    ['a policy', { policy: { deny: ['*'] } }, /no option "policy"/],
    [
      'misspelt hooks',
      { hooks: { beforeToolCall: () => ({ deny: 'no' }) } },
      /did you mean "before_tool_call"\?/,
    ],
    ['misspelt hooks in a list', { hooks: [{}, { after: () => {} }] }, /no option "after"/],
    ['hooks that are null', { hooks: null }],
    ['hooks that are a text', { hooks: 'guard' }],
    ['hooks that are 0', { hooks: 0 }],
    ['a list with null', { hooks: [null] }],
    ['a budget below zero', { resultBudgetChars: -1 }, /resultBudgetChars is -1/],
    ['a budget that is no number', { resultBudgetChars: Number.NaN }],
    ['a budget in words', { resultBudgetChars: 'x' }],
    ['dryRun in words', { dryRun: 'true' }, /it must be true or false/],
    ['a turn below zero', { turnCount: -1 }],
    ['a signal that is none', { signal: { aborted: false } }],
    ['a deadline that no timer takes', { timeoutMs: 2 ** 40 }],
    ['no place at all', { maxParallel: 0 }],
    ['attachments that are no list', { attachments: {} }],
    ['progress for nobody', { onProgress: true }],
  ]
  const run = async (context: unknown, ran: string[]) => {
    const registry = new ToolRegistry()
    const noting = tool('note', {
      execute: () => {
        ran.push('note')
        return { ok: true, value: '' }
      },
    })
    registry.register(noting)
    const session = await registry.openSession()
    const calls = [{ toolCallId: '1', name: 'note', args: {} }]
    const guarded = new ToolRegistry()
    guarded.register({
      ...noting,
      name: 'start',
      execute: async () => {
        const child = outer.fork()
        const [answer] = await child.execute([{ toolCallId: '2', name: 'note', args: {} }], untyped(context))
        return answer?.result ?? { ok: true, value: 'unanswered' }
      },
    })
    guarded.register(noting)
    const outer = await guarded.openSession()
    const hooks = { before_tool_call: () => undefined }
    const all = [
      ...(await session.execute(calls, untyped(context))),
      ...(await registry.executeParallel(calls, untyped(context))),
      // In a fork that inherits hooks, which must not hide what is wrong with its own.
      ...(await outer.execute([{ toolCallId: '1', name: 'start', args: {} }], { hooks })),
    ]
    return all.map(({ result }) => result)
  }

  it.each(contexts)(
    'denies every call with %s, in and out of sessions',
    async (_, context, message = /./) => {
      const ran: string[] = []
      const results = await run(context, ran)
      expect(results).toHaveLength(3)
      for (const result of results)
        expect(result).toMatchObject({ ok: false, code: 'denied', error: expect.stringMatching(/./) })
      expect(results[1]?.ok === false && results[1].error).toMatch(message)
      expect(ran).toEqual([])
    },
  )

  it('may be left out, or be empty', async () => {
    const ran: string[] = []
    for (const context of [undefined, {}, { hooks: [] }, { dryRun: undefined }])
      expect((await run(context, ran)).map(({ ok }) => ok)).toEqual([true, true, true])
    expect(ran).toHaveLength(12)
  })
})

describe('the saved state of a fork', () => {
  const forked = async () => {
    const registry = house()
    const child = (await registry.openSession({ id: 'chat' })).fork({ tools: ['mcp__slack__*'] })
    await child.activate(['mcp__slack__send_message'])
    const state: SessionState = JSON.parse(JSON.stringify(child))
    return { registry, state }
  }

  it('is taken as it was saved, with its limits, under any id', async () => {
    const { registry, state } = await forked()
    for (const options of [{ state }, { id: 'other', state }]) {
      const restored = await registry.openSession(options)
      expect(restored.deferred()).toHaveLength(4)
      expect(await call(restored, 'mcp__github__get_file')).toMatchObject({ code: 'not_available' })
      const again = await registry.openSession({ state: JSON.parse(JSON.stringify(restored)) })
      expect(await call(again, 'mcp__github__get_file')).toMatchObject({ code: 'not_available' })
    }
  })

  it.each<[string, (state: SessionState) => object]>([
    ['a wider list', (state) => ({ ...state, allowlists: [['*']] })],
    ['one more name', (state) => ({ ...state, allowlists: [['mcp__slack__*', 'mcp__github__get_file']] })],
    ['no list', ({ allowlists: _, ...state }) => state],
    ['an empty list of lists', (state) => ({ ...state, allowlists: [] })],
    ['neither list nor seal', ({ allowlists: _, seal: __, ...state }) => state],
    ['no seal', ({ seal: _, ...state }) => state],
    ['the id of its parent', (state) => ({ ...state, id: 'chat' })],
    ['another fork’s id', (state) => ({ ...state, id: 'chat/2' })],
    ['lists that are none', (state) => ({ ...state, allowlists: 'mcp__slack__*' })],
    ['names that are none', (state) => ({ ...state, allowlists: [[7]] })],
  ])('is refused with %s', async (_, edit) => {
    const { registry, state } = await forked()
    expect(await faultOf(() => registry.openSession({ state: edit(state) as never }))).toMatchObject({
      code: 'config-invalid',
      message: expect.stringMatching(/its allowlists (were changed|are damaged).*open a new session instead/),
    })
  })

  it.each<[string, object]>([
    ['no name', { name: 7 }],
    ['no fingerprint', { fingerprint: null }],
    ['tokens below zero', { tokens: -1 }],
    ['endless tokens', { tokens: Number.POSITIVE_INFINITY }],
    ['a use that is no number', { lastUse: '9' }],
    ['isKept in words', { isKept: 'yes' }],
  ])('is refused with an activation with %s', async (_, edit) => {
    const { registry, state } = await forked()
    const activations = state.activations.map((activation) => ({ ...activation, ...edit }))
    const options = { state: { ...state, activations } as never }
    expect(await faultOf(() => registry.openSession(options))).toMatchObject({ code: 'config-invalid' })
  })

  it('keeps the limits of a session that was opened with tools, once, however often it is opened', async () => {
    const registry = house()
    const store = memoryStore()
    const open = () => registry.openSession({ id: 'limited', store, tools: ['mcp__slack__*'] })
    for (let n = 0; n < 3; n++) await (await open()).activate(['mcp__slack__send_message'])
    const session = await registry.openSession({ id: 'limited', store })
    expect(session.toJSON().allowlists).toEqual([['mcp__slack__*']])
    expect(await call(session, 'mcp__github__get_file')).toMatchObject({ code: 'not_available' })
  })
})

describe('two writers on one store', () => {
  it('keep all that either activates', async () => {
    const registry = house()
    const store = memoryStore()
    const names = registry.stats().tool_names
    const replicas = await Promise.all([
      registry.openSession({ id: 'chat', store }),
      registry.openSession({ id: 'chat', store }),
    ])
    await Promise.all(names.map((name, index) => replicas[index % 2]?.activate([name])))
    await Promise.all(replicas.map((session) => session.close()))
    const reopened = await registry.openSession({ id: 'chat', store })
    expect(shown(reopened).slice(1).sort()).toEqual([...names].sort())
  })
})

describe('a tool of another name', () => {
  it('keeps all it declares, and its own this', async () => {
    const registry = new ToolRegistry({ mode: 'full' })
    class Counter implements Tool {
      readonly name = 'count'
      readonly description = 'Counts.'
      readonly inputSchema = { type: 'object' }
      readonly maxResultChars = 40
      #calls = 0
      isAvailable() {
        return this.#calls < 1
      }
      execute() {
        this.#calls++
        return { ok: true as const, value: `${this.#calls} `.repeat(100) }
      }
    }
    registry.syncMcp('s', [new Counter()])
    const session = await registry.openSession()
    const result = await call(session, 'mcp__s__count')
    expect(result.ok && result.value).toBe('1 1 1 1 1 \n[truncated — 200 chars total]'.slice(-40))
    expect(result.ok && result.value).toHaveLength(40)
    expect(shown(session)).toEqual([])
  })
})
