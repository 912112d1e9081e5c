import { hybrid, type RegistryOptions, ToolRegistry } from 'toolcrib'
import { staticEmbedder } from 'toolcrib/embedders'
import { describe, expect, it } from 'vitest'
import { ask, call, registerServers, shown, tool } from './helpers.ts'

const namesOf = (matches: unknown) => (matches as { name: string }[]).map(({ name }) => name)

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

  it('is an answer: nothing beside it says that no tool fits', async () => {
    const one = await ask(await open(), 'tool_search', { query: 'invoice customer' })
    expect(one).toMatchObject({ matches: [], already_visible: ['send_invoice'] })
    expect(one).not.toHaveProperty('note')
    expect(one.hint).toContain('already_visible')
    const select = await open({ searchTool: 'ToolSearch' })
    const two = await ask(select, 'ToolSearch', { query: 'invoice customer' })
    expect(two).toMatchObject({ matches: [], already_visible: ['send_invoice'] })
    expect(two).not.toHaveProperty('note')
    expect(two.hint).toContain('already_visible')
    const regex = await open({ searchTool: 'tool_search_regex' })
    const three = await ask(regex, 'tool_search_regex', { pattern: 'invoice' })
    expect(three.suggestion).toContain('already_visible')
    const miss = await ask(await open(), 'tool_search', { query: 'xylophone zebra' })
    expect(miss.note).toContain('No tool fits.')
  })

  it('is loaded by name like any other, and takes no place among the activations', async () => {
    const session = await open({ maxActive: 1 })
    expect(await ask(session, 'tool_search', { name: 'ping' })).toMatchObject({
      activated: true,
      name: 'ping',
    })
    expect(session.toJSON().activations).toEqual([])
  })
})

describe('the score of a match', () => {
  it('is a probability for words only: names, filters and patterns are not ranked', async () => {
    const registry = new ToolRegistry({ searcher: hybrid({ embedder: staticEmbedder() }) })
    registry.syncMcp('mail', [
      tool('send_message', { description: 'Sends a text to a person.' }),
      tool('list_folders', { description: 'Lists folders, not a message.' }),
      tool('move_message', { description: 'Moves a message.' }),
    ])
    const scores = async (query: string) => {
      const { matches, confidence } = await registry.search(query)
      const byName = matches.map(({ name, score }) => [name.replace('mcp__mail__', ''), score])
      return { isProbable: confidence !== undefined, ...Object.fromEntries(byName) }
    }
    const unranked = { isProbable: false, list_folders: 1, move_message: 1, send_message: 1 }
    expect(await scores('server:mail')).toEqual(unranked)
    expect(await scores('+message')).toEqual(unranked)
    expect(await scores('select:send_message')).toEqual({ isProbable: false, send_message: 1 })
    expect(await scores('/message/')).toEqual({
      isProbable: false,
      list_folders: 1,
      send_message: 2,
      move_message: 3,
    })
    const asked = await scores('+message zebra folders')
    expect(asked).toMatchObject({ isProbable: true, send_message: 0, move_message: 0 })
    expect(asked.list_folders).toBeGreaterThan(0)
  })
})

describe('what a search activates', () => {
  it('is named where it is less than what it returns', async () => {
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

  it.each([
    ['tool_search', 'load it with tool_search { name }'],
    ['ToolSearch', 'fetch it with select:<name>'],
  ] as const)(
    'leaves out what %s has no room for, and says which and what to do',
    async (searchTool, use) => {
      const query = 'select:get_forecast,get_alerts,get_history'
      const open = (strategy: 'append' | 'dispatch') => {
        const registry = new ToolRegistry({ mode: 'lazy', maxActive: 2, searchTool, strategy })
        registerServers(registry)
        return registry.openSession()
      }
      const session = await open('append')
      const found = await ask(session, searchTool, { query })
      const [last] = namesOf(found.matches).slice(2)
      expect(found).toMatchObject({
        not_activated: [last],
        hint: `There was no room to load not_activated: when you need one, ${use}. It then takes the place of the tool used longest ago.`,
      })
      const step = searchTool === 'tool_search' ? { name: last } : { query: `select:${last}` }
      const next = await ask(session, searchTool, step)
      expect(next).not.toHaveProperty('hint')
      expect(next.evicted).toHaveLength(1)
      expect(shown(session)).toContain(last)

      const dispatch = await open('dispatch')
      const told = await ask(dispatch, searchTool, { query })
      expect(told.hint).toBe('There was no room to load not_activated: you can still call them.')
      expect((await call(dispatch, 'call_tool', { name: last, arguments: { city: 'Oslo' } })).ok).toBe(true)
    },
  )

  it('is told by tool_search_regex, too, where there is no room for all', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', maxActive: 2, searchTool: 'tool_search_regex' })
    registerServers(registry)
    const session = await registry.openSession()
    const found = await ask(session, 'tool_search_regex', { pattern: '^get_(forecast|alerts|history)' })
    expect(found.message).toBe(
      'Found 3 tools; 2 newly loaded; there was no room for 1 more: a narrower pattern loads the one you need. To use one, call it directly by its name.',
    )
    const [left] = namesOf(found.tools).slice(2)
    expect(found.not_activated).toEqual([left])
    const narrower = await ask(session, 'tool_search_regex', { pattern: left })
    expect(narrower).toMatchObject({ newly_loaded: 1, tools: [{ name: left, loaded: true }] })
    expect(narrower.message).not.toContain('room')
    expect(narrower).not.toHaveProperty('not_activated')
  })

  it('is everything it returns unless it names less', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', searchTool: 'ToolSearch' })
    registerServers(registry)
    const session = await registry.openSession()
    const found = await ask(session, 'ToolSearch', { query: 'select:get_forecast,get_alerts' })
    expect(found).not.toHaveProperty('activated')
    expect(shown(session)).toEqual(['ToolSearch', ...namesOf(found.matches)])
  })

  it('is not changed by a server that writes a tool for the very request', async () => {
    const query = 'remind me of the dentist next week'
    const registry = new ToolRegistry({ mode: 'lazy', searcher: hybrid({ embedder: staticEmbedder() }) })
    registry.syncMcp('calendar', [
      tool('create_event', { description: 'Adds an appointment to the calendar.' }),
      tool('list_events', { description: 'Lists the appointments of a day.' }),
    ])
    registry.syncMcp('files', [tool('read_file', { description: 'Reads a file.' })])
    registry.syncMcp('evil', [tool('remind_me_of_the_dentist_next_week', { description: query })])
    const found = await ask(await registry.openSession(), 'tool_search', { query })
    const scores = Object.fromEntries(
      (found.matches as { name: string; score: number }[]).map(({ name, score }) => [name, score]),
    )
    expect(scores.mcp__calendar__create_event).toBeLessThan(
      (scores.mcp__evil__remind_me_of_the_dentist_next_week ?? 0) / 40,
    )
    expect(found.activated).toContain('mcp__calendar__create_event')
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
  it('is not a loop, however often; other calls are', async () => {
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

  it('is not a loop through call_tool either', async () => {
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

describe('a definition that is too long for an answer', () => {
  const properties = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, at) => [
      `field_number_${at}`,
      { type: at === 0 ? 'integer' : 'string', enum: at === 1 ? ['red', 'green'] : undefined },
    ]),
  )
  const open = async (options: RegistryOptions) => {
    const registry = new ToolRegistry({
      mode: 'lazy',
      defer: 'all',

      ...options,
    })
    const inputSchema = { type: 'object', properties: JSON.parse(JSON.stringify(properties)) }
    registry.register(tool('fill_form', { description: 'Fills a form.', inputSchema }))
    return registry.openSession()
  }
  const markOf = (found: unknown) => JSON.stringify(found).match(/"(?:\$comment|schema)":"([^"]*)"/)?.[1]

  it.each([
    ['tool_search', { query: 'fill form' }, 'short; load with name', 'short; load with name'],
    [
      ...(['tool_search', { name: 'fill_form' }] as const),
      'shortened; call it: if an argument is wrong, the error carries the schema',
      'shortened; the full schema comes with the next list of tools',
    ],
    [
      ...(['ToolSearch', { query: 'select:fill_form' }] as const),
      'short; call it: an error about arguments has all of it',
      'short; your next list of tools has all of it',
    ],
  ] as const)(
    'says where the full schema comes from: %s %j',
    async (searchTool, input, dispatched, appended) => {
      const dispatching = await open({ searchTool, strategy: 'dispatch' })
      expect(markOf(await ask(dispatching, searchTool, input))).toBe(dispatched)
      const args = { name: 'fill_form', arguments: { field_number_0: 'none' } }
      const result = await call(dispatching, 'call_tool', args)
      expect(result).toMatchObject({ ok: false, code: 'input_invalid' })
      expect(JSON.stringify(result)).toContain('green')

      const appending = await open({ searchTool, strategy: 'append' })
      expect(markOf(await ask(appending, searchTool, input))).toBe(appended)
      if ('query' in input && searchTool === 'tool_search')
        await ask(appending, searchTool, { name: 'fill_form' })
      expect(JSON.stringify(appending.surface().tools)).toContain('green')
    },
  )
})
