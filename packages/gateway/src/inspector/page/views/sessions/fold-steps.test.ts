import { expect, test } from 'vitest'
import type { SessionStep } from '../../../record/session-record.ts'
import { foldSteps } from './fold-steps.ts'

const step = (kind: SessionStep['kind'], text: string, more: Partial<SessionStep> = {}): SessionStep => ({
  at: 1,
  turn: 1,
  kind,
  text,
  ...more,
})
const call = (name: string, more: Partial<SessionStep> = {}) =>
  step('call', '', { names: [name], ok: true, durationMs: 7, ...more })

test('a search, that it missed and the call that made it are one line', () => {
  const steps = [
    step('surface', '2 tools'),
    step('search', 'pizza', { names: [] }),
    step('miss', 'pizza'),
    call('tool_search'),
    call('mcp__files__read'),
  ]
  expect(foldSteps(steps)).toEqual([
    { step: steps[0], index: 0, isMiss: false },
    { step: { ...steps[1], durationMs: 7 }, index: 1, isMiss: true },
    { step: steps[4], index: 4, isMiss: false },
  ])
})

test('each of two searches in a turn has the time of a call', () => {
  const steps = [
    step('search', 'one', { names: ['a'] }),
    call('tool_search', { durationMs: 1 }),
    step('search', 'two', { names: ['b'] }),
    call('tool_search', { durationMs: 2 }),
  ]
  expect(foldSteps(steps).map(({ step: { text, durationMs } }) => [text, durationMs])).toEqual([
    ['one', 1],
    ['two', 2],
  ])
})

test('a failed search, one of another turn, and a name that does not exist stay', () => {
  const steps = [
    step('search', 'one'),
    call('tool_search', { ok: false }),
    call('tool_search', { turn: 2 }),
    step('miss', 'no_such_tool'),
  ]
  expect(foldSteps(steps).map(({ index }) => index)).toEqual([0, 1, 2, 3])
})
