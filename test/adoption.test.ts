import { defineTool, ReducerRegistry, ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { ask, call, eventLog, lazyRegistry, shown, tool } from './helpers.ts'

const execute = () => 'no'
const written = { name: 'rain', description: 'Tells whether it rains.' }

describe('a tool written for another library', () => {
  it.each([
    ['schema', { schema: {}, execute }, 'rename the key to "inputSchema"'],
    ['parameters', { parameters: {}, execute }, 'rename the key to "inputSchema"'],
    ['func', { inputSchema: {}, func: () => 'no' }, 'rename the key to "execute"'],
    ['run', { inputSchema: {}, run: () => 'no' }, 'rename the key to "execute"'],
    ['handler', { inputSchema: {}, handler: () => 'no' }, 'rename the key to "execute"'],
    ['defer_loading', { inputSchema: {}, execute, defer_loading: true }, 'rename the key to "deferred"'],
  ])('with %s is refused with the right key', (key, fields, step) => {
    const draft = { ...written, ...fields } as never
    for (const attempt of [
      () => new ToolRegistry().register(draft),
      () => new ToolRegistry().registerMcp(draft, 's'),
      () => defineTool(draft),
    ]) {
      expect(attempt).toThrow(step)
      expect(attempt).toThrow(`"${key}"`)
    }
  })

  it('keeps a name that has the prefix of its server', async () => {
    const registry = new ToolRegistry()
    registry.registerMcp(tool('mcp__github__search'), 'github')
    registry.registerMcp(tool('mcp__other__search'), 'github')
    expect(registry.stats().tool_names).toEqual(['mcp__github__mcp__other__search', 'mcp__github__search'])
    expect(registry.resolve('github.search')).toEqual(['mcp__github__search'])
    expect(await call(await registry.openSession(), 'mcp__github__search')).toMatchObject({ ok: true })
  })
})

describe('a reducer', () => {
  it('given with its tool’s name before it is refused with the right form', () => {
    const register = new ReducerRegistry().register as unknown as (name: string, reduce: unknown) => void
    expect(() => register('read_file', () => undefined)).toThrow('{ toolName: "read_file", reduce:')
  })

  it('given to the registry by itself, or as a second argument, is refused with the right form', () => {
    const Registry = ToolRegistry as new (...given: unknown[]) => ToolRegistry
    for (const given of [[new ReducerRegistry()], [{}, new ReducerRegistry()]])
      expect(() => new Registry(...given)).toThrow('new ToolRegistry({ capabilities, reducers })')
  })

  it('that matches no tool is reported', async () => {
    const reducers = new ReducerRegistry()
    for (const toolName of ['red_file', 'read_file']) reducers.register({ toolName, reduce: () => undefined })
    const log = eventLog()
    const registry = new ToolRegistry({ reducers, onEvent: log.onEvent })
    registry.register(tool('read_file'))
    const unmatched = { list: 'reducers', pattern: 'red_file', nearest: 'read_file' }
    expect(registry.unmatchedPatterns()).toEqual([unmatched])
    await registry.openSession()
    await registry.openSession()
    expect(log.of('pattern-unmatched')).toEqual([expect.objectContaining(unmatched)])
    expect(registry.preload('nothing')).toEqual({ missing: ['nothing'] })
  })
})

describe('a name that the model writes in its own way', () => {
  const open = async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registry.register(tool('own'))
    registry.syncMcp('github', [tool('create_issue'), tool('search')])
    registry.syncMcp('slack', [tool('search')])
    registry.syncMcp('wiki', [tool('search')])
    return { registry, session: await registry.openSession() }
  }

  it.each(['create_issue', 'github.create_issue', 'github__create_issue', 'functions.create_issue'])(
    'runs in a session: %s',
    async (name) => {
      const { session } = await open()
      expect(await call(session, name)).toMatchObject({ ok: true })
      expect(session.isActive('mcp__github__create_issue')).toBe(true)
    },
  )

  it('runs a shown tool in the namespace of functions', async () => {
    const { session } = await open()
    expect(await call(session, 'functions.own')).toMatchObject({ ok: true, value: 'own {}' })
  })

  it('names all the tools of one name', async () => {
    const { session } = await open()
    const names = 'mcp__github__search, mcp__slack__search, mcp__wiki__search'
    const result = await call(session, 'search')
    expect(result.ok ? '' : result.error).toContain(names)
    expect(session.toJSON().activations).toEqual([])
  })

  it('never becomes another tool once the one that was shown has left', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', defer: 'all' })
    registry.register(tool('lookup'))
    registry.syncMcp('wiki', [tool('lookup')])
    const session = await registry.openSession()
    await session.activate(['lookup'])
    registry.unregister('lookup')
    expect(await call(session, 'lookup')).toMatchObject({ ok: false, code: 'not_available' })
    expect(await call(await registry.openSession(), 'lookup')).toMatchObject({ ok: true })
  })
})

describe('a search in two steps', () => {
  it('returns fifteen pairs by default and at most', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', defer: 'all', searchStyle: 'two-step' })
    for (let at = 0; at < 30; at++)
      registry.register(tool(`send_mail_${at}`, { description: `Sends mail of kind ${at * 37}.` }))
    const session = await registry.openSession()
    for (const more of [{}, { limit: 25 }]) {
      const { matches } = await ask(session, 'tool_search', { query: '+mail', ...more })
      expect(matches).toHaveLength(15)
      expect(Object.keys((matches as object[])[0] ?? {})).toEqual(['name', 'description'])
    }
  })
})

it('tells a fork of no evictions at its birth', async () => {
  const registry = lazyRegistry()
  const log = eventLog()
  registry.subscribe(log.onEvent)
  const session = await registry.openSession()
  await session.activate(['mcp__github__create_issue', 'mcp__github__get_file', 'mcp__slack__send_message'])
  const child = session.fork({ maxActive: 1 })
  expect(shown(child).filter((name) => name.startsWith('mcp__'))).toHaveLength(1)
  expect(log.of('evicted')).toEqual([])
  const { evicted } = await ask(child, 'tool_search', { query: 'nothing of this kind xyzzy' })
  expect(evicted).toEqual([])
})
