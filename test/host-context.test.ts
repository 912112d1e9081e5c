import { type AskRequest, defineTool, type HookedCall, type ToolContext, ToolRegistry } from 'toolcrib'
import { agentTool, parseAgent, runAgent, scriptedModel } from 'toolcrib/agent'
import { memoryStore } from 'toolcrib/stores'
import { describe, expect, it } from 'vitest'

interface Host {
  readonly tenant: string
}

const ADA: Host = { tenant: 'ada' }
const BOB: Host = { tenant: 'bob' }
const call = (name = 'who', args: unknown = {}) => [{ toolCallId: '1', name, args }]

function registryOf(options: ConstructorParameters<typeof ToolRegistry>[0] = {}) {
  const registry = new ToolRegistry(options)
  const who = defineTool({
    name: 'who',
    title: 'Who am I',
    description: 'Tells for whom it runs.',
    inputSchema: { type: 'object' },
    annotations: { readOnlyHint: true },
    cacheTtlMs: 60_000,
    execute: (_, { context }: ToolContext<Host | undefined>) => context?.tenant ?? 'nobody',
  })
  registry.register(who)
  return registry
}

const answerOf = ([answer]: readonly { readonly result: object }[]) =>
  answer && 'value' in answer.result ? answer.result.value : answer?.result

describe("the host's context", () => {
  it('is that of the call, else of the session, else of the registry', async () => {
    const registry = registryOf({ context: { tenant: 'house' } })
    const run = async (context?: Host) =>
      answerOf(await registry.executeParallel(call(), { sessionId: 's', ...(context ? { context } : {}) }))
    expect(await run()).toBe('house')
    expect(await run(ADA)).toBe('ada')
    const session = await registry.openSession({ context: ADA })
    expect(answerOf(await session.execute(call()))).toBe('ada')
    expect(answerOf(await session.execute(call(), { context: BOB }))).toBe('bob')
    expect(answerOf(await (await registry.openSession()).execute(call()))).toBe('house')
  })

  it('keeps cached results of one from another', async () => {
    const registry = registryOf()
    const run = async (context: unknown) =>
      answerOf(await registry.executeParallel(call(), { sessionId: 's', context }))
    expect([await run(ADA), await run(BOB), await run(ADA), await run(undefined)]).toEqual([
      'ada',
      'bob',
      'ada',
      'nobody',
    ])
  })

  it('reaches hooks, with what is known of the tool, backends and who is asked', async () => {
    const seen: unknown[] = []
    const registry = registryOf({
      context: ADA,
      policy: { ask: ['reader'] },
      hooks: {
        before_tool_call: ({ context, title, annotations, source }: HookedCall<Host>) => {
          seen.push({ tenant: context.tenant, title, annotations, source })
        },
        after_tool_call: ({ context }: HookedCall<Host>, result) => {
          seen.push(context.tenant)
          return result
        },
      },
      capabilities: {
        secrets: {
          open: (_, { context }) => {
            seen.push(['backend', context])
            return { get: () => 'x' } as never
          },
        },
      },
      onAsk: ({ context }: AskRequest<Host>) => {
        seen.push(['asked for', context.tenant])
        return 'once'
      },
    })
    registry.register({
      name: 'reader',
      description: 'Reads.',
      inputSchema: { type: 'object' },
      capabilities: { secrets: ['KEY'] },
      execute: () => 'read',
    })
    await registry.executeParallel(call(), { sessionId: 's' })
    expect(seen.splice(0)).toEqual([
      {
        tenant: 'ada',
        title: 'Who am I',
        annotations: { readOnlyHint: true },
        source: { kind: 'builtin' },
      },
      'ada',
    ])
    expect(answerOf(await registry.executeParallel(call('reader'), { sessionId: 's' }))).toBe('read')
    expect(seen).toEqual([
      ['asked for', 'ada'],
      expect.objectContaining({ tenant: 'ada' }),
      ['backend', ADA],
      'ada',
    ])
  })

  it('reaches forks: that of the calls under way, else of the parent', async () => {
    const registry = registryOf()
    const session = await registry.openSession({ context: ADA })
    const fork = session.fork()
    expect(answerOf(await fork.execute(call()))).toBe('ada')
    const model = scriptedModel([
      { calls: [{ name: 'agent', args: { agent: 'worker', task: 'Who?' } }] },
      { calls: [{ name: 'who', args: {} }] },
      { text: 'Done.' },
      { text: 'All done.' },
    ])
    const worker = parseAgent('---\nname: worker\ndescription: Works.\n---\nWork well.')
    registry.register(agentTool({ agents: [worker], model, session }))
    const ran: unknown[] = []
    const hooks = {
      before_model_call: ({ context }: { readonly context: unknown }) => {
        ran.push(context)
      },
      after_tool_call: ({ name }: HookedCall, result: object) => {
        if (name === 'who') ran.push(result)
        return result
      },
    }
    await runAgent({ model, session, messages: 'Go.', context: BOB, hooks })
    expect(ran).toEqual([BOB, expect.objectContaining({ value: 'bob' }), BOB])
  })

  it('is neither saved nor sent', async () => {
    const store = memoryStore()
    const session = await registryOf({ mode: 'lazy', defer: 'all' }).openSession({
      id: 'c',
      store,
      context: { tenant: 'secret-tenant' },
    })
    await session.activate(['who'])
    const model = scriptedModel([{ text: 'Hello.' }])
    await runAgent({ model, session, messages: 'Hi.' })
    await session.close()
    const saved = await Promise.all(
      ['session:c', 'since:c', 'sent:c', 'shown:c'].map((key) => store.get(key)),
    )
    expect(JSON.stringify([session, saved, model.requests])).not.toContain('secret-tenant')
    expect(JSON.stringify(saved)).toContain('who')
  })
})
