import { ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { ask, call, tool } from './helpers.ts'

const OPEN_SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer', default: 1 } },
  additionalProperties: true,
}

/** A session with one deferred tool that takes more than it names, and what ran. */
async function open(strategy: 'append' | 'dispatch', searchTool?: 'tool_search_regex' | 'ToolSearch') {
  const ran: unknown[] = []
  const registry = new ToolRegistry({
    mode: 'lazy',
    defer: 'all',
    strategy,
    callReadTool: true,
    ...(searchTool ? { searchTool } : {}),
  })
  const forecast = tool('get_forecast', {
    description: 'Returns the weather forecast of a city.',
    inputSchema: OPEN_SCHEMA,
    annotations: { readOnlyHint: true },
    execute: (input) => {
      ran.push(input)
      return { ok: true, value: 'sunny' }
    },
  })
  registry.register(forecast)
  return { ran, registry, session: await registry.openSession() }
}

const GUESS = { location: 'Bern' }

describe('arguments that were guessed', () => {
  it.each([
    ['append', 'get_forecast', GUESS],
    ['dispatch', 'get_forecast', GUESS],
    ['dispatch', 'call_tool', { name: 'get_forecast', arguments: GUESS }],
    ['dispatch', 'call_read_tool', { name: 'get_forecast', arguments: GUESS }],
  ] as const)('run nothing before the schema was shown (%s, %s)', async (strategy, name, args) => {
    const { ran, session } = await open(strategy)
    const refused = await call(session, name, args)
    expect(refused).toMatchObject({
      ok: false,
      code: 'input_invalid',
      structured: { name: 'get_forecast', parameters: OPEN_SCHEMA },
    })
    expect(refused.ok ? '' : refused.error).toContain('"location"')
    expect(ran).toEqual([])
    // The error has shown the schema, which permits more than it names.
    expect(await call(session, name, args)).toMatchObject({ ok: true })
    expect(ran).toEqual([GUESS])
  })

  it('run nothing in the batch in which the schema is shown', async () => {
    const { ran, session } = await open('dispatch')
    const guess = { name: 'call_tool', args: { name: 'get_forecast', arguments: GUESS } }
    const results = await session.execute([
      { toolCallId: '1', name: 'tool_search', args: { query: 'weather forecast' } },
      { toolCallId: '2', ...guess },
      { toolCallId: '3', ...guess },
    ])
    expect(results.map(({ result }) => result.ok)).toEqual([true, false, false])
    expect(ran).toEqual([])
  })

  it('do not hinder a call whose arguments the schema names', async () => {
    const { ran, session } = await open('dispatch')
    const args = { name: 'get_forecast', arguments: { city: 'Bern' } }
    expect(await call(session, 'call_tool', args)).toMatchObject({ ok: true })
    expect(ran).toEqual([{ city: 'Bern' }])
  })

  it.each([
    ['tool_search', undefined, { query: 'weather forecast' }],
    ['tool_search', undefined, { name: 'get_forecast' }],
    ['tool_search_regex', 'tool_search_regex', { pattern: 'forecast' }],
    ['ToolSearch', 'ToolSearch', { query: 'select:get_forecast' }],
  ] as const)('pass once %s has shown the schema', async (name, searchTool, args) => {
    const { session } = await open('dispatch', searchTool)
    expect(JSON.stringify(await ask(session, name, args))).toContain(JSON.stringify(OPEN_SCHEMA))
    expect(await call(session, 'call_tool', { name: 'get_forecast', arguments: GUESS })).toMatchObject({
      ok: true,
    })
  })

  it('are refused again when the definition has changed', async () => {
    const { registry, session } = await open('dispatch')
    const args = { name: 'get_forecast', arguments: GUESS }
    await call(session, 'call_tool', args)
    expect(await call(session, 'call_tool', args)).toMatchObject({ ok: true })
    registry.register(tool('get_forecast', { inputSchema: { ...OPEN_SCHEMA, title: 'Other' } }), {
      replace: true,
    })
    expect(await call(session, 'call_tool', args)).toMatchObject({ ok: false, code: 'input_invalid' })
  })

  it('pass without a session: the host’s code knows the schema', async () => {
    const { ran, registry } = await open('dispatch')
    const calls = [{ toolCallId: '1', name: 'get_forecast', args: GUESS }]
    const [answer] = await registry.executeParallel(calls, { sessionId: 's' })
    expect(answer?.result.ok).toBe(true)
    expect(ran).toEqual([GUESS])
  })
})

describe('tool_search_regex', () => {
  it('returns parameters under dispatch, and none where the surface declares what is loaded', async () => {
    const dispatch = await open('dispatch', 'tool_search_regex')
    expect(await ask(dispatch.session, 'tool_search_regex', { pattern: 'forecast' })).toMatchObject({
      tools: [{ name: 'get_forecast', loaded: true, parameters: OPEN_SCHEMA }],
    })
    const append = await open('append', 'tool_search_regex')
    const { tools } = await ask(append.session, 'tool_search_regex', { pattern: 'forecast' })
    expect(Object.keys((tools as object[])[0] ?? {})).toEqual(['name', 'description', 'loaded'])
  })

  it('returns the beginning of the parameters that do not fit', async () => {
    const registry = new ToolRegistry({
      mode: 'lazy',
      defer: 'all',
      strategy: 'dispatch',
      searchTool: 'tool_search_regex',
    })
    const wordy = (name: string) => ({ type: 'string', description: `${name} `.repeat(400) })
    for (const name of ['big_a', 'big_b', 'big_c', 'big_d', 'big_e', 'big_f', 'big_g'])
      registry.register(tool(name, { inputSchema: { type: 'object', properties: { first: wordy(name) } } }))
    const answer = await ask(await registry.openSession(), 'tool_search_regex', { pattern: 'big' })
    const parameters = (answer.tools as { parameters: { properties: object; $comment?: string } }[]).map(
      (each) => each.parameters,
    )
    expect(parameters).toHaveLength(7)
    expect(parameters.every(({ properties }) => 'first' in properties)).toBe(true)
    expect(new Set(parameters.map(({ $comment }) => $comment === undefined))).toEqual(new Set([true, false]))
  })
})
