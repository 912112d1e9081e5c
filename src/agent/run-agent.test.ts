import { describe, expect, it } from 'vitest'
import type { Tool } from '../tool.ts'
import { ToolRegistry } from '../tool-registry.ts'
import type { AgentEvent } from './agent-event.ts'
import { runAgent } from './run-agent.ts'
import { type ScriptedModel, scriptedModel } from './scripted-model.ts'
import type { Timing } from './timing.ts'

function tool(name: string, more: Partial<Tool> = {}): Tool {
  return {
    name,
    description: `Does ${name}.`,
    inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
    execute: (input) => ({ ok: true, value: `${name} ${JSON.stringify(input)}` }),
    ...more,
  }
}

async function open(tools: readonly Tool[], options: ConstructorParameters<typeof ToolRegistry>[0] = {}) {
  const registry = new ToolRegistry(options)
  registry.registerAll(tools)
  return { registry, session: await registry.openSession() }
}

/** Time that passes at once, and remembers how long it should have taken. */
function fakeTiming(): Timing & { slept: number[] } {
  const slept: number[] = []
  return {
    slept,
    now: () => 0,
    random: () => 0.5,
    sleep: async (delayMs) => {
      slept.push(delayMs)
    },
  }
}

function log() {
  const events: AgentEvent[] = []
  return {
    onEvent: (event: AgentEvent) => void events.push(event),
    of: <Type extends AgentEvent['type']>(type: Type) =>
      events.filter((event): event is Extract<AgentEvent, { type: Type }> => event.type === type),
  }
}

/** What the tools answered in the last request, as the model read it. */
function toldTo(model: ScriptedModel): string[] {
  const messages = model.requests.at(-1)?.messages ?? []
  return messages.flatMap((message) => (message.role === 'tool' ? [String(message.content)] : []))
}

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
    expect(String(model.requests[0]?.messages[0]?.content)).toContain('weather')
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
    expect(await runAgent({ model: busy(), session, messages: 'go', maxIterations: 4 })).toMatchObject({
      iterations: 12,
    })
  })

  it('falls back when the deferred tools are gone', async () => {
    const { registry } = await open([tool('echo')])
    registry.syncMcp('mail', [tool('send')])
    const session = await registry.openSession({ mode: 'lazy' })
    const model = scriptedModel((_request, _options, index) => {
      if (index === 5) registry.unregisterMcp('mail')
      return { calls: [{ name: 'echo', args: { city: `city ${index}` } }] }
    })
    expect(await runAgent({ model, session, messages: 'go', maxIterations: 4 })).toMatchObject({
      iterations: 6,
    })
  })
})

describe('the loop guard', () => {
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
    await runAgent({ model, session, messages: 'go', maxIterations: 5, onEvent: events.onEvent })
    expect(events.of('looping')).toEqual([])
    expect(model.requests).toHaveLength(15)
  })
})

describe('hooks', () => {
  it('change, answer and deny calls, those through call_tool too', async () => {
    const { registry } = await open([tool('echo'), tool('secret'), tool('clock')])
    registry.syncMcp('mail', [tool('send')])
    const session = await registry.openSession({ mode: 'lazy', strategy: 'dispatch' })
    const seen: string[] = []
    const model = scriptedModel([
      {
        calls: [
          { name: 'echo', args: { city: 'Bern' } },
          { name: 'secret' },
          { name: 'clock' },
          { name: 'call_tool', args: { name: 'mail.send', arguments: { city: 'Thun' } } },
        ],
      },
      { text: 'ok' },
    ])
    await runAgent({
      model,
      session,
      messages: 'go',
      hooks: {
        before_tool_call({ name, args, source }) {
          seen.push(`${name} ${source.kind}`)
          if (name === 'secret') return { deny: 'not today' }
          if (name === 'clock') return { result: { ok: true, value: 'noon' } }
          return { args: { ...(args as object), city: 'Basel' } }
        },
        after_tool_call: (_call, result) =>
          result.ok ? { ...result, value: `${result.value}!` } : undefined,
      },
    })
    expect(seen).toEqual(['echo builtin', 'secret builtin', 'clock builtin', 'mcp__mail__send mcp'])
    const [echo, secret, clock, send] = toldTo(model)
    expect(echo).toBe('echo {"city":"Basel"}!')
    expect(secret).toBe('Error (denied): not today')
    expect(clock).toBe('noon!')
    expect(send).toBe('send {"city":"Basel"}!')
  })

  it('deny a call when they fail', async () => {
    let runs = 0
    const { session } = await open([tool('echo', { execute: () => ({ ok: true, value: String(++runs) }) })])
    const model = scriptedModel([{ calls: [{ name: 'echo' }] }])
    const hooks = {
      before_tool_call: () => {
        throw new Error('guard is down')
      },
    }
    await runAgent({ model, session, messages: 'go', hooks })
    expect(runs).toBe(0)
    expect(toldTo(model)[0]).toContain('guard is down')
  })

  it('see each request and each answer', async () => {
    const { session } = await open([tool('echo')])
    const model = scriptedModel([{ calls: [{ name: 'echo' }], inputTokens: 40 }, { text: 'bye' }])
    const seen: unknown[] = []
    await runAgent({
      model,
      session,
      messages: 'go',
      hooks: [
        {
          before_model_call: ({ iteration, lastUsage }) =>
            void seen.push([iteration, lastUsage?.inputTokens]),
        },
        { after_model_call: ({ text, calls }) => void seen.push([text, calls.length]) },
      ],
    })
    expect(seen).toEqual([
      [1, undefined],
      ['', 1],
      [2, 40],
      ['bye', 0],
    ])
  })

  it('may shorten the history; the tools stay, and the model is told of them once', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registry.syncMcp('mail', [tool('send'), tool('list')])
    const session = await registry.openSession({ strategy: 'dispatch' })
    await session.activate(['mcp__mail__send'])
    const model = scriptedModel((_request, _options, index) =>
      index < 4
        ? {
            calls: [
              { name: 'call_tool', args: { name: 'mcp__mail__send', arguments: { city: `${index}` } } },
            ],
          }
        : {},
    )
    await runAgent({
      model,
      session,
      messages: 'a long story',
      hooks: {
        before_model_call: ({ iteration }) =>
          iteration === 3 ? [model.dialect.userMessage('the story so far')] : undefined,
      },
    })
    const notes = model.requests.map(({ messages }) =>
      messages.filter(({ role, content }) => role === 'user' && String(content).includes('still active')),
    )
    expect(notes.map(({ length }) => length)).toEqual([0, 0, 1, 1, 1])
    expect(String(notes[2]?.[0]?.content)).toContain('mcp__mail__send: {"type":"object"')
    expect(String(notes[2]?.[0]?.content)).not.toContain('mcp__mail__list')
    expect(model.requests[2]?.messages.some(({ content }) => content === 'a long story')).toBe(false)
    expect(session.isActive('mcp__mail__send')).toBe(true)
  })
})

describe('the ledger', () => {
  it('counts tokens by kind, money where prices are known, and what full mode would have taken', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registry.syncMcp(
      'mail',
      Array.from({ length: 40 }, (_, index) => tool(`tool_${index}`)),
    )
    registry.register(tool('paid', { execute: () => ({ ok: true, value: 'done', costUsd: 0.25 }) }))
    const session = await registry.openSession()
    const model = scriptedModel([
      { calls: [{ name: 'paid' }], inputTokens: 1000, outputTokens: 10 },
      { text: 'bye', inputTokens: 100, cachedInputTokens: 900, outputTokens: 20 },
    ])
    const { ledger } = await runAgent({
      model,
      session,
      messages: 'go',
      prices: { input: 10, cachedInput: 1, output: 100 },
    })
    expect(ledger).toMatchObject({
      requests: 2,
      inputTokens: 1100,
      cachedInputTokens: 900,
      outputTokens: 30,
      toolCostUsd: 0.25,
    })
    expect(ledger.costUsd).toBeCloseTo((1100 * 10 + 900 + 30 * 100) / 1e6)
    const hidden = (ledger.fullMode.inputTokens - 2000) / 2
    expect(hidden).toBeGreaterThan(500)
    expect(ledger.fullMode.costUsd).toBeCloseTo((ledger.costUsd ?? 0) + (hidden * 11) / 1e6)
  })

  it('says nothing of money without prices, and the same for full mode where nothing is deferred', async () => {
    const { session } = await open([tool('echo')], { mode: 'full' })
    const model = scriptedModel([{ text: 'bye', inputTokens: 50 }])
    const { ledger } = await runAgent({ model, session, messages: 'go' })
    expect(ledger).not.toHaveProperty('costUsd')
    expect(ledger.fullMode).toEqual({ inputTokens: 50 })
  })

  it('counts answers that were thrown away', async () => {
    const { session } = await open([])
    const model = scriptedModel([
      { text: 'half', stop: 'cut', inputTokens: 70 },
      { text: 'whole', inputTokens: 70 },
    ])
    const { ledger } = await runAgent({ model, session, messages: 'go', timing: fakeTiming() })
    expect(ledger).toMatchObject({ requests: 2, inputTokens: 140 })
  })
})

describe('events', () => {
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
