import fc from 'fast-check'
import { type RegistryOptions, type Session, ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { ask, call, registerServers, shown, tool } from './helpers.ts'

const namesOf = (matches: unknown) => (matches as { name: string }[]).map(({ name }) => name)

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
            // Nothing goes in silence: the last search of the batch names it, or a later one does.
            const gone = before.filter((each) => !active.includes(each))
            if (batch.every((each) => !('call' in each))) expect(told).toEqual(expect.arrayContaining(gone))
          }
        },
      ),
      { numRuns: 200 },
    )
  })
})

describe('an eviction that one answer of a batch names', () => {
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
