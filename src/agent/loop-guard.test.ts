import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CallResult, ToolCall } from '../tool.ts'
import { LoopGuard } from './loop-guard.ts'

const call = (name: string, args: unknown, toolCallId = '1'): ToolCall => ({ toolCallId, name, args })
const answer = (value: string, toolCallId = '1'): CallResult => ({
  toolCallId,
  name: 'x',
  result: { ok: true, value },
  durationMs: 0,
})

describe('the loop guard', () => {
  it('has nothing against work, however long, in which no answer comes twice', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('read', 'write', 'list'), { maxLength: 60 }), (names) => {
        const guard = new LoopGuard()
        const findings = names.map((name, index) => guard.note([call(name, { index })], [answer(`${index}`)]))
        expect(findings.every((finding) => finding === undefined)).toBe(true)
      }),
    )
  })

  it('finds every step that comes back in each turn, whatever runs beside it', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { minLength: 5, maxLength: 10 }), (others) => {
        const guard = new LoopGuard()
        const findings = others.map((other, index) =>
          guard.note(
            [call('stuck', { same: true }, 'a'), call('other', { other, index }, 'b')],
            [answer('no', 'a'), answer(`${index}`, 'b')],
          ),
        )
        expect(findings[2]).toEqual({ answer: 'nudge', name: 'stuck', times: 3 })
        expect(findings[4]).toEqual({ answer: 'withhold', name: 'stuck', times: 5 })
      }),
    )
  })

  it('takes arguments for the same in whatever order their keys stand', () => {
    const guard = new LoopGuard({ nudgeAfter: 2 })
    guard.note([call('read', { a: 1, b: 2 })], [answer('x')])
    expect(guard.note([call('read', { b: 2, a: 1 })], [answer('x')])).toMatchObject({ answer: 'nudge' })
  })

  it('counts a call once a turn, and forgets what is long past', () => {
    const guard = new LoopGuard({ window: 4 })
    const many = ['1', '2', '3', '4'].map((id) => call('read', {}, id))
    expect(
      guard.note(
        many,
        many.map(({ toolCallId }) => answer('x', toolCallId)),
      ),
    ).toBeUndefined()
    for (let turn = 0; turn < 10; turn++) {
      // Every third turn: never three times within four.
      const finding = turn % 3 === 2 ? guard.note([call('read', {})], [answer('x')]) : guard.note([], [])
      expect(finding).toBeUndefined()
    }
  })

  it('can be turned off', () => {
    const guard = new LoopGuard({ nudgeAfter: 0 })
    for (let turn = 0; turn < 20; turn++)
      expect(guard.note([call('read', {})], [answer('x')])).toBeUndefined()
  })
})
