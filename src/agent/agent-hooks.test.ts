import { describe, expect, it } from 'vitest'
import { ToolRegistry } from '../tool-registry.ts'
import { log, open, toldTo, tool } from './agent-fixture.ts'
import { runAgent } from './run-agent.ts'
import { scriptedModel } from './scripted-model.ts'

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

/** A run that sends four mails, one a turn, with a tool that is active. */
async function mailRun() {
  const registry = new ToolRegistry({ mode: 'lazy' })
  registry.syncMcp('mail', [tool('send'), tool('list')])
  const session = await registry.openSession({ strategy: 'dispatch' })
  await session.activate(['mcp__mail__send'])
  const model = scriptedModel((_request, _options, index) => {
    const args = { name: 'mcp__mail__send', arguments: { city: `${index}` } }
    return index < 4 ? { calls: [{ name: 'call_tool', args }] } : { text: 'sent' }
  })
  type Options = Partial<Parameters<typeof runAgent<ChatMessage, ChatRequest, ChatResponse>>[0]>
  const run = (options: Options) => runAgent({ model, session, messages: 'go', ...options })
  return { model, run }
}

type ChatModel = ReturnType<typeof scriptedModel>
type ChatMessage = ReturnType<ChatModel['dialect']['userMessage']>
type ChatRequest = ReturnType<ChatModel['dialect']['toRequest']>
type ChatResponse = Parameters<ChatModel['dialect']['toReply']>[0]
