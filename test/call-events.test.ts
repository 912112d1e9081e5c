import { ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { call, eventLog, registerServers, tool } from './helpers.ts'

describe('events of calls', () => {
  it('name the tool that ran through call_tool, and what the model wrote', async () => {
    const log = eventLog()
    const registry = new ToolRegistry({ mode: 'lazy', strategy: 'dispatch', onEvent: log.onEvent })
    registerServers(registry)
    const session = await registry.openSession()
    await call(session, 'call_tool', { name: 'get_alerts', arguments: {} })
    await call(session, 'mcp__weather__get_alerts')
    await call(session, 'nope')
    const seen = (type: 'call-started' | 'call-finished') =>
      log.of(type).map((event) => ({ name: '', ...event }) as { name: string; calledAs?: string })
    for (const type of ['call-started', 'call-finished'] as const) {
      expect(seen(type).map(({ name, calledAs }) => [name, calledAs])).toEqual([
        ['mcp__weather__get_alerts', 'call_tool'],
        ['mcp__weather__get_alerts', undefined],
        ['nope', undefined],
      ])
      expect(seen(type)[1]).not.toHaveProperty('calledAs')
    }
  })

  it('name it where its result is trimmed, and where a part of the call fails', async () => {
    const log = eventLog()
    const registry = new ToolRegistry({
      mode: 'lazy',
      strategy: 'dispatch',
      resultBudgetChars: 100,
      onEvent: log.onEvent,
      hooks: {
        after_tool_call: () => {
          throw new Error('boom')
        },
      },
    })
    registry.syncMcp('s', [tool('long', { execute: () => ({ ok: true, value: 'x'.repeat(500) }) })])
    const session = await registry.openSession()
    await call(session, 'call_tool', { name: 'mcp__s__long', arguments: {} })
    expect(log.of('result-trimmed')).toMatchObject([
      { name: 'mcp__s__long', totalChars: 500, keptChars: 100 },
    ])
    expect(log.of('call-part-failed')).toMatchObject([{ name: 'mcp__s__long', part: 'hook', error: 'boom' }])
  })

  it('call a returned Error a failure, as one that is thrown', async () => {
    const log = eventLog()
    const registry = new ToolRegistry({ onEvent: log.onEvent })
    registry.registerFunction(() => new Error('out of paper'), { name: 'print', description: 'Prints.' })
    registry.registerFunction(
      () => {
        throw new Error('out of ink')
      },
      { name: 'draw', description: 'Draws.' },
    )
    registry.register(tool('raw', { execute: () => new Error('no result') as never }))
    const session = await registry.openSession()
    const results = await session.execute(
      ['print', 'draw', 'raw'].map((name) => ({ toolCallId: name, name, args: {} })),
    )
    expect(results.map(({ result }) => result)).toMatchObject([
      { ok: false, code: 'execution_failed', error: expect.stringContaining('out of paper') },
      { ok: false, code: 'execution_failed', error: expect.stringContaining('out of ink') },
      { ok: false, code: 'execution_failed' },
    ])
    expect(log.of('call-finished').map((event) => 'ok' in event && event.ok)).toEqual([false, false, false])
  })
})
