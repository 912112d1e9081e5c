import { type Content, FinishReason } from '@google/genai'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type GeminiRequest, type GeminiResponse, gemini } from '../dialects/gemini.ts'
import type { CallResult, ToolCall } from '../tool.ts'
import { log, open, toldTo, tool } from './agent.fixture.ts'
import { LoopGuard } from './loop-guard.ts'
import type { Model } from './model.ts'
import { runAgent } from './run-agent.ts'
import { type ScriptedModel, scriptedModel } from './scripted-model.ts'

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

describe('a run under the loop guard', () => {
  const stubborn = (call: { name: string; args?: object }) => scriptedModel(() => ({ calls: [call] }))
  const notes = (model: ScriptedModel) =>
    (model.requests.at(-1)?.messages ?? []).flatMap((message) =>
      message.role === 'user' && String(message.content).startsWith('Note:') ? [String(message.content)] : [],
    )

  it('nudges, then takes the tools away for a turn', async () => {
    const { session } = await open([tool('echo')])
    const mayCall: boolean[] = []
    const model = scriptedModel((_request, options) => {
      mayCall.push(options.mayCall)
      return options.mayCall ? { calls: [{ name: 'echo', args: { city: 'Bern' } }] } : { text: 'I am stuck.' }
    })
    const events = log()
    const result = await runAgent({ model, session, messages: 'go', onEvent: events.onEvent })
    expect(result).toMatchObject({ stop: 'done', text: 'I am stuck.', iterations: 6 })
    expect(mayCall).toEqual([true, true, true, true, true, false])
    expect(events.of('looping')).toMatchObject([
      { answer: 'nudge', name: 'echo', times: 3 },
      { answer: 'withhold', name: 'echo', times: 5 },
    ])
    expect(notes(model)).toHaveLength(2)
    // The tools stay in the request, so that its prefix is the same.
    expect(model.requests.at(-1)?.tools).toEqual(model.requests[0]?.tools)
  })

  it('does not run what is called while the tools are away, and gives them back', async () => {
    let runs = 0
    const { session } = await open([
      tool('echo', { execute: () => ({ ok: true, value: 'same', n: ++runs }) }),
    ])
    const model = stubborn({ name: 'echo' })
    await runAgent({ model, session, messages: 'go', maxIterations: 8 })
    expect(runs).toBe(7)
    expect(toldTo(model)[5]).toContain('not run')
  })

  it('notices a circle of several calls', async () => {
    const { session } = await open([tool('left'), tool('right')])
    const model = scriptedModel((_request, _options, index) => ({
      calls: [{ name: index % 2 ? 'left' : 'right' }],
    }))
    const events = log()
    await runAgent({ model, session, messages: 'go', maxIterations: 9, onEvent: events.onEvent })
    expect(events.of('looping').map(({ answer }) => answer)).toEqual(['nudge', 'nudge', 'withhold'])
  })

  it('notices the same error for ever other arguments', async () => {
    const broken = tool('broken', {
      execute: () => ({ ok: false, code: 'execution_failed', error: 'no disk' }),
    })
    const { session } = await open([broken])
    const model = scriptedModel((_request, _options, index) => ({
      calls: [{ name: 'broken', args: { city: `${index}` } }],
    }))
    const events = log()
    await runAgent({ model, session, messages: 'go', maxIterations: 4, onEvent: events.onEvent })
    expect(events.of('looping')).toMatchObject([{ answer: 'nudge', name: 'broken' }])
  })

  it('notices a model whose calls never come out right, and lets it answer in words', async () => {
    const { session } = await open([tool('echo')])
    const dialect = gemini()
    const send: Model<Content, GeminiRequest, GeminiResponse>['send'] = async (_request, { mayCall }) => {
      const finishReason = mayCall ? FinishReason.MALFORMED_FUNCTION_CALL : FinishReason.STOP
      const content = { role: 'model', parts: [{ text: mayCall ? 'I call.' : 'I cannot.' }] }
      return { response: { candidates: [{ finishReason, content }] } }
    }
    const events = log()
    const model = { id: 'test', dialect, send }
    const result = await runAgent({ model, session, messages: 'go', onEvent: events.onEvent })
    expect(result).toMatchObject({ stop: 'done', text: 'I cannot.', iterations: 6 })
    expect(events.of('looping').map(({ answer: told }) => told)).toEqual(['nudge', 'withhold'])
  })

  it('lets a model ask until the answer changes', async () => {
    let progress = 0
    const { session } = await open([
      tool('status', { execute: () => ({ ok: true, value: `${++progress} %` }) }),
    ])
    const events = log()
    await runAgent({ model: stubborn({ name: 'status' }), session, messages: 'go', onEvent: events.onEvent })
    expect(events.of('looping')).toEqual([])
  })

  it.each(['append', 'dispatch'] as const)('never counts searching, under %s', async (strategy) => {
    const { registry } = await open([])
    registry.syncMcp('mail', [tool('send')])
    const session = await registry.openSession({ mode: 'lazy', strategy })
    const search = { name: 'tool_search', args: { query: 'nothing like it' } }
    const wrapped = { name: 'call_tool', args: { name: 'tool_search', arguments: search.args } }
    const events = log()
    const model = stubborn(strategy === 'dispatch' ? wrapped : search)
    await runAgent({ model, session, messages: 'go', maxIterations: 15, onEvent: events.onEvent })
    expect(events.of('looping')).toEqual([])
    expect(model.requests).toHaveLength(15)
  })
})
