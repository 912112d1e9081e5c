import { describe, expect, it } from 'vitest'
import { anthropic } from '../dialects/anthropic.ts'
import { openaiChat } from '../dialects/openai-chat.ts'
import type { Session } from '../session/session.ts'
import type { Tool } from '../tool.ts'
import { ToolRegistry } from '../tool-registry.ts'
import type { AgentDefinition } from './agent-definition.ts'
import { type AgentToolOptions, agentTool } from './agent-tool.ts'
import { Ledger } from './ledger.ts'
import { runAgent } from './run-agent.ts'
import { type ScriptedTurn, scriptedModel } from './scripted-model.ts'

const tool = (name: string, more: Partial<Tool> = {}): Tool => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object', properties: {} },
  execute: () => ({ ok: true, value: `${name} done` }),
  ...more,
})

const researcher: AgentDefinition = {
  name: 'researcher',
  description: 'Looks things up.',
  prompt: 'Look it up.',
}

interface Setup extends Partial<AgentToolOptions> {
  readonly agents: readonly AgentDefinition[]
}

/** A session whose model may call agents; `say` answers for the agents. */
async function open(setup: Setup, say: (names: readonly string[], index: number) => ScriptedTurn) {
  const registry = new ToolRegistry({ mode: 'lazy' })
  registry.syncMcp('mail', [tool('send'), tool('list')])
  registry.syncMcp('files', [tool('read'), tool('write')])
  const session = await registry.openSession()
  await session.activate(['mcp__mail__send'])
  const model = scriptedModel(({ tools = [] }, _options, index) =>
    say(
      tools.map(({ function: { name } }) => name),
      index,
    ),
  )
  registry.register(agentTool({ model, session, ...setup }))
  return { registry, session, model }
}

async function callAgent(session: Session, agent: string, options: { signal?: AbortSignal } = {}) {
  const [answer] = await session.execute(
    [{ toolCallId: '1', name: 'agent', args: { agent, task: 'Find it.' } }],
    options,
  )
  if (!answer) throw new Error('no answer')
  return answer.result
}

describe('the agent tool', () => {
  it('is shown with the agents it knows', async () => {
    const { session } = await open({ agents: [researcher] }, () => ({ text: 'x' }))
    const shown = session.surface().tools.find(({ name }) => name === 'agent')
    expect(shown?.description).toContain('- researcher: Looks things up.')
    expect(JSON.stringify(shown?.parameters)).toContain('"enum":["researcher"]')
  })

  it('answers with the report of the agent, which saw its prompt and its task alone', async () => {
    const { session, model } = await open({ agents: [researcher] }, () => ({ text: 'Found it.' }))
    expect(await callAgent(session, 'researcher')).toMatchObject({
      ok: true,
      value: 'Found it.',
      structured: { agent: 'researcher', stop: 'done', iterations: 1 },
    })
    const [system, task, ...others] = model.requests[0]?.messages ?? []
    expect(String(system?.content)).toMatch(/^Look it up\./)
    expect(task).toEqual({ role: 'user', content: 'Find it.' })
    expect(others).toEqual([])
  })

  it('refuses an agent that is not there', async () => {
    const { session } = await open({ agents: [researcher] }, () => ({}))
    expect(await callAgent(session, 'poet')).toMatchObject({ ok: false, code: 'input_invalid' })
  })

  it.each(['', '  \n'])('refuses the empty task %j, and asks no model', async (task) => {
    const { session, model } = await open({ agents: [researcher] }, () => ({}))
    const args = { agent: 'researcher', task }
    const [answer] = await session.execute([{ toolCallId: '1', name: 'agent', args }])
    expect(answer?.result).toMatchObject({
      ok: false,
      code: 'input_invalid',
      error: expect.stringContaining('the task is empty'),
    })
    expect(model.requests).toHaveLength(0)
  })

  it('starts with what its caller has active, and keeps what it finds to itself', async () => {
    const seen: (readonly string[])[] = []
    const { session } = await open({ agents: [researcher] }, (names, index) => {
      seen.push(names)
      return index === 0
        ? { calls: [{ name: 'tool_search', args: { name: 'mcp__files__read' } }] }
        : { text: 'ok' }
    })
    await callAgent(session, 'researcher')
    expect(seen[0]).toContain('mcp__mail__send')
    expect(seen[1]).toContain('mcp__files__read')
    expect(session.isActive('mcp__files__read')).toBe(false)
  })

  it.each([
    ['dispatch', openaiChat(), 'Call them through call_tool. Their parameters:\n- mcp__mail__send: {'],
    ['native', anthropic(), 'load its definition with tool_search. What they do:\n- mcp__mail__send: Does'],
  ] as const)('reads under %s what it starts with, before its task', async (strategy, dialect, told) => {
    const { registry, model } = await open({ agents: [researcher] }, () => ({ text: 'ok' }))
    registry.unregister('agent')
    const parent = await registry.openSession({ strategy, dialect })
    registry.register(agentTool({ model, session: parent, agents: [researcher] }))
    await parent.activate(['mcp__mail__send'])
    await callAgent(parent, 'researcher')
    const task = String(model.requests[0]?.messages.at(-1)?.content)
    expect(task).toMatch(/^These tools are active from the start: mcp__mail__send\./)
    expect(task).toContain(told)
    expect(task.endsWith('\n\nFind it.')).toBe(true)
  })

  it('grows its surface in the way of its own model', async () => {
    const { registry, model } = await open({ agents: [researcher] }, () => ({ text: 'ok' }))
    registry.unregister('agent')
    const parent = await registry.openSession({ dialect: anthropic() })
    registry.register(agentTool({ model, session: parent, agents: [researcher] }))
    expect(parent.surface().strategy).toBe('native')
    await callAgent(parent, 'researcher')
    const names = (model.requests[0]?.tools ?? []).map(({ function: { name } }) => name)
    expect(names).toContain('call_tool')
    expect(names).not.toContain('mcp__mail__send')
  })

  it('starts with nothing active when its definition says so', async () => {
    const seen: (readonly string[])[] = []
    const agents = [{ ...researcher, inheritActiveMcp: false }]
    const { session } = await open({ agents }, (names) => {
      seen.push(names)
      return { text: 'ok' }
    })
    await callAgent(session, 'researcher')
    expect(seen[0]).toContain('tool_search')
    expect(seen[0]).not.toContain('mcp__mail__send')
  })

  it('uses its allowlist and nothing else, whatever its caller has', async () => {
    const told: string[] = []
    const agents = [{ ...researcher, tools: ['mcp__files__*'] }]
    const { session, model } = await open({ agents }, (names, index) => {
      if (index === 0) expect(names).not.toContain('mcp__mail__send')
      return index === 0
        ? { calls: [{ name: 'mcp__mail__send' }, { name: 'mcp__files__read' }] }
        : { text: 'ok' }
    })
    await callAgent(session, 'researcher')
    for (const message of model.requests[1]?.messages ?? [])
      if (message.role === 'tool') told.push(String(message.content))
    expect(told[0]).toContain('not permitted')
    expect(told[1]).toBe('read done')
  })

  it('lets agents call agents, so deep and no deeper', async () => {
    const { session, model } = await open({ agents: [researcher], maxDepth: 2 }, (_names, index) =>
      // The third request is the second agent's, after it was refused an agent of its own.
      index < 2
        ? { calls: [{ name: 'agent', args: { agent: 'researcher', task: 'deeper' } }] }
        : { text: `report ${index}` },
    )
    expect(await callAgent(session, 'researcher')).toMatchObject({ ok: true, value: 'report 3' })
    const refused = model.requests[2]?.messages.find(({ role }) => role === 'tool')
    expect(String(refused?.content)).toContain('2 deep at most')
  })

  it('runs agents side by side', async () => {
    let waiting = 0
    let open_ = () => {}
    const both = new Promise<void>((resolve) => {
      open_ = resolve
    })
    const registry = new ToolRegistry()
    const session = await registry.openSession()
    const model = scriptedModel(async () => {
      if (++waiting === 2) open_()
      await both
      return { text: 'ok' }
    })
    registry.register(agentTool({ agents: [researcher], model, session }))
    const args = { agent: 'researcher', task: 'x' }
    const results = await session.execute([
      { toolCallId: '1', name: 'agent', args },
      { toolCallId: '2', name: 'agent', args },
    ])
    expect(results.map(({ result }) => result.ok)).toEqual([true, true])
  })

  it('has places for the agents that agents call, however many call at once', async () => {
    const { session } = await open({ agents: [researcher], maxConcurrent: 2 }, (_names, index) =>
      // The first two requests are those of the outer agents; the inner ones work while these wait.
      index < 2
        ? { calls: [{ name: 'agent', args: { agent: 'researcher', task: 'deeper' } }] }
        : { text: 'report' },
    )
    const args = { agent: 'researcher', task: 'x' }
    const results = await session.execute([
      { toolCallId: '1', name: 'agent', args },
      { toolCallId: '2', name: 'agent', args },
    ])
    expect(results.map(({ result }) => result.ok)).toEqual([true, true])
  })

  it('lets so many work at once, and the others afterwards', async () => {
    const registry = new ToolRegistry()
    const session = await registry.openSession()
    let working = 0
    let most = 0
    const model = scriptedModel(async () => {
      most = Math.max(most, ++working)
      await Promise.resolve()
      working--
      return { text: 'ok' }
    })
    registry.register(agentTool({ agents: [researcher], model, session, maxConcurrent: 2 }))
    const args = { agent: 'researcher', task: 'x' }
    const calls = ['1', '2', '3', '4', '5'].map((toolCallId) => ({ toolCallId, name: 'agent', args }))
    const results = await session.execute(calls)
    expect(results.map(({ result }) => result.ok)).toEqual([true, true, true, true, true])
    expect(most).toBe(2)
  })

  it('keeps its report within the budget of the call', async () => {
    const { session } = await open({ agents: [researcher] }, () => ({ text: 'word '.repeat(5000) }))
    const calls = [{ toolCallId: '1', name: 'agent', args: { agent: 'researcher', task: 'x' } }]
    const [answer] = await session.execute(calls, { resultBudgetChars: 500 })
    expect(answer?.result).toMatchObject({ ok: true })
    if (answer?.result.ok) expect(answer.result.value.length).toBeLessThanOrEqual(500)
  })

  it('is cancelled with its caller', async () => {
    const controller = new AbortController()
    const { session } = await open({ agents: [researcher] }, () => {
      controller.abort()
      return { text: 'half', stop: 'cut' }
    })
    expect(await callAgent(session, 'researcher', { signal: controller.signal })).toMatchObject({
      ok: false,
      code: 'cancelled',
    })
  })

  it('tells when an agent did not finish, refused or failed', async () => {
    const work = await open({ agents: [researcher], maxIterations: 1 }, (_names, index) => ({
      text: 'still at it',
      calls: [{ name: 'mcp__mail__send', args: { n: index } }],
    }))
    expect(await callAgent(work.session, 'researcher')).toMatchObject({
      ok: false,
      error: expect.stringContaining('It last said: still at it'),
    })
    const refusal = await open({ agents: [researcher] }, () => ({ refusal: 'no' }))
    expect(await callAgent(refusal.session, 'researcher')).toMatchObject({
      ok: false,
      error: expect.stringContaining('refused the task: no'),
    })
    const model = scriptedModel([Object.assign(new Error('bad key'), { status: 401 })])
    const failed = await open({ agents: [researcher], model }, () => ({}))
    expect(await callAgent(failed.session, 'researcher')).toMatchObject({
      ok: false,
      error: expect.stringContaining('bad key'),
    })
  })

  it('runs on the model its definition names', async () => {
    const small = scriptedModel([{ text: 'from the small one' }])
    const agents = [{ ...researcher, model: 'small' }]
    const { session } = await open(
      { agents, models: (name) => (name === 'small' ? small : undefined) },
      () => ({}),
    )
    expect(await callAgent(session, 'researcher')).toMatchObject({ value: 'from the small one' })
  })

  it('refuses definitions that cannot work, before anything runs', async () => {
    const registry = new ToolRegistry()
    const session = await registry.openSession()
    const model = scriptedModel([])
    const make = (agents: readonly AgentDefinition[]) => () => agentTool({ agents, model, session })
    expect(make([])).toThrow(/at least one agent/)
    expect(make([researcher, { ...researcher }])).toThrow(/two agents "researcher"/)
    expect(make([{ ...researcher, model: 'huge' }])).toThrow(/names the unknown model "huge"/)
  })

  it('serves many sessions of one host, and none that is not its own', async () => {
    const registry = new ToolRegistry()
    const sessions = new Map<string, Session>()
    const model = scriptedModel(() => ({ text: 'ok' }))
    registry.register(agentTool({ agents: [researcher], model, session: (id) => sessions.get(id) }))
    const known = await registry.openSession({ id: 'known' })
    sessions.set('known', known)
    expect(await callAgent(known, 'researcher')).toMatchObject({ ok: true })
    const stranger = await registry.openSession({ id: 'stranger' })
    expect(await callAgent(stranger, 'researcher')).toMatchObject({ ok: false, code: 'not_available' })
  })

  it('counts into the ledger of its caller, once', async () => {
    const registry = new ToolRegistry()
    const session = await registry.openSession()
    const ledger = new Ledger()
    const prices = { input: 1, cachedInput: 1, output: 1 }
    const model = scriptedModel([
      { calls: [{ name: 'agent', args: { agent: 'researcher', task: 'x' } }], inputTokens: 100 },
      { text: 'report', inputTokens: 1000 },
      { text: 'all done', inputTokens: 200 },
    ])
    registry.register(agentTool({ agents: [researcher], model, session, ledger, prices }))
    const result = await runAgent({ model, session, messages: 'go', ledger, prices })
    expect(result).toMatchObject({ text: 'all done', iterations: 2 })
    expect(result.ledger).toMatchObject({ requests: 3, inputTokens: 1300, toolCostUsd: 0 })
    expect(result.ledger.costUsd).toBeCloseTo(1300 / 1e6)
  })
})
