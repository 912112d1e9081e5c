import { describe, expect, it } from 'vitest'
import { defineTool } from '../authoring/define-tool.ts'
import { memoryStore } from '../store/memory-store.ts'
import type { Store } from '../store/store.ts'
import type { Tool } from '../tool.ts'
import { ToolRegistry } from '../tool-registry.ts'
import { toldTo } from './agent.fixture.ts'
import { agentTool } from './agent-tool.ts'
import type { PausedRun } from './paused-run.ts'
import { resumeAgent, runAgent } from './run-agent.ts'
import { type ScriptedTurn, scriptedModel } from './scripted-model.ts'

const wipe = (id: string, disk: string) => ({ id, name: 'wipe', args: { disk } })
const look = (id: string) => ({ id, name: 'look', args: { disk: 'x' } })

/** A session in a new process: its tools write down that they ran, and `wipe` asks before. */
async function open(
  turns: readonly ScriptedTurn[],
  more: ConstructorParameters<typeof ToolRegistry>[0] = {},
  store?: Store,
) {
  const ran: string[] = []
  const registry = new ToolRegistry({ policy: { ask: ['wipe'] }, ...more })
  const inputSchema = { type: 'object', properties: { disk: { type: 'string' } } }
  for (const name of ['wipe', 'look'])
    registry.register(
      defineTool({
        ...{ name, description: `Does ${name}.`, inputSchema },
        execute: ({ disk }: { disk: string }) => {
          ran.push(`${name} ${disk}`)
          return `${name} done`
        },
      }) as Tool,
    )
  const model = scriptedModel(turns)
  const session = await registry.openSession({ id: 'main', ...(store && { store }) })
  return { ran, model, registry, session, options: { model, session } }
}

const saved = (paused: PausedRun | undefined) => JSON.parse(JSON.stringify(paused))

describe('a run without anybody to ask', () => {
  it('stops with the calls that wait, and runs the others', async () => {
    const { ran, options } = await open([{ calls: [wipe('1', 'a'), look('2'), wipe('3', 'b')] }])
    const result = await runAgent({ ...options, messages: 'go' })
    expect(result).toMatchObject({ stop: 'approval', iterations: 1 })
    expect(result.pending).toMatchObject([
      { id: '1', tool: 'wipe', args: { disk: 'a' } },
      { id: '3', tool: 'wipe', args: { disk: 'b' } },
    ])
    expect(result.messages).toHaveLength(1)
    expect(ran).toEqual(['look x'])
  })

  it('continues here with what was granted and refused, each call once', async () => {
    const { ran, model, options } = await open([{ calls: [wipe('1', 'a'), look('2'), wipe('3', 'b')] }])
    const waiting = await runAgent({ ...options, messages: 'go' })
    const result = await waiting.resume?.({ grants: { '1': 'once', '3': 'deny' } })
    expect(result).toMatchObject({ stop: 'done', text: 'done' })
    expect(ran).toEqual(['look x', 'wipe a'])
    expect(toldTo(model)).toEqual(['wipe done', 'look done', expect.stringContaining('The user refused')])
  })

  it('continues in another process from JSON, and waits on for what is not answered', async () => {
    const first = await open([{ calls: [wipe('1', 'a'), look('2'), wipe('3', 'b')] }])
    const { paused } = await runAgent({ ...first.options, messages: 'go' })
    const second = await open([])
    const half = await resumeAgent({ ...second.options, paused: saved(paused), grants: { '1': 'once' } })
    expect(half.stop).toBe('approval')
    expect(half.pending?.map(({ id }) => id)).toEqual(['3'])
    expect(second.ran).toEqual(['wipe a'])
    const third = await open([])
    const whole = await resumeAgent({
      ...third.options,
      paused: saved(half.paused),
      grants: { '3': 'session' },
    })
    expect(whole.stop).toBe('done')
    expect(third.ran).toEqual(['wipe b'])
    expect(toldTo(third.model)).toEqual(['wipe done', 'look done', 'wipe done'])
  })

  it('asks again about arguments that a hook changed, and runs those that were granted', async () => {
    const { ran, options } = await open([{ calls: [wipe('1', 'a')] }])
    const hooks = {
      before_tool_call: ({ name }: { name: string }) =>
        name === 'wipe' ? { args: { disk: 'b' } } : undefined,
    }
    const first = await runAgent({ ...options, messages: 'go', hooks })
    const second = await first.resume?.({ grants: { '1': 'once' } })
    expect(second?.pending).toMatchObject([{ id: '1', args: { disk: 'b' } }])
    expect(ran).toEqual([])
    expect(await second?.resume?.({ grants: { '1': 'once' } })).toMatchObject({ stop: 'done' })
    expect(ran).toEqual(['wipe b'])
  })

  it('refuses answers to what does not wait, and answers that are none', async () => {
    const { options } = await open([{ calls: [wipe('call-1', 'a')] }])
    const { resume } = await runAgent({ ...options, messages: 'go' })
    await expect(resume?.({ grants: { 'call-2': 'once' } })).rejects.toThrow('did you mean "call-1"?')
    await expect(resume?.({ grants: { 'call-1': 'yes' as 'once' } })).rejects.toThrow('must be one of once')
  })
})

describe('a run that waits continues once', () => {
  const grants = { '1': 'once' } as const

  it('here', async () => {
    const { ran, options } = await open([{ calls: [wipe('1', 'a')] }])
    const waiting = await runAgent({ ...options, messages: 'go' })
    // A fault in the answers uses nothing.
    await expect(waiting.resume?.({ grants: { '2': 'once' } })).rejects.toThrow('no call "2" waits')
    expect(await waiting.resume?.({ grants })).toMatchObject({ stop: 'done' })
    await expect(waiting.resume?.({ grants })).rejects.toThrow('this run was continued before')
    expect(ran).toEqual(['wipe a'])
  })

  it('in whichever processes share the store of its session, also if several try at once', async () => {
    const store = memoryStore()
    const first = await open([{ calls: [wipe('1', 'a')] }], {}, store)
    const { paused } = await runAgent({ ...first.options, messages: 'go' })
    const others = await Promise.all([1, 2, 3].map(() => open([], {}, store)))
    const resumed = await Promise.allSettled(
      others.map(({ options }) => resumeAgent({ ...options, paused: saved(paused), grants })),
    )
    expect(resumed.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected'])
    expect(others.flatMap(({ ran }) => ran)).toEqual(['wipe a'])
  })
})

it('a run with onAsk asks there, and does not stop', async () => {
  const { ran, options } = await open([{ calls: [wipe('1', 'a')] }], { onAsk: () => 'once' })
  expect(await runAgent({ ...options, messages: 'go' })).toMatchObject({ stop: 'done' })
  expect(ran).toEqual(['wipe a'])
})

describe('asks of sub-agents', () => {
  const agents = [{ name: 'cleaner', description: 'Cleans.', prompt: '' }]
  const delegate = { id: '7', name: 'agent', args: { agent: 'cleaner', task: 'clean up' } }

  it('reach the top, which resumes them where they were, in another process too', async () => {
    const turns = [{ calls: [delegate, look('8')] }]
    const first = await open([])
    const script = scriptedModel((_request, _options, index) =>
      index === 0 ? (turns[0] ?? {}) : index === 1 ? { calls: [wipe('7', 'a')] } : { text: 'never' },
    )
    first.registry.register(agentTool({ agents, model: script, session: first.session }) as Tool)
    const top = await runAgent({ model: script, session: first.session, messages: 'go' })
    expect(top.stop).toBe('approval')
    expect(top.pending).toMatchObject([{ id: '7/7', tool: 'wipe', args: { disk: 'a' } }])
    expect(first.ran).toEqual(['look x'])

    const second = await open([])
    const answers = scriptedModel((_request, _options, index) => ({
      text: index === 0 ? 'all clean' : 'thanks',
    }))
    second.registry.register(agentTool({ agents, model: answers, session: second.session }) as Tool)
    const done = await resumeAgent({
      ...{ model: answers, session: second.session },
      ...{ paused: saved(top.paused), grants: { '7/7': 'once' } },
    })
    expect(done).toMatchObject({ stop: 'done', text: 'thanks' })
    expect(second.ran).toEqual(['wipe a'])
    expect(toldTo(answers)).toEqual(['all clean', 'look done'])
  })

  it('are refused where nobody can make the call again', async () => {
    const { ran, session, registry } = await open([])
    const model = scriptedModel([{ calls: [wipe('1', 'a')] }, { text: 'could not' }])
    registry.register(agentTool({ agents, model, session }) as Tool)
    const [result] = await session.execute([{ toolCallId: '7', name: 'agent', args: delegate.args }])
    expect(result?.result).toMatchObject({ ok: true, value: 'could not' })
    expect(toldTo(model).join()).toContain("needs a person's approval")
    expect(ran).toEqual([])
  })
})
