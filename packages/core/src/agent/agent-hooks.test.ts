import { describe, expect, it } from 'vitest'
import type { HookedCall } from '../call/call-scope.ts'
import { ToolRegistry } from '../tool-registry.ts'
import { log, open, toldTo, tool } from './agent.fixture.ts'
import type { AgentOptions } from './agent-options.ts'
import { type AgentToolOptions, agentTool } from './agent-tool.ts'
import { runAgent } from './run-agent.ts'
import { type ScriptedModel, scriptedModel } from './scripted-model.ts'

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

  it('end the run when one around model calls throws, with the history kept', async () => {
    for (const name of ['before_model_call', 'after_model_call'] as const) {
      const { session } = await open([tool('echo')])
      const model = scriptedModel([{ calls: [{ name: 'echo' }] }, { text: 'bye' }])
      let times = 0
      const hook = () => {
        if (++times === 2) throw new Error('the hook broke')
      }
      const events: string[] = []
      const onEvent = ({ type }: { type: string }) => void events.push(type)
      const result = await runAgent({ model, session, messages: 'go', hooks: { [name]: hook }, onEvent })
      expect(result).toMatchObject({ stop: 'failed', error: { message: 'the hook broke' }, iterations: 2 })
      expect(result.messages.length).toBeGreaterThan(1)
      expect(events.at(-1)).toBe('stopped')
      const count = events.length
      await runAgent({ model, session, messages: 'again' })
      expect(events).toHaveLength(count)
    }
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

  it('may shorten the history; the tools stay, and one message names them to the model, once', async () => {
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

  it.each([
    ['a copy of the list', (messages: readonly object[]) => [...messages]],
    ['copies of the messages', (messages: readonly object[]) => structuredClone(messages)],
    [
      'one message more',
      (messages: readonly object[]) => [{ role: 'user', content: 'By the way.' }, ...messages],
    ],
  ])('may answer with %s, which shortens nothing', async (_name, change) => {
    const { model, run } = await mailRun()
    const { of, onEvent } = log()
    const result = await run({
      onEvent,
      hooks: { before_model_call: ({ messages }) => change(messages as object[]) as typeof messages },
    })
    expect(result.stop).toBe('done')
    expect(of('compacted')).toEqual([])
    expect(JSON.stringify(model.requests.at(-1))).not.toContain('still active')
  })

  it('may shorten it before every request, and the model is still told once', async () => {
    const { model, run } = await mailRun()
    const { of, onEvent } = log()
    await run({
      onEvent,
      // Answers are made shorter as they grow old; the note is not touched.
      hooks: {
        before_model_call: ({ messages, iteration }) =>
          messages.map((message) =>
            message.role === 'tool' ? { ...message, content: `old by ${iteration}` } : message,
          ),
      },
    })
    expect(of('compacted').length).toBeGreaterThan(1)
    const told = JSON.stringify(model.requests.at(-1)).split('still active').length - 1
    expect(told).toBe(1)
  })
})

describe('hooks of a run and its sub-agents', () => {
  const worker = { name: 'worker', description: 'Works.', prompt: 'Work.' }
  const delegate = { name: 'agent', args: { agent: 'worker', task: 'go on' } }

  /** A session whose model calls an agent, which calls an agent, which calls `echo` and `drop`. */
  async function openDeep(more: Partial<AgentToolOptions> = {}, strategy: 'append' | 'dispatch' = 'append') {
    const dropped: unknown[] = []
    const drop = tool('drop', { execute: () => ({ ok: true, value: String(dropped.push('!')) }) })
    const registry = new ToolRegistry({ mode: 'lazy' })
    registry.register(tool('echo'))
    registry.syncMcp('db', [drop])
    const session = await registry.openSession({ strategy })
    const dropCall =
      strategy === 'append'
        ? { name: 'mcp__db__drop' }
        : { name: 'call_tool', args: { name: 'mcp__db__drop', arguments: {} } }
    const model = scriptedModel([
      { calls: [delegate] },
      { calls: [delegate] },
      { calls: [{ name: 'echo' }, dropCall] },
    ])
    registry.register(agentTool({ agents: [worker], model, session, ...more }))
    return { model, session, dropped }
  }

  const guard = (seen: string[]) => ({
    before_tool_call({ name, sessionId }: HookedCall) {
      seen.push(`${name} ${sessionId.split('/').length - 1} deep`)
      return name === 'mcp__db__drop' ? { deny: 'nothing is dropped' } : undefined
    },
  })
  const EVERY_CALL = ['agent 0 deep', 'agent 1 deep', 'echo 2 deep', 'mcp__db__drop 2 deep']

  it.each(['append', 'dispatch'] as const)('deny a tool two agents deep, under %s', async (strategy) => {
    const { model, session, dropped } = await openDeep({}, strategy)
    const seen: string[] = []
    const result = await runAgent({ model, session, messages: 'go', hooks: guard(seen) })
    expect(result.stop).toBe('done')
    expect(dropped).toEqual([])
    const told = model.requests[3]?.messages.flatMap(({ role, content }) =>
      role === 'tool' ? [content] : [],
    )
    expect(told).toEqual(['echo {}', 'Error (denied): nothing is dropped'])
    expect(seen).toEqual(EVERY_CALL)
  })

  it('run once around each call, also when the sub-agents were given the same hook', async () => {
    const seen: string[] = []
    const after: string[] = []
    const hooks = { ...guard(seen), after_tool_call: ({ name }: HookedCall) => void after.push(name) }
    const { model, session } = await openDeep({ hooks })
    await runAgent({ model, session, messages: 'go', hooks })
    expect(seen).toEqual(EVERY_CALL)
    // A call that was denied has no result to look at.
    expect(after).toEqual(['echo', 'agent', 'agent'])
  })

  it('of an agent do not apply to its caller', async () => {
    const seen: string[] = []
    const { model, session } = await openDeep({ hooks: guard(seen) })
    await runAgent({ model, session, messages: 'go' })
    expect(seen).toEqual(EVERY_CALL.slice(1))
  })
})

/** A run that sends four mails, one per turn, with a tool that is active. */
async function mailRun() {
  const registry = new ToolRegistry({ mode: 'lazy' })
  registry.syncMcp('mail', [tool('send'), tool('list')])
  const session = await registry.openSession({ strategy: 'dispatch' })
  await session.activate(['mcp__mail__send'])
  const model = scriptedModel((_request, _options, index) => {
    const args = { name: 'mcp__mail__send', arguments: { city: `${index}` } }
    return index < 4 ? { calls: [{ name: 'call_tool', args }] } : { text: 'sent' }
  })
  const run = (options: Partial<AgentOptions<ScriptedModel>>) =>
    runAgent({ model, session, messages: 'go', ...options })
  return { model, run }
}
