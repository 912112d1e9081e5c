import { describe, expect, test, vi } from 'vitest'
import type { Tool } from '../tool.ts'
import { IdenticalCalls } from './call-state.ts'
import {
  callOf,
  entryOf,
  type FakeRunner,
  fakeScope,
  fakeTime,
  fakeTool,
  runOne,
} from './fake-scope.fixture.ts'
import { ResultCache } from './result-cache.ts'
import { memorySpill } from './spill.ts'

describe('the same call again and again', () => {
  const ask = async (
    runner: FakeRunner,
    args: unknown,
    options: { sessionId?: string; name?: string; dryRun?: boolean } = {},
  ) => {
    const { sessionId = 's', name = 'echo', dryRun = false } = options
    const environment = fakeScope([fakeTool(), fakeTool({ name: 'other' })], { maxIdenticalCalls: 3 })
    const [answer] = await runner.execute([callOf(name, args)], { sessionId, dryRun }, environment)
    if (answer === undefined) return 'unanswered'
    return answer.result.ok ? 'ok' : answer.result.code
  }

  test('is refused after so many times in a row, with a hint', async () => {
    const { runner } = fakeTime()
    const answers = []
    for (let n = 0; n < 5; n++) answers.push(await ask(runner, { a: 1, b: 2 }))
    expect(answers).toEqual(['ok', 'ok', 'ok', 'repeated', 'repeated'])
    const repeated = await runOne(fakeTool(), { a: 1, b: 2 }, { runner, scope: { maxIdenticalCalls: 3 } })
    expect(repeated).toMatchObject({ error: expect.stringContaining('change the arguments') })
  })

  test('is the same whatever the order of its keys', async () => {
    const { runner } = fakeTime()
    const answers = []
    for (const args of [
      { a: 1, b: { c: 2, d: 3 } },
      { b: { d: 3, c: 2 }, a: 1 },
      { a: 1, b: { c: 2, d: 3 } },
      { b: { c: 2, d: 3 }, a: 1 },
    ])
      answers.push(await ask(runner, args))
    expect(answers).toEqual(['ok', 'ok', 'ok', 'repeated'])
  })

  test('restarts the count after another call, of another tool or with other arguments', async () => {
    const { runner } = fakeTime()
    for (const between of [{ args: { n: 2 } }, { args: { n: 1 }, name: 'other' }]) {
      for (let n = 0; n < 3; n++) expect(await ask(runner, { n: 1 })).toBe('ok')
      expect(await ask(runner, between.args, between)).toBe('ok')
    }
  })

  test('counts for each session apart, and not in dry runs', async () => {
    const { runner } = fakeTime()
    for (let n = 0; n < 3; n++) await ask(runner, {})
    for (let n = 0; n < 9; n++) expect(await ask(runner, {}, { dryRun: true })).toBe('ok')
    expect(await ask(runner, {}, { sessionId: 'another' })).toBe('ok')
    expect(await ask(runner, {})).toBe('repeated')
  })

  test('counts within a batch, in its order', async () => {
    const calls = [1, 1, 1, 1, 2, 1].map((n) => callOf('echo', { n }))
    const environment = fakeScope([fakeTool()], { maxIdenticalCalls: 3 })
    const answers = await fakeTime().runner.execute(calls, { sessionId: 's' }, environment)
    expect(answers.map(({ result }) => result.ok)).toEqual([true, true, true, false, true, true])
  })

  test('has no limit when it is 0', async () => {
    const { runner } = fakeTime()
    for (let n = 0; n < 60; n++) {
      expect(await runOne(fakeTool(), {}, { runner, scope: { maxIdenticalCalls: 0 } })).toMatchObject({
        ok: true,
      })
    }
  })

  test('tells long and unreadable arguments apart too', () => {
    const calls = new IdenticalCalls()
    const long = (end: string) => ({ text: `${'x'.repeat(5_000)}${end}`, z: 1 })
    expect(calls.note('s', 't', long('a'))).toBe(1)
    expect(calls.note('s', 't', { z: 1, text: long('a').text })).toBe(2)
    expect(calls.note('s', 't', long('b'))).toBe(1)
    expect(calls.note('s', 't', { n: 1n })).toBe(1)
    expect(calls.note('s', 't', { n: 1n })).toBe(2)
  })

  test('is forgotten for the sessions that called longest ago', () => {
    const calls = new IdenticalCalls()
    calls.note('first', 't', {})
    calls.note('often', 't', {})
    for (let n = 0; n < 1_000; n++) {
      calls.note(`s${n}`, 't', {})
      if (n === 500) calls.note('often', 't', {})
    }
    expect(calls.note('first', 't', {})).toBe(1)
    expect(calls.note('often', 't', {})).toBe(3)
    expect(calls.note('s999', 't', {})).toBe(2)
  })
})

describe('the result cache', () => {
  function counted(overrides: Partial<Tool> = {}) {
    let runs = 0
    return fakeTool({
      cacheTtlMs: 1_000,
      annotations: { readOnlyHint: true },
      execute: () => ({ ok: true, value: `run ${++runs}`, structured: { runs: [runs] } }),
      ...overrides,
    })
  }
  const value = async (runner: FakeRunner, tool: Tool, args: unknown = {}, sessionId = 's') => {
    const result = await runOne(tool, args, { runner, context: { sessionId } })
    return result.ok ? result.value : result.error
  }

  test('returns a read-only tool’s result again for as long as the tool says', async () => {
    const { runner, advance } = fakeTime()
    const tool = counted()
    expect(await value(runner, tool, { a: 1, b: 2 })).toBe('run 1')
    advance(999)
    expect(await value(runner, tool, { b: 2, a: 1 })).toBe('run 1')
    advance(1)
    expect(await value(runner, tool, { a: 1, b: 2 })).toBe('run 2')
  })

  test('keeps tools, sessions and arguments apart', async () => {
    const { runner } = fakeTime()
    const tool = counted()
    expect(await value(runner, tool, { a: 1 })).toBe('run 1')
    expect(await value(runner, tool, { a: 2 })).toBe('run 2')
    expect(await value(runner, tool, { a: 1 }, 'another')).toBe('run 3')
    expect(await value(runner, counted(), { a: 1 })).toBe('run 1')
  })

  test('starts empty when the same tool is registered again', async () => {
    const { runner } = fakeTime()
    const tool = counted()
    const register = () => {
      const entry = entryOf({ ...tool })
      return { resolve: () => ({ entry, args: {} }) }
    }
    const first = register()
    const run = async (environment: ReturnType<typeof register>) => {
      const result = await runOne(tool, {}, { runner, scope: environment })
      return result.ok && result.value
    }
    expect([await run(first), await run(first), await run(register())]).toEqual(['run 1', 'run 1', 'run 2'])
  })

  test('is for tools that say they only read', async () => {
    const { runner } = fakeTime()
    const tool = counted({ annotations: {} })
    expect([await value(runner, tool), await value(runner, tool)]).toEqual(['run 1', 'run 2'])
  })

  test('never contains errors', async () => {
    const { runner } = fakeTime()
    let runs = 0
    const tool = counted({
      execute: () => (++runs === 1 ? { ok: false, code: 'c', error: 'e' } : { ok: true, value: 'v' }),
    })
    expect([await value(runner, tool), await value(runner, tool)]).toEqual(['e', 'v'])
  })

  test('hands out copies, and says in the event that it answered', async () => {
    const { runner } = fakeTime()
    const environment = fakeScope([counted()])
    const run = async () =>
      (await runner.execute([callOf('echo')], { sessionId: 's' }, environment))[0]?.result
    for (let n = 0; n < 2; n++) {
      const result = await run()
      if (result?.ok) (result.structured as { runs: number[] }).runs.push(99)
    }
    expect(await run()).toEqual({ ok: true, value: 'run 1', structured: { runs: [1] } })
    expect(environment.events.at(-1)).toMatchObject({ type: 'call-finished', isCached: true })
  })

  test('still asks the hooks, which may deny', async () => {
    const { runner } = fakeTime()
    const tool = counted()
    await value(runner, tool)
    const hooks = { before_tool_call: () => ({ deny: 'no' }) }
    expect(await runOne(tool, {}, { runner, scope: { hooks } })).toMatchObject({ code: 'denied' })
  })

  test('is bounded: the least recently used go', () => {
    const cache = new ResultCache()
    const put = (key: string) => cache.set(key, { ok: true, value: key }, 100)
    put('a')
    put('b')
    for (let n = 0; n < 498; n++) put(`k${n}`)
    expect(cache.get('a', 0)).toBeDefined()
    put('one more')
    expect(cache.get('b', 0)).toBeUndefined()
    expect(cache.get('a', 0)).toBeDefined()
  })

  test('leaves out anything but plain data: the call does not fail, runs again, and an event says so', async () => {
    const { runner } = fakeTime()
    const cyclic: Record<string, unknown> = {}
    cyclic.self = cyclic
    let runs = 0
    const tool = counted({ execute: () => ({ ok: true, value: `run ${++runs}`, structured: cyclic }) })
    const environment = fakeScope([tool])
    const values: unknown[] = []
    for (let n = 0; n < 2; n++) {
      const [answer] = await runner.execute([callOf('echo')], { sessionId: 's' }, environment)
      values.push(answer?.result.ok && answer.result.value)
    }
    expect(values).toEqual(['run 1', 'run 2'])
    const failures = environment.events.filter(({ type }) => type === 'call-part-failed')
    expect(failures).toMatchObject([
      { part: 'cache', name: 'echo', toolCallId: 'call-1', error: expect.stringContaining('circular') },
      { part: 'cache' },
    ])
  })

  test('leaves out what alone would take a tenth of it', () => {
    const cache = new ResultCache()
    const result = (chars: number) => ({ ok: true as const, value: 'x'.repeat(chars) })
    cache.set('large', result(499_000), 100)
    cache.set('too large', result(501_000), 100)
    expect(cache.get('large', 0)).toEqual(result(499_000))
    expect(cache.get('too large', 0)).toBeUndefined()
  })

  test('is bounded in characters too: the least recently used go', () => {
    const cache = new ResultCache()
    const put = (key: string) => cache.set(key, { ok: true, value: 'x'.repeat(450_000) }, 100)
    for (let n = 0; n < 11; n++) put(`k${n}`)
    expect(cache.get('k0', 0)).toBeDefined()
    put('one more')
    expect([cache.get('k1', 0), cache.get('k0', 0)?.ok, cache.get('one more', 0)?.ok]).toEqual([
      undefined,
      true,
      true,
    ])
    // A result that takes the place of an older one under its key counts once.
    for (let n = 0; n < 20; n++) put('one more')
    expect(cache.get('k0', 0)).toBeDefined()
  })
})

describe('memorySpill', () => {
  test('gives a session its own texts back, and no other', () => {
    const spill = memorySpill({ clock: () => 0 })
    const handle = spill.put('s', 'text') as string
    expect(spill.get('s', handle)).toBe('text')
    expect(spill.get('t', handle)).toBeUndefined()
    expect(spill.get('s', 'nope')).toBeUndefined()
  })

  test('goes by the time of day when it is given no clock', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 0 })
    const spill = memorySpill({ ttlMs: 5 })
    const handle = spill.put('s', 'text') as string
    expect(spill.get('s', handle)).toBe('text')
    vi.setSystemTime(5)
    expect(spill.get('s', handle)).toBeUndefined()
    vi.useRealTimers()
  })

  test('forgets what is too old', () => {
    let now = 0
    const spill = memorySpill({ clock: () => now, ttlMs: 100 })
    const handle = spill.put('s', 'text') as string
    now = 99
    expect(spill.get('s', handle)).toBe('text')
    now = 100
    expect(spill.get('s', handle)).toBeUndefined()
  })

  test('forgets the oldest when it holds too many texts or too many characters', () => {
    const few = memorySpill({ clock: () => 0, maxEntries: 2 })
    const handles = ['a', 'b', 'c'].map((text) => few.put('s', text) as string)
    expect(handles.map((handle) => few.get('s', handle))).toEqual([undefined, 'b', 'c'])
    const small = memorySpill({ clock: () => 0, maxChars: 10 })
    const [first = '', second = ''] = ['12345678', '12345'].map((text) => small.put('s', text) as string)
    expect([small.get('s', first), small.get('s', second)]).toEqual([undefined, '12345'])
  })

  test('refuses a text that alone is too long', () => {
    expect(() => memorySpill({ clock: () => 0, maxChars: 3 }).put('s', '1234')).toThrow(
      'more than 3 characters',
    )
  })
})
