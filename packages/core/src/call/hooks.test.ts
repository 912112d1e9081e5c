import { describe, expect, test } from 'vitest'
import type { ToolResult } from '../tool.ts'
import type { CallHooks, HookedCall } from './call-scope.ts'
import { callOf, fakeScope, fakeTime, fakeTool, runOne } from './fake-scope.fixture.ts'

const schema = { type: 'object', properties: { n: { type: 'number' } } }
const tool = fakeTool({ inputSchema: schema })
const withHooks = (hooks: CallHooks | readonly CallHooks[], args: unknown = { n: 1 }) =>
  runOne(tool, args, { scope: { hooks } })

describe('before_tool_call', () => {
  test('sees the call with its validated arguments', async () => {
    const seen: HookedCall[] = []
    await withHooks({ before_tool_call: (call) => void seen.push(call) }, { n: '1' })
    expect(seen).toEqual([
      {
        toolCallId: 'call-1',
        name: 'echo',
        args: { n: 1 },
        source: { kind: 'builtin' },
        sessionId: 's',
        turnCount: 0,
      },
    ])
  })

  test('may change the arguments, which are validated and put right again', async () => {
    expect(await withHooks({ before_tool_call: () => ({ args: { n: '2' } }) })).toEqual({
      ok: true,
      value: '{"n":2}',
    })
    expect(await withHooks({ before_tool_call: async () => ({ args: { n: 'two' } }) })).toMatchObject({
      code: 'input_invalid',
      error: expect.stringMatching(/n: expected number.*after a hook changed them/),
    })
  })

  test('changes nothing by changing what it was shown', async () => {
    const sly: CallHooks = {
      before_tool_call: ({ args }) => {
        Object.assign(args as object, { n: 'sly' })
      },
    }
    expect(await withHooks(sly)).toEqual({ ok: true, value: '{"n":1}' })
  })

  test('may answer the call itself; the tool does not run', async () => {
    let ran = 0
    const counting = fakeTool({ execute: () => ({ ok: true, value: String(++ran) }) })
    const hooks: CallHooks = { before_tool_call: () => ({ result: { ok: true, value: 'mine' } }) }
    expect(await runOne(counting, {}, { scope: { hooks } })).toEqual({ ok: true, value: 'mine' })
    expect(ran).toBe(0)
  })

  test('deny a call when their answer has an unknown key', async () => {
    for (const said of [{ dney: 'no' }, { args: { n: 1 }, denied: true }])
      expect(await withHooks({ before_tool_call: () => said as never })).toMatchObject({
        code: 'denied',
        error: expect.stringMatching(/^a hook returned the unknown key "(dney|denied)"; it may return/),
      })
  })

  test('may deny it', async () => {
    expect(await withHooks({ before_tool_call: () => ({ deny: 'not on Sundays' }) })).toEqual({
      ok: false,
      code: 'denied',
      error: 'not on Sundays',
    })
  })

  test('that throws, rejects or returns nonsense denies it: a broken guard lets nothing through', async () => {
    const broken: CallHooks['before_tool_call'][] = [
      () => {
        throw new Error('boom')
      },
      () => Promise.reject('boom'),
      () => 'yes' as never,
      () => ({ allow: true }) as never,
      () => ({ args: 1n }) as never,
      () => ({ args: undefined }),
      () => ({}) as never,
      () => [] as never,
    ]
    for (const before_tool_call of broken) {
      expect(await withHooks(before_tool_call ? { before_tool_call } : {})).toMatchObject({
        ok: false,
        code: 'denied',
      })
    }
  })

  test('that says false to denying it lets it through', async () => {
    const hooks: CallHooks = { before_tool_call: () => ({ deny: false }) as never }
    expect(await withHooks(hooks)).toEqual({ ok: true, value: '{"n":1}' })
  })

  test('that hangs is denied by the deadline of the context', async () => {
    const time = fakeTime()
    const hooks: CallHooks = { before_tool_call: () => new Promise(() => {}) }
    const running = time.runner.execute(
      [callOf('echo')],
      { sessionId: 's', timeoutMs: 50 },
      fakeScope([tool], { hooks }),
    )
    await new Promise<void>((resolve) => setImmediate(resolve))
    time.advance(50)
    expect((await running)[0]?.result).toMatchObject({
      code: 'denied',
      error: expect.stringContaining('in time'),
    })
  })

  test('several run in order, each on what the one before left; the first answer ends it', async () => {
    const seen: unknown[] = []
    const add = (by: number): CallHooks => ({
      before_tool_call: ({ args }) => {
        const { n } = args as { n: number }
        seen.push(n)
        return { args: { n: n + by } }
      },
    })
    expect(await withHooks([add(10), {}, add(100)])).toEqual({ ok: true, value: '{"n":111}' })
    expect(seen).toEqual([1, 11])
    const deny: CallHooks = { before_tool_call: () => ({ deny: 'no' }) }
    expect(await withHooks([deny, add(1)])).toMatchObject({ code: 'denied' })
    expect(seen).toHaveLength(2)
  })
})

describe('after_tool_call', () => {
  test('sees the call as it ran, whatever the tool made of its input, and the result', async () => {
    const seen: unknown[] = []
    const greedy = fakeTool({
      execute(input) {
        Object.assign(input as object, { n: 99 })
        return { ok: true, value: 'v' }
      },
    })
    const hooks: CallHooks = { after_tool_call: ({ args }, result) => void seen.push(args, result) }
    await runOne(greedy, { n: 1 }, { scope: { hooks } })
    expect(seen).toEqual([{ n: 1 }, { ok: true, value: 'v' }])
  })

  test('may replace the result, also that of a failure or of another hook', async () => {
    const replace: CallHooks = {
      after_tool_call: async (_call, result) => ({ ok: true, value: `was ${result.ok}` }),
    }
    expect(await withHooks(replace)).toEqual({ ok: true, value: 'was true' })
    const failing = fakeTool({
      execute() {
        throw new Error('boom')
      },
    })
    expect(await runOne(failing, {}, { scope: { hooks: replace } })).toEqual({
      ok: true,
      value: 'was false',
    })
    const answer: CallHooks = { before_tool_call: () => ({ result: { ok: true, value: 'mine' } }) }
    expect(await withHooks([answer, replace])).toEqual({ ok: true, value: 'was true' })
  })

  test('that fails is ignored, with an event', async () => {
    const broken: CallHooks['after_tool_call'][] = [
      () => {
        throw new Error('boom')
      },
      () => Promise.reject(new Error('boom')),
      () => ({ ok: true, value: '', costUsd: 'boom' }) as never,
    ]
    for (const after_tool_call of broken) {
      const environment = fakeScope([tool], { hooks: after_tool_call ? { after_tool_call } : {} })
      const [answer] = await fakeTime().runner.execute(
        [callOf('echo', { n: 1 })],
        { sessionId: 's' },
        environment,
      )
      expect(answer?.result).toEqual({ ok: true, value: '{"n":1}' })
      expect(environment.events).toContainEqual(
        expect.objectContaining({ type: 'call-part-failed', part: 'hook' }),
      )
    }
  })

  test('is not asked about calls that were refused', async () => {
    const seen: ToolResult[] = []
    const hooks: CallHooks = {
      before_tool_call: () => ({ deny: 'no' }),
      after_tool_call: (_call, result) => void seen.push(result),
    }
    await withHooks(hooks)
    await withHooks({ ...hooks }, { n: 'x' })
    expect(seen).toEqual([])
  })

  test('still runs for a call that was cancelled', async () => {
    const seen: ToolResult[] = []
    const controller = new AbortController()
    const aborting = fakeTool({
      execute() {
        controller.abort()
        return new Promise(() => {})
      },
    })
    const hooks: CallHooks = { after_tool_call: (_call, result) => void seen.push(result) }
    const result = await runOne(aborting, {}, { context: { signal: controller.signal }, scope: { hooks } })
    expect(result).toMatchObject({ code: 'cancelled' })
    expect(seen).toMatchObject([{ code: 'cancelled' }])
  })
})
