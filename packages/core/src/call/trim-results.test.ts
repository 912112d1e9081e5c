import { describe, expect, test } from 'vitest'
import type { Tool, ToolResult } from '../tool.ts'
import {
  callOf,
  entryOf,
  type FakeOverrides,
  fakeRunner,
  fakeScope,
  fakeTime,
  fakeTool,
} from './fake-scope.fixture.ts'
import type { Spill } from './spill.ts'

/** A spill that keeps what it is given under h1, h2, … */
function keeping(handle: (count: number) => unknown = (count) => `h${count}`) {
  const kept: [string, string][] = []
  const spill: Spill = {
    put(sessionId, text) {
      kept.push([sessionId, text])
      return handle(kept.length) as string
    },
    get: () => undefined,
  }
  return { spill, kept }
}

const returning = (result: ToolResult, more: Partial<Tool> = {}) =>
  fakeTool({ execute: () => result, ...more })
const long = (chars: number, more: Partial<Tool> = {}) =>
  returning({ ok: true, value: 'x'.repeat(chars) }, more)

/** Runs one call and returns its text and the events about it. */
async function run(tool: Tool, resultBudgetChars: number, overrides: FakeOverrides = {}) {
  const scope = fakeScope([tool], overrides)
  const [answer] = await fakeRunner().execute([callOf('echo')], { sessionId: 's', resultBudgetChars }, scope)
  if (!answer) throw new Error('no answer')
  const { result } = answer
  const events = scope.events.filter(({ type }) => type === 'result-trimmed' || type === 'call-part-failed')
  return { answer, text: result.ok ? result.value : result.error, events }
}

describe('a tool’s own limit', () => {
  test.each([
    [100, 100],
    [99.9, 99],
    [0, 0],
    [5, 5],
    [-1, 1_000],
    [Number.NaN, 1_000],
    [Number.POSITIVE_INFINITY, 1_000],
    ['100', 1_000],
  ])('of %s leaves %i of 1,000 characters', async (maxResultChars, expected) => {
    const { text } = await run(long(5_000, { maxResultChars: maxResultChars as number }), 1_000)
    expect(text).toHaveLength(expected)
  })

  test('larger than the result changes nothing', async () => {
    const { text, events } = await run(long(50, { maxResultChars: 100 }), 1_000)
    expect([text, events]).toEqual(['x'.repeat(50), []])
  })

  test('that throws when it is read counts for nothing', async () => {
    let reads = 0
    const tool = Object.defineProperty(long(5_000), 'maxResultChars', {
      get: () => {
        // Read once for the tool's context; what the budget reads after it throws.
        if (++reads > 1) throw new Error('boom')
        return 10
      },
    })
    expect((await run(tool, 1_000)).text).toHaveLength(1_000)
  })
})

describe('a result that is cut', () => {
  test('keeps everything but its text, and the answer names the call', async () => {
    const { answer, events } = await run(
      returning({ ok: false, code: 'c', error: 'e'.repeat(500), structured: [1] }),
      100,
    )
    expect(answer).toEqual({
      toolCallId: 'call-1',
      name: 'echo',
      result: {
        ok: false,
        code: 'c',
        error: `${'e'.repeat(70)}\n[truncated — 500 chars total]`,
        structured: [1],
      },
      durationMs: 0,
    })
    expect(events).toEqual([
      {
        type: 'result-trimmed',
        sessionId: 's',
        toolCallId: 'call-1',
        name: 'echo',
        totalChars: 500,
        keptChars: 100,
      },
    ])
  })

  test('of exactly the limit is not cut', async () => {
    expect((await run(long(100), 100)).events).toEqual([])
    expect((await run(long(101), 100)).events).toHaveLength(1)
  })

  test('is kept aside whole, once there is room to say so', async () => {
    const marker = '\n[truncated — 5000 chars total]'
    const roomy = keeping()
    const { text, events } = await run(long(5_000), marker.length, { spill: roomy.spill })
    expect(text).toBe(marker)
    expect(roomy.kept).toEqual([['s', 'x'.repeat(5_000)]])
    expect(events).toMatchObject([{ type: 'result-trimmed', handle: 'h1', keptChars: marker.length }])
    const tight = keeping()
    expect((await run(long(5_000), marker.length - 1, { spill: tight.spill })).text).toBe(
      'x'.repeat(marker.length - 1),
    )
    expect(tight.kept).toEqual([])
  })

  test('says how to read the rest: at length, in short, or not at all, as there is room', async () => {
    const marker = '\n[truncated — 5000 chars total]'
    const wordy = `${marker} Read the rest with read_result, handle "h1".`
    const short = `${marker} read_result "h1"`
    for (const [budget, ending] of [
      [wordy.length + 5, wordy],
      [wordy.length, wordy],
      [wordy.length - 1, short],
      [short.length, short],
      [short.length - 1, marker],
    ] as const) {
      const { text } = await run(long(5_000), budget, { spill: keeping().spill })
      expect(text).toBe('x'.repeat(budget - ending.length) + ending)
    }
  })

  test('is never one of a meta-tool, and may be one of no tool at all', async () => {
    const tool = long(500)
    const entry = entryOf(tool, { isSelfLimiting: true })
    expect((await run(tool, 100, { resolve: () => ({ entry, args: {} }) })).text).toHaveLength(500)
    const { text, events } = await run(long(5), 20, { resolve: () => undefined })
    expect(text).toBe('Unknown tool: echo.'.slice(0, 20))
    expect(events).toEqual([])
    expect((await run(long(5), 10, { resolve: () => undefined })).text).toBe('Unknown to')
  })

  test('points to what is kept only where it can be read', async () => {
    const { spill, kept } = keeping()
    const { text } = await run(long(5_000), 300, { spill, canReadResults: false })
    expect(text).toMatch(/chars total\]$/)
    expect(kept).toEqual([])
  })

  test.each([undefined, 7, null, {}])('names no handle when the spill returns %s', async (handle) => {
    const { spill } = keeping(() => handle)
    const { text, events } = await run(long(5_000), 300, { spill })
    expect(text).toMatch(/x\n\[truncated — 5000 chars total\]$/)
    expect(events).toHaveLength(1)
    expect(events[0]).not.toHaveProperty('handle')
  })
})

describe('what a reducer left out', () => {
  const reduced = (before: number, after: number, more: Partial<Tool> = {}) =>
    long(before, { reduce: () => ({ ok: true as const, value: 'y'.repeat(after) }), ...more })

  test('is kept aside from 1,000 characters on, and named', async () => {
    for (const [before, isKept] of [
      [1_099, false],
      [1_100, true],
    ] as const) {
      const { spill, kept } = keeping()
      const { text, events } = await run(reduced(before, 100), 5_000, { spill })
      expect(text).toBe(isKept ? `${'y'.repeat(100)}\n[all 1100 chars: read_result "h1"]` : 'y'.repeat(100))
      expect(kept).toEqual(isKept ? [['s', 'x'.repeat(1_100)]] : [])
      expect(events).toEqual([])
    }
  })

  test('needs 80 characters beside the text, or it is left as it is', async () => {
    for (const [budget, isKept] of [
      [180, true],
      [179, false],
    ] as const) {
      const { spill, kept } = keeping()
      const { text } = await run(reduced(5_000, 100), budget, { spill })
      expect(text.startsWith('y'.repeat(100))).toBe(true)
      expect(text.length > 100).toBe(isKept)
      expect(kept).toHaveLength(isKept ? 1 : 0)
    }
  })

  test('is named by a handle that just fits', async () => {
    const room = 80 - '\n[all 5000 chars: read_result ""]'.length
    const fitting = keeping(() => 'h'.repeat(room))
    expect((await run(reduced(5_000, 100), 180, { spill: fitting.spill })).text).toHaveLength(180)
    const tooLong = keeping(() => 'h'.repeat(room + 1))
    expect((await run(reduced(5_000, 100), 180, { spill: tooLong.spill })).text).toHaveLength(100)
  })

  test('is not named by a handle that has no room', async () => {
    const { spill } = keeping(() => 'h'.repeat(200))
    expect((await run(reduced(5_000, 100), 200, { spill })).text).toBe('y'.repeat(100))
  })

  test('is not named without a handle, without a spill, or where it cannot be read', async () => {
    expect((await run(reduced(5_000, 100), 1_000, { spill: keeping(() => undefined).spill })).text).toBe(
      'y'.repeat(100),
    )
    expect((await run(reduced(5_000, 100), 1_000)).text).toBe('y'.repeat(100))
    const { spill, kept } = keeping()
    await run(reduced(5_000, 100), 1_000, { spill, canReadResults: false })
    expect(kept).toEqual([])
  })

  test('asks the budget for the room its pointer takes', async () => {
    const { spill } = keeping()
    const tools = [
      reduced(5_000, 100, { name: 'reduced' }),
      long(5_000, { name: 'long', execute: () => ({ ok: true, value: 'z'.repeat(5_000) }) }),
    ]
    const scope = fakeScope(tools, { spill })
    const answers = await fakeRunner().execute(
      [callOf('reduced'), callOf('long')],
      { sessionId: 's', resultBudgetChars: 400 },
      scope,
    )
    const texts = answers.map(({ result }) => (result.ok ? result.value : result.error))
    expect(texts[0]).toContain('read_result "h1"')
    expect(texts[1]).toHaveLength(220)
  })

  test('is kept as well when even the reduced text is cut', async () => {
    const { spill, kept } = keeping()
    const { text } = await run(reduced(5_000, 2_000), 300, { spill })
    expect(text).toContain('[truncated — 2000 chars total]')
    expect(kept).toEqual([['s', 'x'.repeat(5_000)]])
  })
})

describe('a spill that fails', () => {
  test.each<[string, () => never | Promise<never>, string]>([
    [
      'by throwing',
      () => {
        throw new Error('disk full')
      },
      'disk full',
    ],
    ['by rejecting', () => Promise.reject(new Error('disk full')), 'disk full'],
  ])('%s is an event, and the text is cut all the same', async (_, put, error) => {
    const { text, events } = await run(long(5_000), 300, { spill: { put, get: () => undefined } })
    expect(text).toHaveLength(300)
    expect(events).toEqual([
      {
        type: 'call-part-failed',
        sessionId: 's',
        toolCallId: 'call-1',
        name: 'echo',
        part: 'spill',
        error,
      },
      expect.objectContaining({ type: 'result-trimmed', keptChars: 300 }),
    ])
  })

  test('by hanging is given up at the deadline, or when the batch is cancelled', async () => {
    const spill: Spill = { put: () => new Promise<string>(() => {}), get: () => undefined }
    for (const ending of ['timeout', 'cancelled'] as const) {
      const { runner, advance, pendingTimers } = fakeTime()
      const scope = fakeScope([long(5_000)], { spill, timeoutMs: 1_000 })
      const controller = new AbortController()
      const running = runner.execute(
        [callOf('echo')],
        { sessionId: 's', resultBudgetChars: 300, signal: controller.signal },
        scope,
      )
      while (pendingTimers() === 0) await Promise.resolve()
      if (ending === 'timeout') advance(1_000)
      else controller.abort()
      const [answer] = await running
      expect(answer?.result.ok && answer.result.value).toMatch(/chars total\]$/)
      expect(scope.events).toContainEqual(
        expect.objectContaining({ type: 'call-part-failed', part: 'spill', error: ending }),
      )
    }
  })
})
