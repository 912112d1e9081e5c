import { describe, expect, test } from 'vitest'
import { defineTool } from './authoring/define-tool.ts'
import type { AskAnswer, AskHandler, AskRequest } from './call/ask.ts'
import type { ToolcribEvent } from './events.ts'
import type { Policy } from './registry/policy.ts'
import type { Tool } from './tool.ts'
import { ToolRegistry } from './tool-registry.ts'

/** A registry with tools that count how often they ran. */
function workshop(onAsk?: AskHandler, ask: Policy['ask'] = ['delete_*']) {
  const ran: string[] = []
  let now = 0
  const events: ToolcribEvent[] = []
  const tool = (name: string, overrides: Partial<Tool> = {}) =>
    defineTool({
      name,
      description: `Does ${name}.`,
      inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      execute: ({ id }: { id: string }) => {
        ran.push(`${name} ${id}`)
        return 'done'
      },
      ...(overrides as object),
    }) as Tool
  const registry = new ToolRegistry({
    policy: { ask },
    clock: () => now,
    onEvent: (event) => void events.push(event),
    ...(onAsk ? { onAsk } : {}),
  })
  registry.register(tool('delete_file'))
  registry.register(tool('read_file', { annotations: { readOnlyHint: true } }))
  registry.register(tool('drop', { annotations: { destructiveHint: true } }))
  const call = (name: string, id = 'a', toolCallId = name) => ({ toolCallId, name, args: { id } })
  return {
    registry,
    ran,
    events,
    call,
    tool,
    sleep: (ms: number) => {
      now += ms
    },
  }
}

/** A handler that answers from a list, and keeps what it was asked. */
function person(...answers: (AskAnswer | readonly AskAnswer[])[]) {
  const asked: AskRequest[] = []
  const onAsk: AskHandler = async (request) => {
    asked.push(request)
    return answers.shift() ?? 'deny'
  }
  return { asked, onAsk }
}

describe('a policy that asks', () => {
  test('denies without a person to ask, and runs nothing', async () => {
    const { registry, ran, call } = workshop()
    const session = await registry.openSession()
    const [denied, read] = await session.execute([call('delete_file'), call('read_file')])
    expect(denied?.result).toMatchObject({
      code: 'denied',
      error: expect.stringMatching(/"delete_file" needs a person's approval: .*Nothing was run/),
    })
    expect(read?.result).toMatchObject({ ok: true })
    expect(ran).toEqual(['read_file a'])
  })

  test('asks once about a whole batch, with what will run', async () => {
    const { asked, onAsk } = person(['once', 'deny'])
    const { registry, ran, events, call } = workshop(onAsk)
    const session = await registry.openSession({ id: 's' })
    const calls = [call('delete_file', 'a', '1'), call('read_file', 'b', '2'), call('delete_file', 'c', '3')]
    const results = await session.execute(calls)
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject({
      sessionId: 's',
      calls: [
        { toolCallId: '1', tool: 'delete_file', source: { kind: 'builtin' }, args: { id: 'a' } },
        { toolCallId: '3', args: { id: 'c' } },
      ],
    })
    expect(asked[0]?.calls[0]?.digest).toMatch(/^[0-9a-f]{64}$/)
    expect(ran.sort()).toEqual(['delete_file a', 'read_file b'])
    expect(results[2]?.result).toMatchObject({
      code: 'denied',
      error: 'The user refused "delete_file". Nothing was run; do not try another way.',
    })
    const told = events.flatMap((event) => (event.type === 'call-decided' ? [event.answer] : []))
    expect(told).toEqual(['once', 'deny'])
  })

  test('validates first, so that nobody is asked about a call that cannot run', async () => {
    const { asked, onAsk } = person('once')
    const { registry } = workshop(onAsk)
    const session = await registry.openSession()
    const [result] = await session.execute([{ toolCallId: '1', name: 'delete_file', args: {} }])
    expect(result?.result).toMatchObject({ code: 'input_invalid' })
    expect(asked).toHaveLength(0)
  })

  test.each([
    ['once', 2],
    ['session', 1],
    ['always', 1],
  ] as const)('an answer of %s is asked for %d times in two calls', async (answer, times) => {
    const { asked, onAsk } = person(answer, answer)
    const { registry, ran, call } = workshop(onAsk)
    const session = await registry.openSession()
    await session.execute([call('delete_file', 'a')])
    await session.execute([call('delete_file', 'b')])
    expect(asked).toHaveLength(times)
    expect(ran).toHaveLength(2)
  })

  test('a grant for the session ends an hour after its last use, and is for that session and tool', async () => {
    const { asked, onAsk } = person('session')
    const { registry, ran, call, sleep } = workshop(onAsk, ['delete_*', 'drop'])
    const session = await registry.openSession()
    const minute = 60_000
    await session.execute([call('delete_file', 'a')])
    sleep(50 * minute)
    await session.execute([call('delete_file', 'b')])
    sleep(50 * minute)
    await session.execute([call('delete_file', 'c')])
    expect(ran).toHaveLength(3)
    await session.execute([call('drop')])
    await (await registry.openSession()).execute([call('delete_file', 'd')])
    sleep(61 * minute)
    await session.execute([call('delete_file', 'e')])
    expect(ran).toHaveLength(3)
    expect(asked).toHaveLength(4)
  })

  test('a changed definition is asked about again', async () => {
    const { asked, onAsk } = person('always', 'always')
    const { registry, call, tool } = workshop(onAsk)
    const session = await registry.openSession()
    await session.execute([call('delete_file')])
    registry.register(tool('delete_file', { description: 'Deletes everything.' }), { replace: true })
    await session.execute([call('delete_file')])
    expect(asked).toHaveLength(2)
  })

  test('destructive, changes and writes are kinds of tools', async () => {
    for (const [ask, tools] of [
      ['destructive', ['drop']],
      ['changes', ['delete_file', 'drop', 'update_page']],
      ['writes', ['delete_file', 'drop', 'get_page', 'update_page', 'weather']],
      [
        ['destructive', 'Delete-File'],
        ['delete_file', 'drop'],
      ],
    ] as const) {
      const { asked, onAsk } = person()
      const { registry, call, tool } = workshop(onAsk, ask)
      const session = await registry.openSession()
      const unsaid = ['get_page', 'update_page', 'weather']
      for (const name of unsaid) registry.register(tool(name))
      await session.execute(['delete_file', 'read_file', 'drop', ...unsaid].map((name) => call(name)))
      expect(asked.flatMap(({ calls }) => calls.map(({ tool }) => tool))).toEqual(tools)
    }
  })

  test('asks again about arguments that a hook changed', async () => {
    const { asked, onAsk } = person('once', 'deny')
    const { registry, ran, call } = workshop(onAsk)
    const session = await registry.openSession()
    const hooks = { before_tool_call: () => ({ args: { id: 'everything' } }) }
    const [result] = await session.execute([call('delete_file', 'a')], { hooks })
    expect(asked.map(({ calls }) => calls[0]?.args)).toEqual([{ id: 'a' }, { id: 'everything' }])
    expect(result?.result).toMatchObject({ code: 'denied' })
    expect(ran).toEqual([])
  })

  test('a call through call_tool is asked about as the tool it reaches, and a search is not', async () => {
    const { asked, onAsk } = person('once')
    const { registry, ran } = workshop(onAsk, ['*'])
    const session = await registry.openSession({ mode: 'lazy', defer: 'all', strategy: 'dispatch' })
    await session.execute([{ toolCallId: '1', name: 'tool_search', args: { query: 'delete a file' } }])
    const args = { name: 'delete_file', arguments: { id: 'a' } }
    await session.execute([{ toolCallId: '2', name: 'call_tool', args }])
    expect(asked.map(({ calls }) => calls.map(({ tool, args }) => ({ tool, args })))).toEqual([
      [{ tool: 'delete_file', args: { id: 'a' } }],
    ])
    expect(ran).toEqual(['delete_file a'])
  })

  test('a session and a fork only add to what is asked about, and a fork asks where its parent asks', async () => {
    const { asked, onAsk } = person()
    const { registry, call } = workshop(undefined, ['delete_*'])
    const session = await registry.openSession({ policy: { ask: ['drop'] } })
    let child: Promise<unknown> | undefined
    registry.register(
      defineTool({
        name: 'delegate',
        description: 'Starts a sub-agent.',
        inputSchema: { type: 'object' },
        execute: async () => {
          child = session.fork().execute([call('delete_file'), call('drop')])
          await child
        },
      }),
    )
    await session.execute([{ toolCallId: '1', name: 'delegate', args: {} }], { onAsk })
    await child
    expect(asked.flatMap(({ calls }) => calls.map(({ tool }) => tool))).toEqual(['delete_file', 'drop'])
  })

  test('deny goes before ask', async () => {
    const { asked, onAsk } = person('once')
    const { registry, call } = workshop(onAsk)
    const session = await registry.openSession({ policy: { deny: ['delete_*'] } })
    const [result] = await session.execute([call('delete_file')])
    expect(result?.result).toMatchObject({ code: 'not_available' })
    expect(asked).toHaveLength(0)
  })

  test('a handler that fails, or answers nonsense, denies', async () => {
    const answers = [() => Promise.reject(new Error('no network')), () => 'yes', () => [], () => undefined]
    for (const onAsk of answers) {
      const { registry, ran, call } = workshop(onAsk as unknown as AskHandler)
      const [result] = await (await registry.openSession()).execute([call('delete_file')])
      expect(result?.result).toMatchObject({
        code: 'denied',
        error: expect.stringContaining('Nothing was run'),
      })
      expect(ran).toEqual([])
    }
  })

  test('a cancelled batch waits for nobody', async () => {
    const { registry, ran, call } = workshop(() => new Promise(() => {}))
    const session = await registry.openSession()
    const over = new AbortController()
    const results = session.execute([call('delete_file')], { signal: over.signal })
    over.abort()
    expect((await results)[0]?.result).toMatchObject({ code: 'cancelled' })
    expect(ran).toEqual([])
  })

  test('a dry run says that it would ask, and asks nobody', async () => {
    const { asked, onAsk } = person('once')
    const { registry, call } = workshop(onAsk)
    const session = await registry.openSession()
    const [result] = await session.execute([call('delete_file')], { dryRun: true })
    expect(result?.result).toMatchObject({ ok: true, value: expect.stringContaining('would ask a person') })
    expect(asked).toHaveLength(0)
  })

  test('refuses what it cannot read, and reports names that match nothing', async () => {
    for (const ask of ['destruct', 7, [7]])
      expect(() => new ToolRegistry({ policy: { ask: ask as never } })).toThrow(/policy\.ask/)
    const { registry } = workshop(undefined, ['delet_file', 'writes'])
    expect(registry.unmatchedPatterns()).toEqual([
      { list: 'ask', pattern: 'delet_file', nearest: 'delete_file' },
    ])
  })
})
