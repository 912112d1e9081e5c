import { describe, expect, it } from 'vitest'
import { fakeTiming, open, tool } from './agent-fixture.ts'
import { runAgent } from './run-agent.ts'
import { scriptedModel } from './scripted-model.ts'

describe('retries', () => {
  const overloaded = (headers: Record<string, string>, status = 529) =>
    Object.assign(new Error('Overloaded'), { status, headers: new Headers(headers) })

  it('waits as long as the server says', async () => {
    const { session } = await open([])
    const timing = fakeTiming()
    const model = scriptedModel([
      overloaded({ 'retry-after': '7' }),
      overloaded({ 'retry-after-ms': '250' }, 429),
      overloaded({ 'retry-after': new Date(9000).toUTCString() }, 503),
      { text: 'at last' },
    ])
    const result = await runAgent({ model, session, messages: 'hi', timing })
    expect(result).toMatchObject({ stop: 'done', text: 'at last', iterations: 1 })
    expect(timing.slept).toEqual([7000, 250, 9000])
  })

  it('waits longer each time where the server says nothing', async () => {
    const { session } = await open([])
    const timing = fakeTiming()
    const model = scriptedModel([overloaded({}), overloaded({}), overloaded({}), { text: 'ok' }])
    await runAgent({ model, session, messages: 'hi', timing })
    expect(timing.slept).toEqual([750, 1500, 3000])
  })

  it('gives up after some times, with what was said so far', async () => {
    const { session } = await open([tool('echo')])
    const timing = fakeTiming()
    const error = overloaded({})
    const model = scriptedModel((_request, _options, index) =>
      index === 0 ? { calls: [{ name: 'echo' }] } : error,
    )
    const result = await runAgent({ model, session, messages: 'hi', timing, retry: { maxRetries: 2 } })
    expect(result).toMatchObject({ stop: 'failed', error, iterations: 2 })
    expect(result.messages).toHaveLength(3)
    expect(timing.slept).toHaveLength(2)
  })

  it('asks once where waiting does not help', async () => {
    const { session } = await open([])
    const failures = [
      overloaded({}, 401),
      overloaded({}, 400),
      overloaded({ 'x-should-retry': 'false' }, 429),
      overloaded({ 'retry-after': '86400' }, 429),
      Object.assign(overloaded({}, 429), { code: 'insufficient_quota' }),
    ]
    for (const failure of failures) {
      const timing = fakeTiming()
      const model = scriptedModel(() => failure)
      expect(await runAgent({ model, session, messages: 'hi', timing })).toMatchObject({
        stop: 'failed',
        error: failure,
      })
      expect(model.requests).toHaveLength(1)
      expect(timing.slept).toEqual([])
    }
  })
})
