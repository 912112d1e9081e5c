import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ToolResult } from '../tool.ts'
import { callOf, entryOf, fakeRunner, fakeScope, fakeTime, fakeTool, runOne } from './fake-scope.fixture.ts'
import { memorySpill } from './spill.ts'
import { shareBudget } from './trim-results.ts'
import { trimText } from './trim-text.ts'

const saying = (value: string, name = 'echo') => fakeTool({ name, execute: () => ({ ok: true, value }) })

describe('shareBudget', () => {
  test('gives everyone what they need when it fits', () => {
    expect(shareBudget(100, [{ chars: 30 }, { chars: 70 }])).toEqual([30, 70])
  })

  test('gives what small results leave unused to those that need more, alike', () => {
    expect(shareBudget(100, [{ chars: 10 }, { chars: 500 }, { chars: 70 }])).toEqual([10, 45, 45])
    expect(shareBudget(8, [{ chars: 5 }, { chars: 5 }])).toEqual([4, 4])
    expect(shareBudget(10, [{ chars: 99 }, { chars: 99 }, { chars: 99 }])).toEqual([3, 3, 3])
  })

  test('keeps to a tool’s own limit and passes the rest on', () => {
    expect(shareBudget(100, [{ chars: 500, maxChars: 20 }, { chars: 500 }])).toEqual([20, 80])
  })

  test('never cuts what limits itself, and lets it count', () => {
    expect(shareBudget(100, [{ chars: 60, isSelfLimiting: true }, { chars: 500 }])).toEqual([60, 40])
    expect(shareBudget(100, [{ chars: 600, isSelfLimiting: true }, { chars: 500 }])).toEqual([600, 0])
  })

  test('never spends more than there is, never grants more than is needed, and never less than the fair share', () => {
    const claim = fc.record({ chars: fc.nat(2_000), maxChars: fc.option(fc.nat(1_000), { nil: undefined }) })
    fc.assert(
      fc.property(fc.nat(5_000), fc.array(claim, { maxLength: 20 }), (budget, claims) => {
        const limits = shareBudget(budget, claims)
        expect(limits.reduce((sum, limit) => sum + limit, 0)).toBeLessThanOrEqual(budget)
        const share = Math.floor(budget / Math.max(claims.length, 1))
        claims.forEach(({ chars, maxChars = chars }, index) => {
          const need = Math.min(chars, maxChars)
          expect(limits[index]).toBeLessThanOrEqual(need)
          expect(limits[index]).toBeGreaterThanOrEqual(Math.min(need, share))
        })
      }),
    )
  })
})

describe('trimText', () => {
  test('ends a cut text with how long the whole is, within the limit', () => {
    const trimmed = trimText('x'.repeat(1_000), 100)
    expect(trimmed).toHaveLength(100)
    expect(trimmed.endsWith('x\n[truncated — 1000 chars total]')).toBe(true)
  })

  test('leaves a text that fits as it is', () => {
    expect(trimText('x'.repeat(100), 100)).toBe('x'.repeat(100))
  })

  test('just cuts when the marker has no room', () => {
    expect(trimText('abcdefgh'.repeat(20), 5)).toBe('abcde')
    expect(trimText('abc', 0)).toBe('')
  })

  test('names the handle when there is room for it', () => {
    expect(trimText('x'.repeat(1_000), 200, 'r7')).toContain(
      'chars total] Read the rest with read_result, handle "r7".',
    )
    expect(trimText('x'.repeat(1_000), 50, 'r7')).toMatch(/chars total\] read_result "r7"$/)
    expect(trimText('x'.repeat(1_000), 40, 'r7')).toMatch(/chars total\]$/)
  })

  test('fits the limit and tears no character, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.nat(120), (text, limit) => {
        const trimmed = trimText(text, limit)
        expect(trimmed.length).toBeLessThanOrEqual(Math.max(limit, 0))
        expect(trimmed).not.toMatch(/\p{Surrogate}/u)
      }),
    )
  })
})

describe('the results of a batch', () => {
  test('fit the budget of the context, which beats that of the registry, and keep their order', async () => {
    const length = fc.nat(3_000)
    await fc.assert(
      fc.asyncProperty(
        fc.array(length, { maxLength: 12 }),
        fc.nat(8_000),
        async (lengths, resultBudgetChars) => {
          const tools = lengths.map((chars, index) => saying('é'.repeat(chars), `t${index}`))
          const calls = tools.map(({ name }) => callOf(name))
          const answers = await fakeRunner().execute(
            calls,
            { sessionId: 's', resultBudgetChars },
            fakeScope(tools),
          )
          const texts = answers.map(({ result }) => (result.ok ? result.value : result.error))
          expect(texts.join('').length).toBeLessThanOrEqual(resultBudgetChars)
          expect(answers.map(({ name }) => name)).toEqual(calls.map(({ name }) => name))
        },
      ),
    )
  })

  test('a tool learns its limit: its share, or its own when that is less', async () => {
    const limits: number[] = []
    const tool = (name: string, maxResultChars?: number) =>
      fakeTool({
        name,
        ...(maxResultChars === undefined ? {} : { maxResultChars }),
        execute: (_input, ctx) => {
          limits.push(ctx.resultLimitChars)
          return { ok: true, value: '' }
        },
      })
    const tools = [tool('a'), tool('b', 50), tool('c', 5_000)]
    await fakeRunner().execute(
      tools.map(({ name }) => callOf(name)),
      { sessionId: 's', resultBudgetChars: 1_000 },
      fakeScope(tools),
    )
    expect(limits).toEqual([333, 50, 333])
  })

  test('what is not text survives a cut, and errors are cut too', async () => {
    const full: ToolResult = {
      ok: true,
      value: 'x'.repeat(500),
      content: [{ type: 'text', text: 'y'.repeat(500) }],
      structured: { z: 'z'.repeat(500) },
      costUsd: 1,
      meta: { 'x/trace': 'm'.repeat(500) },
    }
    const result = await runOne(
      fakeTool({ execute: () => full }),
      {},
      { context: { resultBudgetChars: 100 } },
    )
    expect(result).toEqual({ ...full, value: `${'x'.repeat(70)}\n[truncated — 500 chars total]` })
    const failed = fakeTool({
      execute: () => ({ ok: false, code: 'c', error: 'e'.repeat(500), structured: 1 }),
    })
    const cut = await runOne(failed, {}, { context: { resultBudgetChars: 100 } })
    expect(cut).toMatchObject({
      code: 'c',
      structured: 1,
      error: expect.stringContaining('[truncated — 500 chars total]'),
    })
  })

  test('a meta-tool limits itself and is never cut; no tool can claim to', async () => {
    const text = 'x'.repeat(500)
    const tool = { ...saying(text), isSelfLimiting: true }
    const context = { resultBudgetChars: 100 }
    const cut = await runOne(tool, {}, { context })
    expect(cut.ok && cut.value).toHaveLength(100)
    const entry = entryOf({ ...tool }, { isSelfLimiting: true })
    const resolve = () => ({ entry, args: {} })
    expect(await runOne(tool, {}, { context, scope: { resolve } })).toEqual({ ok: true, value: text })
  })

  test('a spill is used as soon as the marker fits, and a short pointer names the handle', async () => {
    const spill = memorySpill({ clock: () => 0, random: () => 0 })
    const tool = saying('x'.repeat(5_000))
    for (const resultBudgetChars of [60, 77, 119]) {
      const result = await runOne(tool, {}, { context: { resultBudgetChars }, scope: { spill } })
      const handle = /read_result.* "(\w+)"\.?$/.exec(result.ok ? result.value : '')?.[1] ?? ''
      expect(spill.get('s', handle)).toHaveLength(5_000)
      expect(result.ok && result.value.length).toBe(resultBudgetChars)
    }
  })

  test('what a reducer left out is kept aside and named, within the budget', async () => {
    const spill = memorySpill({ clock: () => 0 })
    const tool = { ...saying('x'.repeat(5_000)), reduce: () => ({ ok: true as const, value: 'short' }) }
    const result = await runOne(tool, {}, { scope: { spill } })
    const handle = /^short\n\[all 5000 chars: read_result "(\w+)"\]$/.exec(result.ok ? result.value : '')?.[1]
    expect(spill.get('s', handle ?? '')).toBe('x'.repeat(5_000))
    const tight = await runOne(tool, {}, { context: { resultBudgetChars: 50 }, scope: { spill } })
    expect(tight.ok && tight.value).toBe('short')
  })

  test('handles of another run are different ones', () => {
    const first = memorySpill({ clock: () => 0, random: () => 0.1 })
    const second = memorySpill({ clock: () => 0, random: () => 0.2 })
    expect(second.get('s', String(first.put('s', 'text')))).toBeUndefined()
    expect(first.put('s', 'text')).not.toBe(second.put('s', 'text'))
  })

  test('a spill that hangs is given up at the deadline', async () => {
    const { runner, advance, pendingTimers } = fakeTime()
    const spill = { put: () => new Promise<string>(() => {}), get: () => undefined }
    const environment = fakeScope([saying('x'.repeat(5_000))], { spill, timeoutMs: 1_000 })
    const running = runner.execute([callOf('echo')], { sessionId: 's', resultBudgetChars: 300 }, environment)
    while (pendingTimers() === 0) await Promise.resolve()
    advance(1_000)
    const [answer] = await running
    expect(answer?.result.ok && answer.result.value).toMatch(/chars total\]$/)
  })

  test('the length in the marker is that after reducing', async () => {
    const reducers = {
      get: () => ({ toolName: 'echo', reduce: () => ({ ok: true as const, value: 'y'.repeat(300) }) }),
    }
    const result = await runOne(
      saying('x'.repeat(5_000)),
      {},
      {
        context: { resultBudgetChars: 100 },
        scope: { reducers },
      },
    )
    expect(result.ok && result.value).toContain('[truncated — 300 chars total]')
  })

  test('with a spill the whole is kept for that session, and the event names its handle', async () => {
    const spill = memorySpill({ clock: () => 0 })
    const environment = fakeScope([saying('x'.repeat(5_000))], { spill })
    const [answer] = await fakeRunner().execute(
      [callOf('echo')],
      { sessionId: 's', resultBudgetChars: 300 },
      environment,
    )
    const text = answer?.result.ok ? answer.result.value : ''
    const handle = /handle "(\w+)"/.exec(text)?.[1] ?? ''
    expect(text).toHaveLength(300)
    expect(spill.get('s', handle)).toBe('x'.repeat(5_000))
    expect(spill.get('another', handle)).toBeUndefined()
    expect(environment.events).toContainEqual({
      type: 'result-trimmed',
      sessionId: 's',
      toolCallId: 'call-1',
      name: 'echo',
      totalChars: 5_000,
      keptChars: 300,
      handle,
    })
  })

  test('a spill that fails leaves the plain marker, with an event', async () => {
    const spill = {
      put: () => Promise.reject(new Error('disk full')),
      get: () => undefined,
    }
    const environment = fakeScope([saying('x'.repeat(5_000))], { spill })
    const [answer] = await fakeRunner().execute(
      [callOf('echo')],
      { sessionId: 's', resultBudgetChars: 300 },
      environment,
    )
    expect(answer?.result.ok && answer.result.value.endsWith('\n[truncated — 5000 chars total]')).toBe(true)
    expect(environment.events).toContainEqual(
      expect.objectContaining({ type: 'call-part-failed', part: 'spill', error: 'disk full' }),
    )
  })

  test('a tool whose own limit is invalid keeps its share', async () => {
    const tool = { ...saying('x'.repeat(500)), maxResultChars: Number.NaN }
    const result = await runOne(tool, {}, { context: { resultBudgetChars: 100 } })
    expect(result.ok && result.value).toHaveLength(100)
  })
})
