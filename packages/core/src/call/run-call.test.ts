import { describe, expect, test } from 'vitest'
import type { EventBody } from '../events.ts'
import type { Tool, ToolResult } from '../tool.ts'
import type { CallHooks } from './call-scope.ts'
import { callOf, type FakeOverrides, fakeRunner, fakeScope, fakeTool, runOne } from './fake-scope.fixture.ts'

const context = { sessionId: 's' }
const done: ToolResult = { ok: true, value: 'done' }
const saying = (value: string, more: Partial<Tool> = {}) =>
  fakeTool({ execute: () => ({ ok: true, value }), ...more })

/** Runs one call and returns its result with the events. */
async function run(tool: Tool, overrides: FakeOverrides = {}, args: unknown = {}) {
  const scope = fakeScope([tool], overrides)
  const [answer] = await fakeRunner().execute([callOf(tool.name, args)], context, scope)
  return { result: answer?.result, events: scope.events }
}

const failedParts = (events: readonly EventBody[]) =>
  events.flatMap((event) => (event.type === 'call-part-failed' ? [[event.part, event.error]] : []))

test('the event of a finished call says how long it took', async () => {
  let now = 1_000
  const tool = fakeTool({
    execute: () => {
      now += 250
      return done
    },
  })
  const scope = fakeScope([tool])
  await fakeRunner({ now: () => now }).execute([callOf('echo')], context, scope)
  expect(scope.events).toContainEqual(expect.objectContaining({ type: 'call-finished', durationMs: 250 }))
})

describe('a mask that fails', () => {
  const masked = (mask: (text: string) => unknown) =>
    run(saying('the secret'), { backends: { secrets: { mask } as never } })

  test('once fails the call with its reason, masked', async () => {
    let calls = 0
    const { result } = await masked((text) => {
      if (calls++ === 0) throw new Error('hunter2 is not valid')
      return text.replace('hunter2', '***')
    })
    expect(result).toEqual({ ok: false, code: 'execution_failed', error: '*** is not valid' })
  })

  test('always fails the call without any text of it', async () => {
    const { result } = await masked(() => {
      throw new Error('hunter2')
    })
    expect(result).toEqual({
      ok: false,
      code: 'execution_failed',
      error: 'the result cannot be shown: masking secrets failed',
    })
  })
})

test('arguments that a hook made invalid are refused without the schema, which the model got right', async () => {
  const tool = fakeTool({ inputSchema: { type: 'object', properties: { city: { type: 'string' } } } })
  const [answer] = await fakeRunner().execute(
    [callOf('echo', { city: 'Oslo' })],
    { ...context, hooks: { before_tool_call: () => ({ args: { city: [] } }) } },
    fakeScope([tool], { needsSchema: () => true }),
  )
  expect(answer?.result).toMatchObject({ ok: false, code: 'input_invalid' })
  expect(answer?.result).not.toHaveProperty('structured')
  expect(JSON.stringify(answer?.result)).toContain('(after a hook changed them)')
})

describe('the result of a call that was begun earlier', () => {
  interface LateCase {
    readonly overrides?: FakeOverrides
    readonly hooks?: CallHooks
  }

  const ran: unknown[] = []
  const tool = fakeTool({
    inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    execute: (input) => {
      ran.push(input)
      return done
    },
  })
  const late = (given: unknown, { overrides = {}, hooks = {} }: LateCase = {}) =>
    fakeRunner().execute(
      [callOf('echo')],
      { ...context, hooks, lateResult: given as ToolResult },
      fakeScope([tool], overrides),
    )

  test('is passed on without running the tool or checking arguments', async () => {
    const [answer] = await late({ ok: true, value: 'late' })
    expect([answer?.result, ran]).toEqual([{ ok: true, value: 'late' }, []])
  })

  test('is seen by after_tool_call alone, then reduced and masked', async () => {
    const seen: unknown[] = []
    const hooks: CallHooks = {
      before_tool_call: () => void seen.push('before'),
      after_tool_call: (_call, result) => void seen.push(result),
    }
    const reduce = (result: ToolResult): ToolResult =>
      result.ok ? { ...result, value: 'shorter key1' } : result
    const overrides = {
      backends: { secrets: { mask: (text: string) => text.replace('key1', '***') } as never },
      reducers: { get: () => ({ toolName: 'echo', reduce }) },
    }
    const [answer] = await late({ ok: true, value: 'much longer key1' }, { overrides, hooks })
    expect(answer?.result).toEqual({ ok: true, value: 'shorter ***' })
    expect([seen, ran]).toEqual([[{ ok: true, value: 'much longer ***' }], []])
  })

  test('is a failure when it is not a result', async () => {
    const [answer] = await late({ ok: true, value: '', content: 'late' })
    expect(answer?.result).toMatchObject({ ok: false, code: 'execution_failed' })
  })

  test('of a tool that is denied is withheld', async () => {
    const [answer] = await late({ ok: true, value: 'late' }, { overrides: { denial: () => 'the deny list' } })
    expect(answer?.result).toMatchObject({ ok: false, code: 'not_available' })
  })
})

describe('a reducer', () => {
  test('gets what was asked, whatever the tool made of its arguments, and the turn', async () => {
    const seen: unknown[] = []
    const reduce: Tool['reduce'] = (result, { args, turnCount }) => {
      seen.push(args, turnCount)
      return result
    }
    const execute: Tool['execute'] = (input) => {
      Object(input).city = 'Bergen'
      return done
    }
    const turn = { context: { turnCount: 7 } }
    await runOne(fakeTool({ execute, reduce }), { city: 'Oslo' }, turn)
    const reducers = { get: () => ({ toolName: 'echo', reduce }) }
    await runOne(fakeTool({ execute }), { city: 'Oslo' }, { ...turn, scope: { reducers } })
    expect(seen).toEqual([{ city: 'Oslo' }, 7, { city: 'Oslo' }, 7])
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('no such field')
      },
      'no such field',
    ],
    ['returns something else', () => 'short', 'it returned something other than a result'],
  ])('that %s leaves the result, and an event says why', async (_, reduce, reason) => {
    const { result, events } = await run(saying('long', { reduce: reduce as never }))
    expect(result).toEqual({ ok: true, value: 'long' })
    expect(failedParts(events)).toEqual([['reducer', reason]])
  })

  test.each([
    ['undefined', () => undefined],
    ['null', () => null],
  ])('that returns %s leaves the result, without an event', async (_, reduce) => {
    const { result, events } = await run(saying('long', { reduce: reduce as never }))
    expect(result).toEqual({ ok: true, value: 'long' })
    expect(failedParts(events)).toEqual([])
  })

  test('that the host has not for this tool changes nothing', async () => {
    const { result, events } = await run(saying('long'), { reducers: { get: () => undefined } })
    expect(result).toEqual({ ok: true, value: 'long' })
    expect(failedParts(events)).toEqual([])
  })

  test.each([
    [{ trace: 1 }, undefined, { trace: 1 }],
    [{ trace: 1 }, { trace: 2 }, { trace: 2 }],
    [undefined, { trace: 2 }, { trace: 2 }],
  ])('keeps meta unless it returns another: %j, %j', async (before, after, expected) => {
    const withMeta = (value: string, meta: Record<string, unknown> | undefined): ToolResult =>
      meta === undefined ? { ok: true, value } : { ok: true, value, meta }
    const tool = fakeTool({ execute: () => withMeta('long', before), reduce: () => withMeta('short', after) })
    expect((await run(tool)).result).toStrictEqual({ ok: true, value: 'short', meta: expected })
  })

  test('adds no meta where there is none', async () => {
    const { result } = await run(saying('long', { reduce: () => ({ ok: true, value: 'short' }) }))
    expect(result).toStrictEqual({ ok: true, value: 'short' })
  })

  const cases: readonly [string, number, number, boolean, 'x' | 'y'][] = [
    ['the text before a tool’s own that shortens', 2_000, 1_000, false, 'x'],
    ['the text after one that keeps the length', 2_000, 2_000, false, 'y'],
    ['the text after one that lengthens', 1_000, 2_000, false, 'y'],
    ['the text after the host’s', 2_000, 1_000, true, 'y'],
  ]
  test.each(cases)('whose result is cut: the spill keeps %s', async (_, before, after, isHosts, letter) => {
    const kept: string[] = []
    const put = (_session: string, text: string) => {
      kept.push(text)
      return 'h1'
    }
    const reduce = () => ({ ok: true as const, value: 'y'.repeat(after) })
    const scope = {
      spill: { put, get: () => undefined },
      reducers: { get: () => (isHosts ? { toolName: 'echo', reduce } : undefined) },
    }
    const tool = saying('x'.repeat(before), isHosts ? {} : { reduce })
    await runOne(tool, {}, { context: { resultBudgetChars: 300 }, scope })
    expect(kept).toEqual([letter.repeat(letter === 'x' ? before : after)])
  })
})

describe('a cached result', () => {
  const attachments = [{ name: 'note.txt', mimeType: 'text/plain', data: new Uint8Array([1]) }] as never

  test.each([
    ['is used', {}, [], 1],
    ['is used by a tool that does not read attachments', {}, attachments, 1],
    ['is used by a tool that could read attachments, without any', { attachments: true as const }, [], 1],
    ['is not used by a tool that reads attachments', { attachments: true as const }, attachments, 2],
  ])('%s', async (_, capabilities, files, expected) => {
    let runs = 0
    const execute = () => {
      runs++
      return done
    }
    const tool = fakeTool({
      execute,
      capabilities,
      cacheTtlMs: 1_000,
      annotations: { readOnlyHint: true },
    })
    const backends = { attachments: { open: () => ({ list: () => [] }) } as never }
    const runner = fakeRunner()
    const options = { runner, context: { attachments: files }, scope: { backends } }
    const results = [await runOne(tool, {}, options), await runOne(tool, {}, options)]
    expect(results).toEqual([done, done])
    expect(runs).toBe(expected)
  })
})
