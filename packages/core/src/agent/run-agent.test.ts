import { describe, expect, it } from 'vitest'
import { ToolRegistry } from '../tool-registry.ts'
import { fakeTiming, log, open, toldTo, tool } from './agent.fixture.ts'
import { runAgent } from './run-agent.ts'
import { scriptedModel } from './scripted-model.ts'

describe('runAgent', () => {
  it('answers without tools, in one request', async () => {
    const { session } = await open([])
    const model = scriptedModel([{ text: 'Hello you.', inputTokens: 10, outputTokens: 3 }])
    const result = await runAgent({ model, session, messages: 'Hi', system: 'Be kind.' })
    expect(result).toMatchObject({ text: 'Hello you.', stop: 'done', iterations: 1 })
    expect(result.messages).toMatchObject([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello you.' },
    ])
    expect(model.requests[0]?.messages[0]).toEqual({ role: 'system', content: 'Be kind.' })
  })

  it('runs the calls of a turn side by side and answers them in their order', async () => {
    let running = 0
    let most = 0
    const slow = (name: string) =>
      tool(name, {
        async execute() {
          most = Math.max(most, ++running)
          await new Promise((resolve) => setTimeout(resolve, 5))
          running--
          return { ok: true, value: `${name} done` }
        },
      })
    const { session } = await open([slow('first'), slow('second'), slow('third')])
    const calls = ['first', 'second', 'third'].map((name) => ({ name }))
    const model = scriptedModel([{ calls }, { text: 'all done' }])
    const result = await runAgent({ model, session, messages: 'go' })
    expect(most).toBe(3)
    expect(toldTo(model)).toEqual(['first done', 'second done', 'third done'])
    expect(result).toMatchObject({ text: 'all done', iterations: 2 })
  })

  it('shows in the next request what a search has found', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registry.syncMcp('weather', [tool('get_forecast', { description: 'The weather forecast of a city.' })])
    const session = await registry.openSession()
    const model = scriptedModel([
      { calls: [{ name: 'tool_search', args: { query: 'weather forecast' } }] },
      { calls: [{ name: 'mcp__weather__get_forecast', args: { city: 'Bern' } }] },
      { text: 'Rain.' },
    ])
    await runAgent({ model, session, messages: 'Weather in Bern?' })
    const shown = model.requests.map(({ tools = [] }) => tools.map(({ function: { name } }) => name))
    expect(shown).toEqual([
      ['tool_search'],
      ['tool_search', 'mcp__weather__get_forecast'],
      ['tool_search', 'mcp__weather__get_forecast'],
    ])
    expect(toldTo(model)[1]).toContain('Bern')
    expect(String(model.requests[0]?.messages[0]?.content)).toContain(
      '1 more tool is available behind tool_search',
    )
  })

  it('tells malformed arguments, unknown tools and doubled ids, and goes on', async () => {
    const { session } = await open([tool('echo')])
    const model = scriptedModel([
      { calls: [{ name: 'echo', args: '{"city": "Be' }] },
      { calls: [{ name: 'ehco', args: {} }] },
      {
        calls: [
          { id: 'same', name: 'echo', args: { city: 'Bern' } },
          { id: 'same', name: 'echo', args: { city: 'Thun' } },
        ],
      },
      { text: 'well' },
    ])
    const result = await runAgent({ model, session, messages: 'go' })
    expect(result).toMatchObject({ stop: 'done', text: 'well', iterations: 4 })
    const [malformed, unknown, first, second] = toldTo(model)
    expect(malformed).toContain('input_invalid')
    expect(unknown).toContain('Unknown tool: ehco')
    expect(first).toContain('Bern')
    expect(second).toContain('Thun')
    const ids = result.messages.flatMap((message) => (message.role === 'tool' ? [message.tool_call_id] : []))
    expect(new Set(ids).size).toBe(4)
  })

  it('asks again when an answer was cut off, and runs none of its calls', async () => {
    let runs = 0
    const counted = tool('count', { execute: () => ({ ok: true, value: String(++runs) }) })
    const { session } = await open([counted])
    const model = scriptedModel([
      { text: 'I will', calls: [{ name: 'count' }], stop: 'cut' },
      { calls: [{ name: 'count' }] },
      { text: 'one' },
    ])
    const timing = fakeTiming()
    const events = log()
    const result = await runAgent({ model, session, messages: 'go', timing, onEvent: events.onEvent })
    expect(runs).toBe(1)
    expect(result).toMatchObject({ stop: 'done', iterations: 2, text: 'one' })
    expect(events.of('retrying')).toHaveLength(1)
  })

  it('ends with what the model says when it refuses, and the session goes on', async () => {
    const { session } = await open([tool('echo')])
    const model = scriptedModel([{ refusal: 'I will not.' }, { text: 'That I can.' }])
    const refused = await runAgent({ model, session, messages: 'do harm' })
    expect(refused).toMatchObject({ stop: 'refused', refusal: 'I will not.' })
    const next = [...refused.messages, model.dialect.userMessage('do good')]
    expect(await runAgent({ model, session, messages: next })).toMatchObject({
      stop: 'done',
      text: 'That I can.',
    })
  })

  it('ends an answer that met the token limit', async () => {
    const { session } = await open([])
    const model = scriptedModel([{ text: 'Once upon', stop: 'length' }])
    expect(await runAgent({ model, session, messages: 'tell' })).toMatchObject({
      stop: 'length',
      text: 'Once upon',
    })
  })

  it('has a call that the token limit cut off made again', async () => {
    const { session } = await open([tool('echo')])
    const model = scriptedModel([
      { calls: [{ name: 'echo', args: { city: 'Bern' } }], stop: 'length' },
      { text: 'then not' },
    ])
    const result = await runAgent({ model, session, messages: 'go' })
    expect(toldTo(model)[0]).toContain('token limit')
    expect(result.stop).toBe('done')
  })
})

describe('cancelling', () => {
  it('keeps what the model had begun to say', async () => {
    const { session } = await open([tool('echo')])
    const controller = new AbortController()
    const model = scriptedModel((_request, { onText }) => {
      onText('It is')
      controller.abort()
      return { text: 'It is', calls: [{ name: 'echo' }], stop: 'cut' }
    })
    const result = await runAgent({ model, session, messages: 'hi', signal: controller.signal })
    expect(result).toMatchObject({ stop: 'cancelled', text: 'It is', iterations: 1 })
    // The call that had arrived is answered, so that the history can be sent again.
    expect(result.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: 'It is' },
      { role: 'tool' },
    ])
  })

  it('cancels tools that are running and answers their calls', async () => {
    const controller = new AbortController()
    const stuck = tool('stuck', {
      execute: (_input, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
          controller.abort()
        }),
    })
    const { session } = await open([stuck])
    const model = scriptedModel([{ calls: [{ name: 'stuck' }] }, { text: 'never said' }])
    const result = await runAgent({ model, session, messages: 'hi', signal: controller.signal })
    expect(result.stop).toBe('cancelled')
    expect(model.requests).toHaveLength(1)
    expect(result.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: expect.stringContaining('cancelled'),
    })
    const next = [...result.messages, model.dialect.userMessage('go on')]
    expect(await runAgent({ model, session, messages: next })).toMatchObject({
      stop: 'done',
      text: 'never said',
    })
  })

  it('asks nothing once it is cancelled', async () => {
    const { session } = await open([])
    const model = scriptedModel([])
    const result = await runAgent({ model, session, messages: 'hi', signal: AbortSignal.abort() })
    expect(result).toMatchObject({ stop: 'cancelled', iterations: 0 })
    expect(model.requests).toHaveLength(0)
  })

  it('stops waiting for a server that is overloaded', async () => {
    const { session } = await open([])
    const controller = new AbortController()
    const model = scriptedModel(() => Object.assign(new Error('busy'), { status: 503 }))
    const sleep = async () => controller.abort()
    const timing = { ...fakeTiming(), sleep }
    const result = await runAgent({ model, session, messages: 'hi', signal: controller.signal, timing })
    expect(result.stop).toBe('cancelled')
    expect(model.requests).toHaveLength(1)
  })
})

describe('the iteration limit', () => {
  /** Calls with other arguments each time: work, no circle. */
  const busy = () =>
    scriptedModel((_request, _options, index) => ({
      calls: [{ name: 'echo', args: { city: `city ${index}` } }],
    }))

  it('is 25 requests in full mode', async () => {
    const { session } = await open([tool('echo')], { mode: 'full' })
    const model = busy()
    const result = await runAgent({ model, session, messages: 'go' })
    expect(result).toMatchObject({ stop: 'limit', iterations: 25 })
    expect(model.requests).toHaveLength(25)
    expect(result.messages.at(-1)).toMatchObject({ role: 'tool' })
  })

  it('is three times that while tools are deferred', async () => {
    const { registry } = await open([tool('echo')])
    registry.syncMcp('mail', [tool('send')])
    const session = await registry.openSession({ mode: 'lazy' })
    expect(await runAgent({ model: busy(), session, messages: 'go' })).toMatchObject({
      stop: 'limit',
      iterations: 75,
    })
    // A deferred tool that is checked out took a search to find, too.
    await session.activate(['mcp__mail__send'])
    expect(await runAgent({ model: busy(), session, messages: 'go' })).toMatchObject({ iterations: 75 })
    // A limit that is given is the limit.
    expect(await runAgent({ model: busy(), session, messages: 'go', maxIterations: 4 })).toMatchObject({
      iterations: 4,
    })
  })

  it('falls back when the deferred tools are gone', async () => {
    const { registry } = await open([tool('echo')])
    registry.syncMcp('mail', [tool('send')])
    const session = await registry.openSession({ mode: 'lazy' })
    const model = scriptedModel((_request, _options, index) => {
      if (index === 30) registry.unregisterMcp('mail')
      return { calls: [{ name: 'echo', args: { city: `city ${index}` } }] }
    })
    expect(await runAgent({ model, session, messages: 'go' })).toMatchObject({ iterations: 31 })
  })
})

describe('events', () => {
  it('name the tool that was reached', async () => {
    const { registry } = await open([tool('echo')])
    const session = await registry.openSession({ mode: 'lazy', defer: 'all', strategy: 'dispatch' })
    const args = { name: 'echo', arguments: {} }
    const model = scriptedModel([{ calls: [{ name: 'call_tool', args }] }, { text: 'Done.' }])
    const named: unknown[] = []
    await runAgent({
      model,
      session,
      messages: 'go',
      onEvent: (event) => {
        if (event.type === 'calling') named.push(event.calls.map(({ name, args }) => [name, args]))
        if (event.type === 'called') named.push(event.results.map(({ name }) => name))
      },
    })
    expect(named).toEqual([[['echo', {}]], ['echo']])
  })

  it('tell a run from its first request to its end', async () => {
    const { session } = await open([tool('echo')])
    const model = scriptedModel([{ text: 'Let me see. ', calls: [{ name: 'echo' }] }, { text: 'There.' }])
    const types: string[] = []
    await runAgent({ model, session, messages: 'go', onEvent: ({ type }) => types.push(type) })
    expect(types).toEqual([
      'asking',
      'text',
      'text',
      'text',
      'replied',
      'calling',
      'called',
      'asking',
      'text',
      'replied',
      'stopped',
    ])
  })

  it('go on when a listener fails', async () => {
    const { session } = await open([])
    const onEvent = () => {
      throw new Error('listener')
    }
    expect(await runAgent({ model: scriptedModel([]), session, messages: 'go', onEvent })).toMatchObject({
      stop: 'done',
    })
  })
})
