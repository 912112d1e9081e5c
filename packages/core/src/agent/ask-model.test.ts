import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { fakeTiming, open, tool } from './agent.fixture.ts'
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

  it('fails, and says why, where the response is not one', async () => {
    const { session } = await open([])
    const script = scriptedModel([])
    for (const response of [{ choices: 7 }, '<html>', null]) {
      const model = { ...script, send: async () => ({ response: response as never }) }
      const result = await runAgent({ model, session, messages: 'hi', timing: fakeTiming() })
      expect(result).toMatchObject({ stop: 'failed', iterations: 1 })
      expect(result.messages).toHaveLength(1)
    }
  })

  it.each([
    [{ message: 'upstream is busy', code: 503 }, 5],
    [{ message: 'too fast', code: 'rate_limit_exceeded' }, 5],
    [{ message: 'not a prompt', code: 'invalid_prompt' }, 1],
    [{ message: 'no such model', code: 404 }, 1],
  ])('takes an error in the body, %j, for what it says', async (error, requests) => {
    const { session } = await open([])
    let sent = 0
    const send = async () => {
      sent++
      return { response: { error } as never }
    }
    const model = { ...scriptedModel([]), send }
    const result = await runAgent({ model, session, messages: 'hi', timing: fakeTiming() })
    expect(result).toMatchObject({ stop: 'failed', error: { message: error.message } })
    expect(sent).toBe(requests)
  })

  it('tries again where nobody was reached, and not where code is wrong', async () => {
    const { session } = await open([])
    const lost = new TypeError('terminated', { cause: { code: 'UND_ERR_SOCKET' } })
    const model = scriptedModel([new TypeError('fetch failed'), lost, { text: 'ok' }])
    expect(await runAgent({ model, session, messages: 'hi', timing: fakeTiming() })).toMatchObject({
      text: 'ok',
    })
    const wrong = scriptedModel([new TypeError('x is not a function'), { text: 'ok' }])
    expect(await runAgent({ model: wrong, session, messages: 'hi', timing: fakeTiming() })).toMatchObject({
      stop: 'failed',
    })
    expect(wrong.requests).toHaveLength(1)
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

describe('the signal of a run', () => {
  it('gets back every listener, also from SDKs that leave theirs on it', async () => {
    const { session } = await open([tool('echo')])
    const script = scriptedModel((_request, _options, index) =>
      index < 12 ? { calls: [{ name: 'echo', args: { index } }] } : { text: 'done' },
    )
    const signals: AbortSignal[] = []
    const model: typeof script = {
      ...script,
      send(request, options) {
        signals.push(options.signal)
        options.signal.addEventListener('abort', () => {})
        return script.send(request, options)
      },
    }
    const controller = new AbortController()
    const result = await runAgent({ model, session, messages: 'hi', signal: controller.signal })
    expect(result).toMatchObject({ stop: 'done', iterations: 13 })
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    controller.abort()
    expect(signals.some(({ aborted }) => aborted)).toBe(false)
  })

  it('cancels the request under way', async () => {
    const { session } = await open([])
    const controller = new AbortController()
    const script = scriptedModel([])
    const model: typeof script = {
      ...script,
      send: (_request, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
          controller.abort(new Error('enough'))
        }),
    }
    const result = await runAgent({ model, session, messages: 'hi', signal: controller.signal })
    expect(result.stop).toBe('cancelled')
  })
})
