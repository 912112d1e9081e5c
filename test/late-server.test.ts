import { memoryStore, ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { openaiChat } from '../packages/core/src/dialects/openai-chat.ts'
import { call, shown, tool } from './helpers.ts'

const FIRST = ['mcp__desk__close', 'mcp__desk__list', 'mcp__desk__open', 'own_a', 'own_b']

/** A registry of a few tools that a session shows, and a server that joins late. */
function open(strategy: 'append' | 'dispatch') {
  const registry = new ToolRegistry(strategy === 'append' ? { strategy } : { dialect: openaiChat() })
  registry.registerAll([tool('own_a'), tool('own_b')])
  registry.syncMcp('desk', [tool('open'), tool('close'), tool('list')])
  return { registry, join: () => joinLate(registry) }
}

function joinLate(registry: ToolRegistry): void {
  registry.syncMcp(
    'crm',
    Array.from({ length: 12 }, (_, at) => tool(`find_${at}`)),
  )
}

describe.each(['append', 'dispatch'] as const)('a server that joins late, under %s', (strategy) => {
  const meta = strategy === 'dispatch' ? ['tool_search', 'call_tool'] : ['tool_search']

  it('hides nothing that a session has shown: its own tools are deferred', async () => {
    const { registry, join } = open(strategy)
    const session = await registry.openSession()
    expect(shown(session)).toEqual(FIRST)
    const before = session.surface().tools
    await call(session, 'mcp__desk__open')
    join()
    expect(shown(session)).toEqual([...FIRST, ...meta])
    // The beginning of the request stays as it was.
    expect(JSON.stringify(session.surface().tools.slice(0, FIRST.length))).toBe(JSON.stringify(before))
    expect(session.stats()).toMatchObject({ loaded: 5, deferred: 12, auto_deferred: true })
    expect(registry.explain('mcp__desk__open', session)).toMatchObject({ state: 'visible' })
    expect(registry.explain('mcp__crm__find_1', session)).toMatchObject({ state: 'deferred' })
    // A session that has shown nothing is like any other.
    expect(shown(await registry.openSession())).toEqual(['own_a', 'own_b', ...meta])
    expect(shown(session.fork())).toEqual([...FIRST, ...meta])
  })

  it('hides nothing of a session that was saved before it joined', async () => {
    const { registry, join } = open(strategy)
    const store = memoryStore()
    const session = await registry.openSession({ id: 'c', store })
    session.surface()
    const state = JSON.parse(JSON.stringify(session.toJSON()))
    await session.close()
    join()
    expect(shown(await registry.openSession({ id: 'c', store }))).toEqual([...FIRST, ...meta])
    expect(shown(await registry.openSession({ state }))).toEqual([...FIRST, ...meta])
  })
})

it('keeps deferring what came late when the mode is asked again', async () => {
  const { registry, join } = open('append')
  const session = await registry.openSession()
  session.surface()
  join()
  const names = shown(session)
  registry.register(tool('own_c'))
  expect(shown(session)).toEqual(names)
  registry.unregisterMcp('desk')
  expect(shown(session)).toEqual(['own_a', 'own_b', 'tool_search'])
})
