import { describe, expect, it } from 'vitest'
import { ToolRegistry } from '../tool-registry.ts'
import { fakeTiming, log, open, tool } from './agent.fixture.ts'
import { type AgentToolOptions, agentTool } from './agent-tool.ts'
import { Ledger } from './ledger.ts'
import { runAgent } from './run-agent.ts'
import { type ScriptedModel, type ScriptedTurn, scriptedModel } from './scripted-model.ts'

const prices = { input: 1, cachedInput: 1, output: 1 }
const worker = { name: 'worker', description: 'Works.', prompt: 'Work.' }
const delegate = { name: 'agent', args: { agent: 'worker', task: 'go on' } }

/** A session whose model may call an agent; `more` are options of the agent tool. */
async function openWithAgent(model: ScriptedModel, more: Partial<AgentToolOptions> = {}) {
  const registry = new ToolRegistry()
  registry.register(tool('paid', { execute: () => ({ ok: true, value: 'done', costUsd: 0.25 }) }))
  const session = await registry.openSession()
  registry.register(agentTool({ agents: [worker], model, session, ...more }))
  return session
}

/** An agent that calls an agent that pays for a tool; 100, 1000 and 10000 tokens by depth. */
const DEEP: readonly ScriptedTurn[] = [
  { calls: [delegate], inputTokens: 100 },
  { calls: [delegate], inputTokens: 1000 },
  { calls: [{ name: 'paid' }], inputTokens: 10_000 },
  { text: 'inner report', inputTokens: 10_000 },
  { text: 'outer report', inputTokens: 1000 },
  { text: 'all done', inputTokens: 100 },
]

describe('one ledger for a run and everything below it', () => {
  it('counts requests, tokens, money and tools two agents deep, with prices given to runAgent alone', async () => {
    const model = scriptedModel(DEEP)
    const session = await openWithAgent(model)
    const { ledger, text } = await runAgent({ model, session, messages: 'go', prices })
    expect(text).toBe('all done')
    expect(ledger).toMatchObject({ requests: 6, unpriced: 0, inputTokens: 22_200, toolCostUsd: 0.25 })
    expect(ledger.costUsd).toBeCloseTo(22_200 / 1e6)
  })

  it('counts once into a ledger that the host gave to both, and into one given to either', async () => {
    for (const [ofRun, ofTool] of [
      [true, true],
      [true, false],
      [false, true],
    ]) {
      const model = scriptedModel(DEEP)
      const ledger = new Ledger()
      const session = await openWithAgent(model, ofTool ? { ledger } : {})
      const result = await runAgent({ model, session, messages: 'go', prices, ...(ofRun ? { ledger } : {}) })
      expect(result.ledger).toMatchObject({ requests: 6, inputTokens: 22_200, toolCostUsd: 0.25 })
      // The host's own holds what the runs spent that it was given to.
      expect(ledger.totals()).toMatchObject({ requests: ofRun ? 6 : 4, toolCostUsd: 0.25 })
    }
  })

  it('tells in each report what the agent and those below it spent', async () => {
    const model = scriptedModel(DEEP)
    const session = await openWithAgent(model)
    const { onEvent, of } = log()
    await runAgent({ model, session, messages: 'go', prices, onEvent })
    const [report] = of('called')[0]?.results ?? []
    expect(report?.result).toMatchObject({ structured: { ledger: { requests: 4, inputTokens: 22_000 } } })
    expect(report?.result).not.toHaveProperty('costUsd')
  })

  it('leaves the cost in the result where no run counts it', async () => {
    const model = scriptedModel([{ text: 'report', inputTokens: 1000 }])
    const session = await openWithAgent(model, { prices })
    const [answer] = await session.execute([{ toolCallId: '1', ...delegate }])
    expect(answer?.result).toMatchObject({ ok: true, costUsd: 1000 / 1e6 })
  })

  it('says how many requests had no known price, and keeps the cost of the others', async () => {
    const small = { ...scriptedModel([{ text: 'report', inputTokens: 5000 }]), id: 'small' }
    const model = scriptedModel([
      { calls: [delegate], inputTokens: 100 },
      { text: 'ok', inputTokens: 100 },
    ])
    const agents = [{ ...worker, model: 'small' }]
    const session = await openWithAgent(model, { agents, models: () => small })
    const { ledger } = await runAgent({ model, session, messages: 'go', prices })
    expect(ledger).toMatchObject({ requests: 3, unpriced: 1, inputTokens: 5200 })
    expect(ledger.costUsd).toBeCloseTo(200 / 1e6)
  })

  it('finds the price of each model by its id', async () => {
    const small = { ...scriptedModel([{ text: 'report', inputTokens: 5000 }]), id: 'small' }
    const model = scriptedModel([
      { calls: [delegate], inputTokens: 100 },
      { text: 'ok', inputTokens: 100 },
    ])
    const agents = [{ ...worker, model: 'small' }]
    const session = await openWithAgent(model, { agents, models: () => small })
    const { ledger } = await runAgent({
      model,
      session,
      messages: 'go',
      prices: (id) => (id === 'small' ? { input: 0.1, cachedInput: 0.1, output: 0.1 } : prices),
    })
    expect(ledger.unpriced).toBe(0)
    expect(ledger.costUsd).toBeCloseTo((200 + 500) / 1e6)
  })

  it('takes plain prices of agentTool for its own model, not for those that agents name', async () => {
    const small = { ...scriptedModel([{ text: 'report', inputTokens: 5000 }]), id: 'small' }
    const model = scriptedModel([{ calls: [delegate] }])
    const agents = [{ ...worker, model: 'small' }]
    const session = await openWithAgent(model, { agents, models: () => small, prices })
    const { ledger } = await runAgent({ model, session, messages: 'go', prices })
    expect(ledger.unpriced).toBe(1)
  })

  it('counts forks that a host makes itself while a call runs, and no later ones', async () => {
    const model = scriptedModel([
      { calls: [{ name: 'ask' }], inputTokens: 10 },
      { text: 'ok', inputTokens: 10 },
    ])
    const helper = scriptedModel([{ text: 'report', inputTokens: 500 }])
    const registry = new ToolRegistry()
    const session = await registry.openSession()
    registry.register(
      tool('ask', {
        async execute() {
          const { text } = await runAgent({ model: helper, session: session.fork(), messages: 'help' })
          return { ok: true, value: text }
        },
      }),
    )
    const { ledger } = await runAgent({ model, session, messages: 'go' })
    expect(ledger).toMatchObject({ requests: 3, inputTokens: 520 })
    expect(session.fork().meters).toEqual([])
  })
})

describe('limits on spending', () => {
  /** Calls with other arguments each time: work, not a loop. */
  const busy = (turn: ScriptedTurn) =>
    scriptedModel((_request, _options, index) => ({
      text: `step ${index}`,
      calls: [{ name: 'echo', args: { city: `city ${index}` } }],
      ...turn,
    }))

  it.each([
    ['maxTokens', { maxTokens: 3000 }, 3],
    ['maxCostUsd', { maxCostUsd: 0.0025, prices }, 3],
  ] as const)(
    'end a run by %s, with a history that goes on from there',
    async (limit, options, iterations) => {
      const { session } = await open([tool('echo')], { mode: 'full' })
      const model = busy({ inputTokens: 400, cachedInputTokens: 300, outputTokens: 300 })
      const { onEvent, of } = log()
      const result = await runAgent({ model, session, messages: 'go', onEvent, ...options })
      expect(result).toMatchObject({ stop: 'limit', limit, iterations, text: 'step 2' })
      expect(of('stopped')).toMatchObject([{ stop: 'limit', limit }])
      expect(result.messages.at(-1)).toMatchObject({ role: 'tool' })
      const next = await runAgent({ model, session, messages: result.messages, ...options })
      expect(next).toMatchObject({ stop: 'limit', iterations })
      expect(model.requests[3]?.messages).toEqual(result.messages)
    },
  )

  it('say which limit it was when the iterations are used up', async () => {
    const { session } = await open([tool('echo')], { mode: 'full' })
    const result = await runAgent({ model: busy({}), session, messages: 'go', maxIterations: 2 })
    expect(result).toMatchObject({ stop: 'limit', limit: 'maxIterations' })
  })

  it('let a run that has answered be done', async () => {
    const { session } = await open([])
    const model = scriptedModel([{ text: 'Hi.', inputTokens: 5000 }])
    const result = await runAgent({ model, session, messages: 'go', maxTokens: 100 })
    expect(result).toMatchObject({ stop: 'done', text: 'Hi.' })
    expect(result).not.toHaveProperty('limit')
  })

  it('count what tools cost', async () => {
    const paid = tool('echo', { execute: () => ({ ok: true, value: 'x', costUsd: 0.4 }) })
    const { session } = await open([paid])
    const result = await runAgent({ model: busy({}), session, messages: 'go', maxCostUsd: 1, prices })
    expect(result).toMatchObject({ stop: 'limit', limit: 'maxCostUsd', iterations: 3 })
  })

  it('apply to everything below a run: the agents stop, and then the run', async () => {
    const model = scriptedModel((_request, _options, index) =>
      index < 2
        ? { calls: [delegate], inputTokens: 1 }
        : { text: `${index}`, calls: [{ name: 'paid', args: { index } }], inputTokens: 100 },
    )
    const session = await openWithAgent(model)
    const { onEvent, of } = log()
    const result = await runAgent({ model, session, messages: 'go', maxTokens: 500, onEvent })
    expect(result).toMatchObject({ stop: 'limit', limit: 'maxTokens', iterations: 1 })
    expect(result.ledger.inputTokens).toBe(502)
    const [report] = of('called')[0]?.results ?? []
    expect(report?.result).toMatchObject({
      ok: false,
      error: expect.stringContaining('the spending limit maxTokens is used up'),
      structured: { stop: 'limit', limit: 'maxTokens' },
    })
  })

  it('of agentTool end one agent, and its caller goes on', async () => {
    const model = scriptedModel((_request, _options, index) =>
      index === 0
        ? { calls: [delegate] }
        : index < 4
          ? { text: 'at it', calls: [{ name: 'paid', args: { index } }], inputTokens: 100 }
          : { text: 'without it' },
    )
    const session = await openWithAgent(model, { maxTokens: 300 })
    const result = await runAgent({ model, session, messages: 'go' })
    expect(result).toMatchObject({ stop: 'done', text: 'without it', iterations: 2 })
  })

  it('of a ledger hold over several runs', async () => {
    const { session } = await open([])
    const ledger = new Ledger({ maxTokens: 250 })
    const model = scriptedModel(() => ({ text: 'ok', inputTokens: 100 }))
    const stops: string[] = []
    for (let run = 0; run < 4; run++)
      stops.push((await runAgent({ model, session, messages: 'go', ledger })).stop)
    expect(stops).toEqual(['done', 'done', 'done', 'limit'])
  })

  it('end the retries of an answer that is cut again and again', async () => {
    const { session } = await open([])
    const model = scriptedModel(() => ({ text: 'half', stop: 'cut', inputTokens: 100 }))
    const result = await runAgent({
      model,
      session,
      messages: 'go',
      maxTokens: 200,
      timing: fakeTiming(),
    })
    expect(result).toMatchObject({ stop: 'limit', limit: 'maxTokens' })
    expect(model.requests).toHaveLength(2)
  })

  it('hold by an estimate where a server reports no usage', async () => {
    const { session } = await open([tool('echo')], { mode: 'full' })
    const result = await runAgent({
      model: busy({}),
      session,
      messages: 'word '.repeat(1000),
      maxTokens: 2500,
    })
    expect(result).toMatchObject({ stop: 'limit', limit: 'maxTokens', iterations: 3 })
    const free = await runAgent({ model: busy({}), session, messages: 'go', maxIterations: 1 })
    expect(free.ledger.inputTokens).toBe(0)
  })

  it('on money need a price, for the run and for each agent below it', async () => {
    const { session } = await open([])
    const model = scriptedModel([])
    await expect(runAgent({ model, session, messages: 'go', maxCostUsd: 1 })).rejects.toMatchObject({
      code: 'config-invalid',
      message: expect.stringContaining('no price is known for the model "scripted"'),
    })
    const small = { ...scriptedModel([]), id: 'small' }
    const caller = scriptedModel([{ calls: [delegate] }])
    const agents = [{ ...worker, model: 'small' }]
    const withAgent = await openWithAgent(caller, { agents, models: () => small })
    const { onEvent, of } = log()
    await runAgent({ model: caller, session: withAgent, messages: 'go', maxCostUsd: 1, prices, onEvent })
    expect(small.requests).toHaveLength(0)
    expect(of('called')[0]?.results[0]?.result).toMatchObject({
      ok: false,
      error: expect.stringContaining('no price is known for the model "small"'),
    })
  })
})
