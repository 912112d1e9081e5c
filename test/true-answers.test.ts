import fc from 'fast-check'
import { type RegistryOptions, type Session, type Tool, ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { ask, call, eventLog, registerServers, shown, tool } from './helpers.ts'

const namesOf = (matches: unknown) => (matches as { name: string }[]).map(({ name }) => name)

describe('call_tool', () => {
  const open = async () => {
    const ran: unknown[] = []
    const registry = new ToolRegistry({ mode: 'lazy', defer: 'all', strategy: 'dispatch' })
    registry.register(
      tool('delete_rows', {
        inputSchema: { type: 'object', properties: { customer: { type: 'string' } } },
        execute: (input) => {
          ran.push(input)
          return { ok: true, value: 'deleted' }
        },
      }),
    )
    return { ran, session: await registry.openSession() }
  }

  it.each([
    ['flat', { customer: 'acme' }, '"customer"'],
    ['under args', { args: { customer: 'acme' } }, '"args"'],
    ['under input', { input: { customer: 'acme' } }, '"input"'],
    ['under parameters', { parameters: { customer: 'acme' } }, '"parameters"'],
    ['in both places', { arguments: { customer: 'acme' }, customer: 'other' }, '"customer"'],
    ['under args besides', { arguments: { customer: 'acme' }, args: {} }, '"args"'],
  ])('runs nothing with arguments %s, and shows the right form', async (_, more, found) => {
    const { ran, session } = await open()
    const result = await call(session, 'call_tool', { name: 'delete_rows', ...more })
    expect(result).toMatchObject({ ok: false, code: 'input_invalid' })
    const error = result.ok ? '' : result.error
    expect(error).toContain('{ "name": "delete_rows", "arguments": { … } }')
    expect(error).toContain(`found ${found}`)
    expect(error).toContain('Nothing was run.')
    expect(ran).toEqual([])
    expect(session.isActive('delete_rows')).toBe(false)
  })

  it('names at most five misplaced keys, each cut short', async () => {
    const { session } = await open()
    const flat = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`${n}${'k'.repeat(500)}`, n]))
    const result = await call(session, 'call_tool', { name: 'delete_rows', ...flat })
    expect(result.ok ? '' : result.error).not.toContain('5kk')
    expect((result.ok ? '' : result.error).length).toBeLessThan(700)
  })

  it('runs what was meant, and passes on what is no object for the tool to refuse', async () => {
    const { ran, session } = await open()
    const run = (args: unknown) => call(session, 'call_tool', args)
    expect(await run({ name: 'delete_rows', arguments: { customer: 'acme' } })).toMatchObject({ ok: true })
    expect(await run({ name: 'delete_rows' })).toMatchObject({ ok: true })
    expect(ran).toEqual([{ customer: 'acme' }, {}])
    for (const args of [{ name: 'delete_rows', arguments: [1] }, ['delete_rows'], 'delete_rows', { name: 7 }])
      expect(await run(args)).toMatchObject({ ok: false, code: 'input_invalid' })
    expect(ran).toHaveLength(2)
  })

  it('never calls itself, and says so', async () => {
    const { session } = await open()
    for (const name of ['call_tool', 'Call_Tool'])
      expect(await call(session, 'call_tool', { name, arguments: { name: 'delete_rows' } })).toMatchObject({
        ok: false,
      })
    expect(await call(session, 'call_tool', { name: 'call_tool', arguments: {} })).toEqual({
      ok: false,
      code: 'input_invalid',
      error: 'call_tool cannot call itself; give the name of another tool',
    })
  })

  it('never names itself among the close ones', async () => {
    const { session } = await open()
    const result = await call(session, 'call_tool', { name: 'call_tol', arguments: {} })
    expect(result.ok ? '' : result.error).toBe('Unknown tool: call_tol; find it with tool_search')
  })

  it('searches through call_tool as well', async () => {
    const { session } = await open()
    expect(
      await call(session, 'call_tool', { name: 'tool_search', arguments: { name: 'delete_rows' } }),
    ).toMatchObject({ ok: true, structured: { activated: true, name: 'delete_rows' } })
  })
})

describe('what the surface shows anyway', () => {
  const open = async (options: RegistryOptions = {}) => {
    const registry = new ToolRegistry({ mode: 'lazy', ...options })
    registerServers(registry)
    registry.register(tool('send_invoice', { description: 'Send an invoice to a customer.' }))
    registry.register(tool('ping', { description: 'Says whether the house is there.' }))
    return registry.openSession()
  }

  it('takes no place among the matches and is named when it fits: tool_search', async () => {
    const session = await open()
    const found = await ask(session, 'tool_search', { query: 'send', limit: 2 })
    expect(namesOf(found.matches)).not.toContain('send_invoice')
    expect(namesOf(found.matches)).toContain('mcp__slack__send_message')
    expect(found.already_visible).toEqual(['send_invoice'])
  })

  it('takes no place among the matches and is named when it fits: tool_search, two steps', async () => {
    const session = await open({ searchStyle: 'two-step' })
    const found = await ask(session, 'tool_search', { query: 'send', limit: 2 })
    expect(namesOf(found.matches)).not.toContain('send_invoice')
    expect(found.already_visible).toEqual(['send_invoice'])
  })

  it('takes no place among the matches and is named when it fits: tool_search_regex', async () => {
    const session = await open({ searchTool: 'tool_search_regex' })
    const found = await ask(session, 'tool_search_regex', { pattern: 'send_' })
    expect(namesOf(found.tools)).toEqual(['mcp__slack__send_message'])
    expect(found).toMatchObject({ total_matches: 1, already_visible: ['send_invoice'] })
    expect(await ask(session, 'tool_search_regex', { pattern: '^ping$' })).toMatchObject({
      status: 'no_matches',
      already_visible: ['ping'],
    })
  })

  it('takes no place among the matches and is named when it fits: ToolSearch', async () => {
    const session = await open({ searchTool: 'ToolSearch' })
    const found = await ask(session, 'ToolSearch', { query: 'send', max_results: 2 })
    expect(namesOf(found.matches)).not.toContain('send_invoice')
    expect(found.already_visible).toEqual(['send_invoice'])
  })

  it('is not missing when it is selected', async () => {
    const session = await open({ searchTool: 'ToolSearch' })
    const one = await ask(session, 'ToolSearch', { query: 'select:ping' })
    expect(one).toMatchObject({ matches: [], already_visible: ['ping'] })
    expect(one).not.toHaveProperty('missing')
    const mixed = await ask(session, 'ToolSearch', { query: 'select:ping,nope,get_forecast' })
    expect(mixed).toMatchObject({ missing: ['nope'], already_visible: ['ping'] })
    expect(namesOf(mixed.matches)).toEqual(['mcp__weather__get_forecast'])
    const together = await ask(session, 'ToolSearch', { query: 'select:ping,get_forecast' })
    expect(together).not.toHaveProperty('missing')

    const words = await open()
    const selected = await ask(words, 'tool_search', { query: 'select:ping' })
    expect(selected).toMatchObject({ already_visible: ['ping'] })
    expect(selected).not.toHaveProperty('missing')
    expect(selected.hint).toContain('already_visible')
  })

  it('is not missing when more of them are selected than an answer names', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registerServers(registry)
    const own = Array.from({ length: 9 }, (_, index) => `own_${index}`)
    for (const name of own) registry.register(tool(name))
    const session = await registry.openSession({ searchTool: 'ToolSearch' })
    const found = await ask(session, 'ToolSearch', { query: `select:${own.join(',')}` })
    expect(found).not.toHaveProperty('missing')
  })

  it('matches words, so that they are not reported as unmatched', async () => {
    const session = await open()
    const found = await ask(session, 'tool_search', { query: 'invoice' })
    expect(found).toMatchObject({ total: 0, matches: [], already_visible: ['send_invoice'] })
    expect(found).not.toHaveProperty('unmatched_terms')
    expect((await ask(session, 'tool_search', { query: 'invoice zebra' })).unmatched_terms).toEqual(['zebra'])
    expect((await ask(session, 'tool_search', { query: 'invoice weather zebra' })).unmatched_terms).toEqual([
      'zebra',
    ])
  })

  it('is loaded by name like any other, and its place is no activation', async () => {
    const session = await open({ maxActive: 1 })
    expect(await ask(session, 'tool_search', { name: 'ping' })).toMatchObject({
      activated: true,
      name: 'ping',
    })
    expect(session.toJSON().activations).toEqual([])
  })
})

describe('what a search activates', () => {
  it('is said where it is less than it returns', async () => {
    for (const [searchTool, args] of [
      ['tool_search', { query: 'get weather' }],
      ['ToolSearch', { query: 'get weather' }],
      ['ToolSearch', { query: 'select:get_forecast,get_alerts,get_history' }],
    ] as const) {
      const registry = new ToolRegistry({ mode: 'lazy', maxActive: 2, searchTool })
      registerServers(registry)
      const session = await registry.openSession()
      const found = await ask(session, searchTool, args)
      expect(namesOf(found.matches).length).toBeGreaterThan(2)
      expect(found.activated).toEqual(namesOf(found.matches).slice(0, 2))
      expect(shown(session)).toEqual([searchTool, ...(found.activated as string[])])
    }
  })

  it('is all of it when nothing else is said', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', searchTool: 'ToolSearch' })
    registerServers(registry)
    const session = await registry.openSession()
    const found = await ask(session, 'ToolSearch', { query: 'select:get_forecast,get_alerts' })
    expect(found).not.toHaveProperty('activated')
    expect(shown(session)).toEqual(['ToolSearch', ...namesOf(found.matches)])
  })

  it('leaves out far weaker matches, which it still shows', async () => {
    const ranks: Record<string, number> = { best: 2.198, near: 0.5, far: 0.017 }
    const searcher = {
      name: 'fixed',
      open: () => {
        let listings: readonly { name: string; ownName: string }[] = []
        return {
          update: (_: string, given: typeof listings) => {
            listings = given
          },
          rank: async () => ({
            matches: listings.map((listing) => ({
              listing,
              score: ranks[listing.ownName] ?? 0,
              reasons: [],
            })),
            unmatchedTerms: [],
          }),
        }
      },
    }
    for (const [searchTool, query] of [
      ['tool_search', 'anything'],
      ['ToolSearch', 'anything'],
    ] as const) {
      const registry = new ToolRegistry({ mode: 'lazy', searchTool, searcher: searcher as never })
      registry.syncMcp('s', [tool('best'), tool('near'), tool('far')])
      const session = await registry.openSession()
      const found = await ask(session, searchTool, { query })
      expect(namesOf(found.matches)).toEqual(['mcp__s__best', 'mcp__s__near', 'mcp__s__far'])
      expect(found.activated).toEqual(['mcp__s__best', 'mcp__s__near'])
      expect(shown(session)).toEqual([searchTool, 'mcp__s__best', 'mcp__s__near'])
      expect(await call(session, 'mcp__s__far')).toMatchObject({ ok: true })
    }
  })

  it('never leaves out what was asked for by name', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', searchTool: 'ToolSearch' })
    registerServers(registry)
    const session = await registry.openSession()
    await ask(session, 'ToolSearch', { query: 'select:get_forecast,send_message,list_branches' })
    expect(shown(session)).toHaveLength(4)
  })
})

describe('what is searched again', () => {
  it('is no loop, however often; other calls are', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registerServers(registry)
    const session = await registry.openSession()
    for (let n = 0; n < 40; n++)
      expect(await call(session, 'tool_search', { query: 'weather' })).toMatchObject({ ok: true })
    const codes = []
    for (let n = 0; n < 26; n++) {
      const result = await call(session, 'mcp__weather__get_alerts')
      codes.push(result.ok ? 'ok' : result.code)
    }
    expect(codes).toEqual([...Array(25).fill('ok'), 'repeated'])
  })

  it('is no loop through call_tool either', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', strategy: 'dispatch', maxIdenticalCalls: 2 })
    registerServers(registry)
    const session = await registry.openSession()
    const through = (name: string) => call(session, 'call_tool', { name, arguments: { query: 'weather' } })
    for (let n = 0; n < 5; n++) expect(await through('tool_search')).toMatchObject({ ok: true })
    await through('mcp__weather__get_alerts')
    await through('mcp__weather__get_alerts')
    expect(await through('mcp__weather__get_alerts')).toMatchObject({ code: 'repeated' })
  })
})

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

describe('isAvailable', () => {
  const answers: [string, () => unknown, boolean][] = [
    ['true', () => true, true],
    ['false', () => false, false],
    ['a promise of true', async () => true, false],
    ['a promise that rejects', () => Promise.reject(new Error('no')), false],
    ['undefined', () => undefined, false],
    ['null', () => null, false],
    ['1', () => 1, false],
    ['"yes"', () => 'yes', false],
    ['an object', () => ({}), false],
    [
      'nothing, but throws',
      () => {
        throw new Error('no')
      },
      false,
    ],
  ]
  it.each(answers)('that returns %s: only true passes', async (_, isAvailable, passes) => {
    const log = eventLog()
    const registry = new ToolRegistry({ mode: 'lazy', onEvent: log.onEvent })
    const guarded = { isAvailable: isAvailable as Tool['isAvailable'] } as Partial<Tool>
    registry.register(tool('own', guarded))
    registry.syncMcp('s', [tool('far', guarded), tool('other')])
    const session = await registry.openSession()
    const count = passes ? 1 : 0
    expect(shown(session).filter((name) => name === 'own')).toHaveLength(count)
    expect(registry.toDefinitions().filter(({ name }) => name !== 'mcp__s__other')).toHaveLength(2 * count)
    expect(registry.getAvailable()).toHaveLength(1 + 2 * count)
    expect((await registry.search('select:own,mcp__s__far')).matches).toHaveLength(2 * count)
    expect((await session.activate(['mcp__s__far'])).activated).toHaveLength(count)
    for (const name of ['own', 'mcp__s__far']) {
      const result = await call(session, name)
      expect(result.ok).toBe(passes)
      if (!result.ok)
        expect(result).toMatchObject({ code: 'not_available', error: `"${name}" is not currently available` })
    }
    expect(registry.explain('own').state).toBe(passes ? 'visible' : 'unavailable')
    if (!passes && isAvailable !== answers[1]?.[1])
      for (const name of ['own', 'mcp__s__far'])
        expect(log.of('tool-hidden')).toContainEqual(expect.objectContaining({ name }))
  })
})

const MCP = Array.from({ length: 9 }, (_, index) => `mcp__s__t${index}`)

describe('over random batches of searches and calls', () => {
  type Step = { search: string } | { select: string[] } | { load: string } | { call: string }
  const name = fc.constantFrom(...MCP)
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ search: fc.constantFrom('red things', 'green things', 'blue things', 'things', 'zebra') }),
    fc.record({ select: fc.uniqueArray(name, { minLength: 1, maxLength: 4 }) }),
    fc.record({ load: name }),
    fc.record({ call: name }),
  )
  const batches = fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 5 })
  const COLOURS = ['red', 'green', 'blue']

  function house(options: RegistryOptions): ToolRegistry {
    const registry = new ToolRegistry({ mode: 'lazy', ...options })
    registry.syncMcp(
      's',
      MCP.map((full, index) =>
        tool(full.slice('mcp__s__'.length), { description: `Paints ${COLOURS[index % 3]} things.` }),
      ),
    )
    return registry
  }

  const callOf = (session: Session, searchTool: string, given: Step, toolCallId: string) => {
    if ('call' in given) {
      const isDispatch = session.surface().strategy === 'dispatch'
      return isDispatch
        ? { toolCallId, name: 'call_tool', args: { name: given.call, arguments: {} } }
        : { toolCallId, name: given.call, args: {} }
    }
    const words =
      'search' in given ? given.search : `select:${('load' in given ? [given.load] : given.select).join(',')}`
    const args =
      searchTool === 'tool_search'
        ? 'load' in given
          ? { name: given.load }
          : { query: words }
        : searchTool === 'ToolSearch'
          ? { query: words }
          : {
              pattern:
                'search' in given
                  ? given.search
                  : ('load' in given ? [given.load] : given.select).map((each) => `^${each}$`).join('|'),
            }
    return { toolCallId, name: searchTool, args }
  }

  /** What an answer claims, whichever form it has. */
  const claims = (structured: unknown) => {
    const said = structured as Record<string, unknown>
    const evicted = (said.evicted ?? []) as string[]
    if (typeof said.activated === 'boolean')
      return { activated: said.activated ? [said.name as string] : [], evicted }
    if (Array.isArray(said.activated)) return { activated: said.activated as string[], evicted }
    const tools = said.tools as { name: string; loaded: boolean }[] | undefined
    if (tools) return { activated: tools.filter(({ loaded }) => loaded).map(({ name }) => name), evicted }
    return { activated: said.matches ? namesOf(said.matches) : [], evicted }
  }

  it('every answer is true when the model reads it, at any cap, under every strategy', async () => {
    await fc.assert(
      fc.asyncProperty(
        batches,
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom('append', 'dispatch', 'native'),
        fc.constantFrom('tool_search', 'ToolSearch', 'tool_search_regex'),
        async (given, maxActive, strategy, searchTool) => {
          const session = await house({ maxActive, strategy, searchTool }).openSession()
          for (const batch of given) {
            const before = session.toJSON().activations.map(({ name }) => name)
            const results = await session.execute(
              batch.map((each, index) => callOf(session, searchTool, each, String(index))),
            )
            const active = session.toJSON().activations.map(({ name }) => name)
            const onSurface = shown(session)
            expect(active.length).toBeLessThanOrEqual(maxActive)
            const told: string[] = []
            for (const { name, result } of results) {
              expect(result.ok).toBe(true)
              if (name !== searchTool || !result.ok) continue
              const { activated, evicted } = claims(result.structured)
              for (const each of activated) expect(active).toContain(each)
              if (strategy === 'append') for (const each of activated) expect(onSurface).toContain(each)
              for (const each of evicted) expect(active).not.toContain(each)
              told.push(...evicted)
            }
            const called = [...new Set(batch.flatMap((each) => ('call' in each ? [each.call] : [])))]
            if (called.length <= maxActive) for (const each of called) expect(active).toContain(each)
            // Nothing goes in silence: it is told by the last search of the batch, or by a later one.
            const gone = before.filter((each) => !active.includes(each))
            if (batch.every((each) => !('call' in each))) expect(told).toEqual(expect.arrayContaining(gone))
          }
        },
      ),
      { numRuns: 200 },
    )
  })
})

describe('an eviction that one answer of a batch tells', () => {
  it('is not undone by another search of the same batch, which says so', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', maxActive: 2 })
    registerServers(registry)
    const session = await registry.openSession()
    await session.activate(['mcp__github__get_file'])
    await session.activate(['mcp__github__create_issue'])
    await call(session, 'mcp__slack__list_channels')
    const results = await session.execute([
      { toolCallId: '1', name: 'tool_search', args: { name: 'list_channels' } },
      { toolCallId: '2', name: 'tool_search', args: { query: 'select:get_file' } },
    ])
    expect(results.map(({ result }) => result.ok && result.structured)).toMatchObject([
      { evicted: ['mcp__github__get_file'] },
      { activated: [], evicted: [] },
    ])
    expect(session.isActive('mcp__github__get_file')).toBe(false)
    expect(await ask(session, 'tool_search', { name: 'get_file' })).toMatchObject({
      activated: true,
      evicted: [expect.any(String)],
    })
  })

  it('says what has no place beside the calls of the batch', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', maxActive: 1 })
    registerServers(registry)
    const session = await registry.openSession()
    const results = await session.execute([
      { toolCallId: '1', name: 'tool_search', args: { name: 'get_file' } },
      { toolCallId: '2', name: 'mcp__slack__list_channels', args: {} },
    ])
    expect(results[0]?.result).toMatchObject({
      ok: true,
      structured: {
        activated: false,
        error: '"mcp__github__get_file" was not loaded: other tools of this turn took its place.',
        hint: 'Load it in your next turn.',
      },
    })
    expect(shown(session)).toEqual(['tool_search', 'mcp__slack__list_channels'])
  })
})

describe('what is deferred', () => {
  const own = (count: number, more: Partial<Tool> = {}) =>
    Array.from({ length: count }, (_, index) => tool(`own_${index}`, more))

  it('is everything once too many tools would stay shown, by default', async () => {
    const registry = new ToolRegistry()
    registry.registerAll(own(14))
    expect(registry.stats()).toMatchObject({ deferred: 0, deferred_mode: false, auto_deferred: false })
    registry.register(tool('one_more'))
    expect(registry.stats()).toMatchObject({
      loaded: 0,
      deferred: 15,
      deferred_mode: true,
      auto_deferred: true,
    })
    expect(shown(await registry.openSession())).toEqual(['tool_search'])
    expect(registry.deferredTools().map(({ name }) => name)).toEqual(registry.stats().tool_names)
  })

  it('comes back only when clearly fewer would stay shown', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', toolThreshold: 10 })
    registry.registerAll(own(10))
    const session = await registry.openSession()
    expect(session.stats()).toMatchObject({ deferred: 10, deferred_mode: true })
    for (const [left, deferred] of [
      [9, 9],
      [8, 8],
      [7, 0],
      [8, 0],
      [9, 0],
    ]) {
      while (registry.size > (left ?? 0)) registry.unregister(registry.stats().tool_names.at(-1) ?? '')
      if (registry.size < (left ?? 0)) registry.register(tool(`again_${left}`))
      expect(session.stats()).toMatchObject({ total_registered: left, deferred })
    }
  })

  it('is said to be so only where something is', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registry.registerAll(own(3))
    const session = await registry.openSession()
    for (const stats of [registry.stats(), session.stats()])
      expect(stats).toMatchObject({ loaded: 3, deferred: 0, deferred_mode: false, auto_deferred: false })
    expect(shown(session)).toEqual(['own_0', 'own_1', 'own_2'])
    expect(session.promptNote()).toBe('')
  })

  it('is nothing in full mode, flagged tools included', async () => {
    const registry = new ToolRegistry({ mode: 'full' })
    registry.registerAll(own(20, { deferred: true }))
    registry.register(tool('flagged'), { deferred: true })
    const session = await registry.openSession()
    expect(shown(session)).toHaveLength(21)
    expect(session.stats()).toMatchObject({ loaded: 21, deferred: 0, deferred_mode: false })
    expect(session.surface().deferredCount).toBe(0)
  })

  it('leaves no more than toolThreshold schemas that nobody pinned or checked out on a lazy surface', async () => {
    const deferral = fc.constantFrom(undefined, true, false)
    const kind = fc.constantFrom('builtin', 'plugin', 'mcp')
    const changes = fc.array(fc.tuple(fc.nat(40), kind, deferral, fc.boolean()), {
      minLength: 1,
      maxLength: 60,
    })
    await fc.assert(
      fc.asyncProperty(
        changes,
        fc.integer({ min: 1, max: 12 }),
        fc.constantFrom('auto', 'lazy'),
        async (given, toolThreshold, mode) => {
          const registry = new ToolRegistry({ mode, toolThreshold, pinned: ['own_1*'] })
          const session = await registry.openSession()
          const pinnedByTool = new Set<string>()
          for (const [index, source, deferred, isGone] of given) {
            const name = source === 'mcp' ? `mcp__s${index}__a` : `own_${index}`
            if (isGone) registry.unregister(name)
            else if (!registry.has(name)) {
              const made = tool(source === 'mcp' ? 'a' : name, deferred === undefined ? {} : { deferred })
              if (source === 'mcp') registry.syncMcp(`s${index}`, [made])
              else registry.register(made, source === 'plugin' ? { pluginId: 'p' } : {})
              if (deferred === false) pinnedByTool.add(name)
              else pinnedByTool.delete(name)
            }
            const {
              deferred_mode,
              auto_deferred,
              total_registered,
              loaded,
              deferred: hidden,
            } = session.stats()
            expect(loaded + hidden).toBe(total_registered)
            expect(deferred_mode).toBe(hidden > 0)
            if (auto_deferred) expect(deferred_mode).toBe(true)
            const free = shown(session).filter(
              (each) => each !== 'tool_search' && !each.startsWith('own_1') && !pinnedByTool.has(each),
            )
            expect(free.length).toBeLessThanOrEqual(toolThreshold)
            expect(shown(session).includes('tool_search')).toBe(hidden > 0)
          }
        },
      ),
      { numRuns: 100 },
    )
  })
})
