import { beforeAll, describe, expect, test } from 'vitest'
import { type CapabilityBackends, CapabilityError, type StorageAccess } from '../capability.ts'
import { localEntry } from '../registry/registrar.ts'
import type { Tool, ToolContext, ToolResult } from '../tool.ts'
import { callOf, fakeRunner, fakeScope, fakeTime, fakeTool, runOne } from './fake-scope.fixture.ts'

const context = { sessionId: 's' }
const done: ToolResult = { ok: true, value: 'done' }

/** A tool that answers only when told, and notes each signal it was given. */
function held(overrides: Partial<Tool> = {}) {
  const started: ToolContext[] = []
  const finish: ((result: ToolResult) => void)[] = []
  const fail: ((error: unknown) => void)[] = []
  const tool = fakeTool({
    execute(_input, ctx) {
      started.push(ctx)
      return new Promise((resolve, reject) => {
        finish.push(resolve)
        fail.push(reject)
      })
    },
    ...overrides,
  })
  return { tool, started, finish, fail }
}

/** Lets everything that can go on without time or outside help go on. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

// The first call imports what checks arguments, which takes longer than `settle` waits.
beforeAll(async () => void (await runOne(fakeTool(), {})))

describe('a deadline', () => {
  test('returns timeout for a tool that takes too long, and fires its signal', async () => {
    const time = fakeTime()
    const { tool, started } = held({ timeoutMs: 500 })
    const running = time.runner.execute([callOf('echo')], context, fakeScope([tool]))
    await settle()
    const { signal } = started[0] as ToolContext
    time.advance(499)
    expect(signal.aborted).toBe(false)
    time.advance(1)
    expect((await running)[0]?.result).toMatchObject({
      ok: false,
      code: 'timeout',
      error: expect.stringContaining('500 ms'),
    })
    expect(signal.aborted).toBe(true)
    expect(signal.reason).toMatchObject({ name: 'TimeoutError' })
  })

  test('of the tool beats that of the context, which serves tools without one', async () => {
    const time = fakeTime()
    const own = held({ name: 'own', timeoutMs: 1_000 })
    const none = held({ name: 'none' })
    const running = time.runner.execute(
      [callOf('own'), callOf('none')],
      { ...context, timeoutMs: 100 },
      fakeScope([own.tool, none.tool]),
    )
    await settle()
    time.advance(100)
    own.finish[0]?.(done)
    const [first, second] = await running
    expect(first?.result).toEqual(done)
    expect(second?.result).toMatchObject({ code: 'timeout' })
  })

  test('that is absent, 0 or beyond what timers take is ignored', async () => {
    for (const timeoutMs of [undefined, 0, Number.POSITIVE_INFINITY, 2 ** 40, Number.NaN]) {
      const time = fakeTime()
      const { tool, finish } = held(timeoutMs === undefined ? {} : { timeoutMs })
      const running = time.runner.execute([callOf('echo')], context, fakeScope([tool]))
      await settle()
      time.advance(1_000_000)
      finish[0]?.(done)
      expect((await running)[0]?.result).toEqual(done)
    }
  })

  test('leaves no timer behind once the tool has answered', async () => {
    const time = fakeTime()
    await runOne(fakeTool({ timeoutMs: 500 }), {}, { runner: time.runner })
    expect(time.pendingTimers()).toBe(0)
  })

  test('leaves what the tool says later unheard, rejections included', async () => {
    const unhandled: unknown[] = []
    const listen = (error: unknown) => unhandled.push(error)
    process.on('unhandledRejection', listen)
    const time = fakeTime()
    const late = held({ timeoutMs: 10 })
    const running = time.runner.execute([callOf('echo')], context, fakeScope([late.tool]))
    await settle()
    time.advance(10)
    const [answer] = await running
    late.fail[0]?.(new Error('too late'))
    await settle()
    process.off('unhandledRejection', listen)
    expect(answer?.result).toMatchObject({ code: 'timeout' })
    expect(unhandled).toEqual([])
  })
})

describe('cancellation', () => {
  test('ends every call at once, with the reason in each signal', async () => {
    const { tool, started } = held()
    const controller = new AbortController()
    const running = fakeTime().runner.execute(
      [callOf('echo', { n: 1 }), callOf('echo', { n: 2 })],
      { ...context, signal: controller.signal },
      fakeScope([tool]),
    )
    await settle()
    const signals = started.map(({ signal }) => signal)
    controller.abort('enough')
    expect((await running).map(({ result }) => !result.ok && result.code)).toEqual(['cancelled', 'cancelled'])
    expect(signals.map(({ reason }) => reason)).toEqual(['enough', 'enough'])
  })

  test('by the work itself leaves no timer behind', async () => {
    const time = fakeTime()
    const controller = new AbortController()
    const tool = fakeTool({
      timeoutMs: 1_000,
      execute() {
        controller.abort()
        return new Promise(() => {})
      },
    })
    const result = await runOne(tool, {}, { runner: time.runner, context: { signal: controller.signal } })
    expect([result, time.pendingTimers()]).toMatchObject([{ code: 'cancelled' }, 0])
  })

  test('before the start runs nothing', async () => {
    const { tool, started } = held()
    const result = await runOne(tool, {}, { context: { signal: AbortSignal.abort() } })
    expect(result).toMatchObject({ code: 'cancelled' })
    expect(started).toEqual([])
  })

  test('leaves no listener on a signal that outlives the batch', async () => {
    const listeners = new Set<unknown>()
    const { signal } = new AbortController()
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (type: string, listener: EventListener) => {
      listeners.add(listener)
      add(type, listener)
    }
    signal.removeEventListener = (type: string, listener: EventListener) => {
      listeners.delete(listener)
      remove(type, listener)
    }
    const calls = Array.from({ length: 50 }, (_, n) => callOf('echo', { n }))
    await fakeTime().runner.execute(calls, { ...context, signal }, fakeScope([fakeTool()]))
    expect(listeners.size).toBe(0)
  })
})

describe('gates', () => {
  test('maxConcurrent applies across batches, and admits the longest waiting first', async () => {
    const { runner } = fakeTime()
    const { tool, started, finish } = held({ maxConcurrent: 2 })
    const environment = fakeScope([tool])
    const first = runner.execute(
      [1, 2, 3].map((n) => callOf('echo', { n }, `a${n}`)),
      context,
      environment,
    )
    const second = runner.execute([callOf('echo', { n: 4 }, 'b4')], { sessionId: 't' }, environment)
    await settle()
    expect(started.map(({ toolCallId }) => toolCallId)).toEqual(['a1', 'a2'])
    finish[1]?.(done)
    await settle()
    expect(started.map(({ toolCallId }) => toolCallId)).toEqual(['a1', 'a2', 'a3'])
    finish[0]?.(done)
    await settle()
    expect(started.at(-1)?.toolCallId).toBe('b4')
    finish[2]?.(done)
    finish[3]?.(done)
    expect([...(await first), ...(await second)].every(({ result }) => result.ok)).toBe(true)
  })

  test('a place is given back when a tool fails or runs out of time', async () => {
    const time = fakeTime()
    const { tool, started, fail } = held({ maxConcurrent: 1, timeoutMs: 10 })
    const running = time.runner.execute(
      [1, 2, 3].map((n) => callOf('echo', { n })),
      context,
      fakeScope([tool]),
    )
    await settle()
    fail[0]?.(new Error('boom'))
    await settle()
    time.advance(10)
    await settle()
    expect(started).toHaveLength(3)
    time.advance(10)
    expect((await running).map(({ result }) => !result.ok && result.code)).toEqual([
      'execution_failed',
      'timeout',
      'timeout',
    ])
  })

  test('maxParallel applies within a batch', async () => {
    const { tool, started, finish } = held()
    const running = fakeTime().runner.execute(
      [1, 2, 3].map((n) => callOf('echo', { n })),
      { ...context, maxParallel: 1 },
      fakeScope([tool]),
    )
    for (let n = 0; n < 3; n++) {
      await settle()
      expect(started).toHaveLength(n + 1)
      finish[n]?.(done)
    }
    expect(await running).toHaveLength(3)
  })

  test('who waits is answered when the batch is cancelled, and takes no place', async () => {
    const { runner } = fakeTime()
    const { tool, started, finish } = held({ maxConcurrent: 1 })
    const environment = fakeScope([tool])
    const holding = runner.execute([callOf('echo', { n: 1 })], context, environment)
    await settle()
    const controller = new AbortController()
    const waiting = runner.execute(
      [callOf('echo', { n: 2 })],
      { ...context, signal: controller.signal },
      environment,
    )
    await settle()
    controller.abort()
    expect((await waiting)[0]?.result).toMatchObject({ code: 'cancelled' })
    finish[0]?.(done)
    await holding
    const next = runner.execute([callOf('echo', { n: 3 })], context, environment)
    await settle()
    expect(started).toHaveLength(2)
    finish[1]?.(done)
    await next
  })
})

describe('capabilities', () => {
  const storage: StorageAccess = {
    get: async () => 'kept',
    set: async () => {},
    delete: async () => {},
    keys: async () => [],
    update: async () => undefined,
  }
  const backends = (seen: unknown[]): CapabilityBackends => ({
    storage: {
      open(declared, scope) {
        seen.push([declared, { ...scope, signal: scope.signal instanceof AbortSignal }])
        return storage
      },
    },
    secrets: { open: () => ({ get: () => 'sesame' }), mask: (text) => text.replaceAll('sesame', '***') },
  })

  test('that are declared and granted reach the tool, each opened for that call', async () => {
    const seen: unknown[] = []
    const tool = fakeTool({
      capabilities: { storage: true },
      async execute(_input, ctx) {
        return { ok: true, value: `${await ctx.storage?.get('k')} ${'secrets' in ctx}` }
      },
    })
    const result = await runOne(tool, {}, { scope: { backends: backends(seen) } })
    expect(result).toEqual({ ok: true, value: 'kept false' })
    expect(seen).toEqual([[true, { tool: 'echo', sessionId: 's', signal: true, attachments: [] }]])
  })

  test('that a backend refuses keep the tool from running', async () => {
    const { tool, started } = held({ capabilities: { storage: true } })
    const refusing: CapabilityBackends = {
      storage: {
        open() {
          throw new Error('quota reached')
        },
      },
    }
    const result = await runOne(tool, {}, { scope: { backends: refusing } })
    expect(result).toMatchObject({ code: 'not_available', error: expect.stringContaining('quota reached') })
    expect(started).toEqual([])
  })

  test('that refuse what lies outside of the grant say so by their code', async () => {
    const refusal = () => {
      throw new CapabilityError('denied', 'outside of the granted roots')
    }
    expect(await runOne(fakeTool({ execute: refusal }), {})).toEqual({
      ok: false,
      code: 'denied',
      error: 'outside of the granted roots',
    })
    const tool = fakeTool({ capabilities: { storage: true } })
    const result = await runOne(tool, {}, { scope: { backends: { storage: { open: refusal } } } })
    expect(result).toMatchObject({
      code: 'denied',
      error: expect.stringContaining('outside of the granted roots'),
    })
  })

  test('that nobody knows are refused', async () => {
    const capabilities = {}
    const tool = fakeTool({ capabilities })
    const entry = localEntry(tool, {})
    // A registry refuses such a tool; one that changes afterwards is refused when it is called.
    Object.assign(capabilities, { teleport: true })
    expect(() => localEntry(tool, {})).toThrow('the capabilities of "echo" has no option "teleport"')
    const scope = fakeScope([], { resolve: () => ({ entry, args: {} }) })
    const [answer] = await fakeRunner().execute([callOf('echo')], {}, scope)
    expect(answer?.result).toMatchObject({
      code: 'not_available',
      error: expect.stringContaining('teleport'),
    })
  })

  test('secrets are masked in all a tool says, however deep, and in what it throws', async () => {
    const says: ToolResult = {
      ok: true,
      value: 'key sesame',
      content: [{ type: 'text', text: 'open sesame' }],
      structured: { list: [{ header: 'sesame' }], sesame: 1 },
    }
    const scope = { backends: backends([]) }
    const tool = (execute: Tool['execute']) => fakeTool({ capabilities: { secrets: ['KEY'] }, execute })
    expect(
      await runOne(
        tool(() => says),
        {},
        { scope },
      ),
    ).toEqual({
      ok: true,
      value: 'key ***',
      content: [{ type: 'text', text: 'open ***' }],
      structured: { list: [{ header: '***' }], '***': 1 },
    })
    const failing = tool(() => {
      throw new Error('401 for sesame')
    })
    expect(await runOne(failing, {}, { scope })).toMatchObject({ error: '401 for ***' })
    const undeclared = fakeTool({ execute: () => says })
    expect(await runOne(undeclared, {}, { scope })).toMatchObject({ value: 'key ***' })
  })

  test('are masked in what a hook makes of a result, too', async () => {
    const tool = fakeTool({ capabilities: { secrets: ['KEY'] } })
    const hooks = { after_tool_call: () => ({ ok: true as const, value: 'the hook says sesame' }) }
    const result = await runOne(tool, {}, { scope: { backends: backends([]), hooks } })
    expect(result).toEqual({ ok: true, value: 'the hook says ***' })
  })

  test('what cannot be masked is not shown', async () => {
    const broken: CapabilityBackends = {
      secrets: { open: () => ({ get: () => 's' }), mask: () => undefined as never },
    }
    const tool = fakeTool({
      capabilities: { secrets: ['KEY'] },
      execute: () => ({ ok: true, value: 'sesame' }),
    })
    const result = await runOne(tool, {}, { scope: { backends: broken } })
    expect(result).toMatchObject({ ok: false, code: 'execution_failed' })
    expect(JSON.stringify(result)).not.toContain('sesame')
  })
})

describe('a dry run', () => {
  test('says what would run and runs nothing: no tool, no hook, no use', async () => {
    const ran: string[] = []
    const tool = fakeTool({
      execute() {
        ran.push('execute')
        return done
      },
    })
    const result = await runOne(
      tool,
      { city: 'Rome' },
      {
        context: { dryRun: true },
        scope: {
          hooks: { before_tool_call: () => void ran.push('hook') },
          noteUses: () => void ran.push('use'),
        },
      },
    )
    expect(result).toEqual({
      ok: true,
      value: '[dry run] echo would run with {"city":"Rome"}',
      structured: { dryRun: true, name: 'echo', args: { city: 'Rome' } },
    })
    expect(ran).toEqual([])
  })

  test('masks arguments whose names call them secret', async () => {
    const args = {
      api_key: 'a',
      apiKey: 'b',
      Authorization: 'Bearer c',
      password: 'd',
      nested: [{ access_token: 'e', clientSecret: 'f' }],
      max_tokens: 100,
      author: 'g',
      pin: 1234,
    }
    const result = await runOne(fakeTool(), args, { context: { dryRun: true } })
    expect(result.ok && result.structured).toMatchObject({
      args: {
        api_key: '***',
        apiKey: '***',
        Authorization: '***',
        password: '***',
        nested: [{ access_token: '***', clientSecret: '***' }],
        max_tokens: 100,
        author: 'g',
        pin: '***',
      },
    })
  })

  test('masks values that a backend knows as secret', async () => {
    const backends: CapabilityBackends = {
      secrets: { open: () => ({ get: () => 's' }), mask: (text) => text.replaceAll('sesame', '***') },
    }
    const tool = fakeTool({ capabilities: { secrets: ['KEY'] } })
    const result = await runOne(tool, { note: 'sesame' }, { context: { dryRun: true }, scope: { backends } })
    expect(JSON.stringify(result)).not.toContain('sesame')
  })

  test('still refuses what would be refused', async () => {
    const tool = fakeTool({ inputSchema: { required: ['a'] } })
    expect(await runOne(tool, {}, { context: { dryRun: true } })).toMatchObject({ code: 'input_invalid' })
  })
})

describe('a context that executes calls itself', () => {
  test('gets those that passed every gate, with valid arguments, and leaves others to the tool', async () => {
    const scope = fakeScope([fakeTool(), fakeTool({ name: 'other' }), fakeTool({ name: 'denied' })], {
      denial: ({ entry }) => (entry.name === 'denied' ? 'the deny list' : undefined),
    })
    const seen: unknown[] = []
    const results = await fakeTime().runner.execute(
      [callOf('echo', { a: 1 }), callOf('other', { b: 2 }), callOf('denied')],
      {
        ...context,
        executor: {
          execute: (call) => {
            seen.push(call)
            return call.name === 'echo' ? Promise.resolve(done) : undefined
          },
        },
      },
      scope,
    )
    expect(results.map(({ result }) => (result.ok ? result.value : result.code))).toEqual([
      'done',
      '{"b":2}',
      'not_available',
    ])
    const source = { kind: 'builtin' }
    expect(seen).toEqual([
      { name: 'echo', ownName: 'echo', source, args: { a: 1 } },
      { name: 'other', ownName: 'other', source, args: { b: 2 } },
    ])
  })

  test('may lift the limit on the same call in a row', async () => {
    const { runner } = fakeTime()
    const scope = fakeScope([fakeTool()], { maxIdenticalCalls: 1 })
    const again = (more: object) => runner.execute([callOf('echo')], { ...context, ...more }, scope)
    await again({})
    expect((await again({ maxIdenticalCalls: 0 }))[0]?.result.ok).toBe(true)
    expect((await again({}))[0]?.result).toMatchObject({ code: 'repeated' })
  })
})
