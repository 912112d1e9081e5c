import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Tool, ToolCall, ToolResult } from '../tool.ts'
import type { CallHooks } from './call-scope.ts'
import { callOf, entryOf, fakeRunner, fakeScope, fakeTime, fakeTool, runOne } from './fake-scope.fixture.ts'

const runner = () => fakeRunner()
const context = { sessionId: 's' }

describe('a batch', () => {
  test('returns results in the order of the calls, with their ids and names', async () => {
    const slow = fakeTool({
      name: 'slow',
      execute: () => new Promise((resolve) => setTimeout(resolve, 5, { ok: true, value: 'slow' })),
    })
    const calls = [callOf('slow', {}, 'a'), callOf('echo', { n: 1 }, 'b'), callOf('slow', {}, 'a')]
    const answers = await runner().execute(calls, context, fakeScope([slow, fakeTool()]))
    expect(answers.map(({ toolCallId, name }) => [toolCallId, name])).toEqual([
      ['a', 'slow'],
      ['b', 'echo'],
      ['a', 'slow'],
    ])
    expect(answers[1]?.result).toEqual({ ok: true, value: '{"n":1}' })
  })

  test('runs its calls at once', async () => {
    let running = 0
    let most = 0
    const tool = fakeTool({
      async execute() {
        most = Math.max(most, ++running)
        await Promise.resolve()
        running--
        return { ok: true, value: '' }
      },
    })
    await runner().execute(
      [1, 2, 3].map((n) => callOf('echo', { n })),
      context,
      fakeScope([tool]),
    )
    expect(most).toBe(3)
  })

  test('measures how long each call took by the given clock', async () => {
    const time = fakeTime()
    const tool = fakeTool({
      execute() {
        time.advance(40)
        return { ok: true, value: '' }
      },
    })
    const [answer] = await time.runner.execute([callOf('echo')], context, fakeScope([tool]))
    expect(answer?.durationMs).toBe(40)
  })

  test('returns a result for every entry of a malformed list, and nothing for an empty one', async () => {
    const malformed = [null, undefined, 7, {}, { name: 5 }, { toolCallId: 'x' }] as unknown as ToolCall[]
    const answers = await runner().execute(malformed, context, fakeScope([]))
    expect(answers.map(({ result }) => !result.ok && result.code)).toEqual(
      malformed.map(() => 'not_available'),
    )
    expect(answers[5]?.toolCallId).toBe('x')
    expect(await runner().execute([], context, fakeScope([]))).toEqual([])
    expect(await runner().execute(null as unknown as ToolCall[], context, fakeScope([]))).toEqual([])
  })

  test('survives a context that is missing', async () => {
    const answers = await runner().execute([callOf('echo')], undefined as never, fakeScope([fakeTool()]))
    expect(answers[0]?.result.ok).toBe(true)
  })
})

describe('what a call is refused for, in this order', () => {
  const tool = fakeTool({
    inputSchema: { type: 'object', required: ['city'] },
    capabilities: { storage: true },
  })

  test('a name that is not there is answered with close names and where to search', async () => {
    const environment = fakeScope([tool], { suggest: () => ['echo'], searchToolName: 'tool_search' })
    const [answer] = await runner().execute([callOf('ecko')], context, environment)
    expect(answer?.result).toEqual({
      ok: false,
      code: 'not_available',
      error: 'Unknown tool: ecko. Close names: echo. Find tools with tool_search.',
    })
  })

  test('a long name that is not there is cut in the answer', async () => {
    const [answer] = await runner().execute([callOf('x'.repeat(5_000))], context, fakeScope([tool]))
    expect(answer?.result).toMatchObject({ error: expect.stringMatching(/^Unknown tool: x{200,255}….?$/) })
  })

  test('a gate that refuses is named', async () => {
    const result = await runOne(
      tool,
      {},
      { scope: { denial: () => 'the deny list', isAvailable: () => false } },
    )
    expect(result).toEqual({
      ok: false,
      code: 'not_available',
      error: '"echo" is not permitted here: the deny list',
    })
  })

  test('a tool that is not available says so', async () => {
    const result = await runOne(tool, {}, { scope: { isAvailable: () => false } })
    expect(result).toMatchObject({
      code: 'not_available',
      error: expect.stringContaining('not currently available'),
    })
  })

  test('a capability without a backend is named', async () => {
    const result = await runOne(tool, {})
    expect(result).toMatchObject({ code: 'not_available', error: expect.stringContaining('storage') })
  })

  test('wrong arguments come last', async () => {
    const result = await runOne({ ...tool, capabilities: {} }, {})
    expect(result).toMatchObject({ code: 'input_invalid' })
  })

  test('an error about arguments carries the schema when the model has not seen it, and the use is noted before', async () => {
    const order: string[] = []
    const result = await runOne(
      { ...tool, capabilities: {} },
      {},
      {
        scope: {
          needsSchema: () => order.push('needsSchema') > 0,
          noteUses: () => void order.push('noteUses'),
        },
      },
    )
    expect(result).toMatchObject({
      code: 'input_invalid',
      error: expect.stringContaining('"required":["city"]'),
      structured: { name: 'echo', parameters: tool.inputSchema },
    })
    expect(order).toEqual(['needsSchema', 'noteUses'])
  })

  test('refused calls are not noted as use', async () => {
    let uses = 0
    const noteUses = () => {
      uses++
    }
    await runOne(tool, {}, { scope: { noteUses, denial: () => 'policy' } })
    await runOne(tool, {}, { scope: { noteUses } })
    expect(uses).toBe(0)
  })

  test('over random policies, what is denied never executes', async () => {
    const names = ['a', 'b', 'c', 'd']
    await fc.assert(
      fc.asyncProperty(
        fc.subarray(names),
        fc.array(fc.constantFrom(...names, 'missing'), { maxLength: 12 }),
        async (denied, asked) => {
          const executed: string[] = []
          const tools = names.map((name) =>
            fakeTool({
              name,
              execute() {
                executed.push(name)
                return { ok: true, value: name }
              },
            }),
          )
          const environment = fakeScope(tools, {
            denial: ({ entry }) => (denied.includes(entry.name) ? 'policy' : undefined),
          })
          const answers = await runner().execute(
            asked.map((name) => callOf(name)),
            context,
            environment,
          )
          expect(executed).toEqual(asked.filter((name) => names.includes(name) && !denied.includes(name)))
          expect(answers.map(({ result }) => result.ok)).toEqual(
            asked.map((name) => names.includes(name) && !denied.includes(name)),
          )
        },
      ),
    )
  })
})

const throwing = () => {
  throw new Error('boom')
}
const hostile = new Proxy({}, { get: throwing, has: throwing, ownKeys: throwing, getPrototypeOf: throwing })

describe('whatever a tool does, its call is answered', () => {
  const cases: [string, Tool['execute'], string][] = [
    ['throws', throwing, 'boom'],
    ['rejects with a string', () => Promise.reject('no luck'), 'no luck'],
    ['rejects with nothing', () => Promise.reject(undefined), 'undefined'],
    ['returns an error', () => new Error('disk full'), 'disk full'],
    ['returns a failure without code', () => ({ ok: false, error: 'the reason' }), 'the reason'],
    [
      'returns a failure without a reason',
      () => ({ ok: false, message: 'full' }) as never,
      '"message":"full"',
    ],
    ['returns a failure with an error', () => ({ ok: false, error: new Error('full') }) as never, 'full'],
    [
      'returns content that is not an array',
      () => ({ ok: true, value: '', content: {} }) as never,
      '"content"',
    ],
    [
      'returns a getter that throws',
      () => ({
        ok: true,
        get value(): string {
          throw new Error('boom')
        },
      }),
      'boom',
    ],
    ['returns a proxy that throws', () => hostile as never, 'boom'],
    ['throws a proxy that throws', () => Promise.reject(hostile), 'cannot be described'],
    // biome-ignore lint/suspicious/noThenProperty: a thenable that lies is the point.
    ['returns a thenable that throws', () => ({ then: throwing }) as never, 'boom'],
    [
      'overflows the stack',
      function overflow(input, ctx): ToolResult {
        return overflow(input, ctx) as ToolResult
      },
      'call stack',
    ],
  ]
  for (const [what, execute, message] of cases) {
    test(`one that ${what} fails alone`, async () => {
      const tools = [fakeTool({ name: 'bad', execute }), fakeTool()]
      const calls = [callOf('bad'), callOf('echo', { n: 1 })]
      const [bad, good] = await runner().execute(calls, context, fakeScope(tools))
      expect(bad?.result).toMatchObject({
        ok: false,
        code: 'execution_failed',
        error: expect.stringContaining(message),
      })
      expect(good?.result).toEqual({ ok: true, value: '{"n":1}' })
    })
  }

  test('a thenable that answers twice counts once', async () => {
    const execute = () =>
      ({
        // biome-ignore lint/suspicious/noThenProperty: a thenable that lies is the point.
        then(resolve: (result: ToolResult) => void, reject: (error: unknown) => void) {
          resolve({ ok: true, value: 'first' })
          resolve({ ok: true, value: 'second' })
          reject(new Error('third'))
          throw new Error('fourth')
        },
      }) as never
    expect(await runOne(fakeTool({ execute }), {})).toEqual({ ok: true, value: 'first' })
  })

  test('a tool cannot change the arguments of its caller', async () => {
    const args = { list: [1], nested: { a: 1 } }
    const execute: Tool['execute'] = (input) => {
      const mine = input as typeof args
      mine.list.push(2)
      mine.nested.a = 2
      return { ok: true, value: JSON.stringify(mine) }
    }
    expect(await runOne(fakeTool({ execute }), args)).toEqual({
      ok: true,
      value: '{"list":[1,2],"nested":{"a":2}}',
    })
    expect(args).toEqual({ list: [1], nested: { a: 1 } })
  })

  test('everything else of a result survives', async () => {
    const full: ToolResult = {
      ok: true,
      value: 'v',
      content: [{ type: 'image', data: 'AA==', mimeType: 'image/png' }],
      structured: { n: 1 },
      costUsd: 0.5,
      meta: { 'x/trace': 't' },
    }
    expect(await runOne(fakeTool({ execute: () => full }), {})).toEqual(full)
    const failed: ToolResult = {
      ok: false,
      error: 'e',
      code: 'quota',
      structured: { left: 0 },
      meta: { a: 1 },
    }
    expect(await runOne(fakeTool({ execute: () => failed }), {})).toEqual(failed)
  })

  test('over random faults of everything around a call, each call has one answer', async () => {
    const fault = fc.constantFrom<'none' | 'throws' | 'rejects' | 'nonsense' | 'hostile'>(
      'none',
      'throws',
      'rejects',
      'nonsense',
      'hostile',
    )
    const act = (kind: string, otherwise: unknown): never => {
      if (kind === 'throws') throw new Error('boom')
      if (kind === 'rejects') return Promise.reject(new Error('boom')) as never
      if (kind === 'nonsense') return 17 as never
      return (kind === 'hostile' ? hostile : otherwise) as never
    }
    // A predicate answers at once: a promise from one is nonsense, and its rejection nobody's.
    const ask = (kind: string, otherwise: unknown) => act(kind === 'rejects' ? 'throws' : kind, otherwise)
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          execute: fault,
          before: fault,
          after: fault,
          reducer: fault,
          resolve: fault,
          denial: fault,
          available: fault,
          suggest: fault,
          use: fault,
          backend: fault,
          emit: fault,
          spill: fault,
          mask: fault,
        }),
        fc.integer({ min: 0, max: 5 }),
        async (faults, count) => {
          const tool = fakeTool({
            capabilities: { storage: true },
            execute: () => act(faults.execute, { ok: true, value: 'x'.repeat(500) }),
          })
          const hooks: CallHooks = {
            before_tool_call: () => act(faults.before, undefined),
            after_tool_call: () => act(faults.after, undefined),
          }
          const environment = fakeScope([tool], {
            hooks,
            resolve: ({ args }) => ask(faults.resolve, { entry: entryOf(tool), args }),
            denial: () => ask(faults.denial, undefined),
            isAvailable: () => ask(faults.available, true),
            suggest: () => ask(faults.suggest, []),
            noteUses: () => ask(faults.use, undefined),
            emit: () => ask(faults.emit, undefined),
            reducers: { get: () => ({ toolName: 'echo', reduce: () => ask(faults.reducer, undefined) }) },
            spill: { put: () => act(faults.spill, 'handle'), get: () => undefined },
            backends: {
              storage: { open: () => act(faults.backend, {}), mask: (text) => ask(faults.mask, text) },
            },
            resultBudgetChars: 200 * Math.max(1, count),
          })
          const calls = Array.from({ length: count }, (_, index) => callOf('echo', { index }, `id-${index}`))
          const answers = await runner().execute(calls, context, environment)
          expect(answers.map(({ toolCallId }) => toolCallId)).toEqual(
            calls.map(({ toolCallId }) => toolCallId),
          )
          for (const { result } of answers) {
            expect(typeof (result.ok ? result.value : result.error)).toBe('string')
          }
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe('events', () => {
  test('report when a call started and how it ended', async () => {
    const environment = fakeScope([fakeTool({ execute: throwing })])
    await runner().execute([callOf('echo')], context, environment)
    expect(environment.events).toEqual([
      { type: 'call-started', sessionId: 's', toolCallId: 'call-1', name: 'echo' },
      {
        type: 'call-finished',
        sessionId: 's',
        toolCallId: 'call-1',
        name: 'echo',
        ok: false,
        code: 'execution_failed',
        durationMs: 0,
        chars: 4,
      },
    ])
  })
})
