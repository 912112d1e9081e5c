import fc from 'fast-check'
import { type Policy, type SessionOptions, ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { tool } from './helpers.ts'

const SERVERS = ['alpha', 'beta', 'gamma']
const VERBS = ['read', 'write', 'list', 'find', 'merge', 'send']
const META_TOOLS = ['tool_search', 'tool_search_regex', 'ToolSearch', 'call_tool']

/** Built-in, plugin and server tools; records which of them ran. */
function house(executed: string[] = [], order: readonly string[] = SERVERS): ToolRegistry {
  const registry = new ToolRegistry()
  const noting = (name: string, full = name) =>
    tool(name, {
      description: `Can ${name.replaceAll('_', ' ')} things.`,
      execute: () => {
        executed.push(full)
        return { ok: true, value: 'done' }
      },
    })
  for (const server of order)
    registry.syncMcp(
      server,
      VERBS.map((verb) => noting(`${verb}_${server}`, `mcp__${server}__${verb}_${server}`)),
    )
  registry.register(noting('local_read'))
  registry.register({ ...noting('local_help'), alwaysInclude: true })
  registry.register(noting('flagged_write'), { deferred: true })
  registry.register(noting('plugin_note'), { pluginId: 'notes' })
  return registry
}

const ALL = house()
  .listSchemas()
  .map(({ name }) => name)

const pattern = fc.oneof(
  fc.constantFrom(...ALL),
  fc.constantFrom('*', 'mcp__*', 'mcp__alpha__*', '*_write*', 'local_*', ...META_TOOLS),
)
const patterns = fc.option(fc.array(pattern, { maxLength: 4 }), { nil: undefined })
const policies: fc.Arbitrary<Policy> = fc
  .record({
    allow: patterns,
    deny: patterns,
    filter: fc.option(
      fc
        .record({
          allowedMcpServers: fc.option(fc.subarray(SERVERS), { nil: undefined }),
          allowedMcpTools: patterns,
          allowedPlugins: fc.option(fc.subarray(['notes']), { nil: undefined }),
          excludeTools: patterns,
        })
        .map(withoutUndefined),
      { nil: undefined },
    ),
  })
  .map(withoutUndefined)
const settings: fc.Arbitrary<SessionOptions> = fc.record({
  mode: fc.constantFrom('full', 'lazy', 'auto'),
  defer: fc.constantFrom('all', 'mcp', 'flagged'),
  strategy: fc.constantFrom('append', 'dispatch', 'native'),
  searchTool: fc.constantFrom('tool_search', 'tool_search_regex', 'ToolSearch'),
  maxActive: fc.integer({ min: 0, max: 6 }),
  pinned: fc.subarray(ALL, { maxLength: 3 }),
})

/** The policy rules of the contract, in their simplest form. */
function isPermitted(name: string, { allow, deny, filter = {} }: Policy): boolean {
  const on = (list: readonly string[], text: string) =>
    list.some((entry) => new RegExp(`^${entry.replaceAll('*', '.*')}$`).test(text))
  if (filter.excludeTools && on(filter.excludeTools, name)) return false
  if (deny && on(deny, name)) return false
  if (allow && !on(allow, name)) return false
  if (name === 'plugin_note') return !filter.allowedPlugins || filter.allowedPlugins.includes('notes')
  const server = /^mcp__(\w+?)__/.exec(name)?.[1]
  if (server === undefined) return true
  if (filter.allowedMcpServers && !filter.allowedMcpServers.includes(server)) return false
  return !filter.allowedMcpTools || on(filter.allowedMcpTools, name)
}

describe('over random policies', () => {
  it('a denied tool never appears in definitions, search, activation or execution', async () => {
    await fc.assert(
      fc.asyncProperty(policies, settings, async (policy, options) => {
        const executed: string[] = []
        const registry = house(executed)
        const session = await registry.openSession({ ...options, policy })
        const denied = ALL.filter((name) => !isPermitted(name, policy))

        const report = await session.activate(ALL)
        expect(report.missing.toSorted()).toEqual(denied.toSorted())
        const { tools, deferredTools = [] } = session.surface()
        const onSurface = [...tools, ...deferredTools].map(({ name }) => name)
        const found = await Promise.all([
          session.search('can read write list find merge send note help things', { limit: 100 }),
          session.search(`select:${ALL.join(',')}`, { limit: 100 }),
          session.search('/.*/', { limit: 100 }),
          registry.search('things', { policy, limit: 100 }),
        ])
        const names = [...onSurface, ...found.flatMap(({ matches }) => matches.map(({ name }) => name))]
        expect(names.filter((name) => denied.includes(name))).toEqual([])

        const results = await session.execute(ALL.map((name) => ({ toolCallId: name, name, args: {} })))
        expect(executed.toSorted()).toEqual(ALL.filter((name) => isPermitted(name, policy)).toSorted())
        const refused = results.filter(({ result }) => !result.ok).map(({ name }) => name)
        expect(refused).toEqual(denied)
      }),
      { numRuns: 60 },
    )
  })

  it('every permitted tool is visible, or reachable through a visible loader', async () => {
    await fc.assert(
      fc.asyncProperty(policies, settings, async (policy, options) => {
        const registry = house()
        const session = await registry.openSession({ ...options, policy, maxActive: 0 })
        const visible = session.surface().tools.map(({ name }) => name)
        const hidden = ALL.filter((name) => isPermitted(name, policy) && !visible.includes(name))
        expect(session.deferred().map(({ name }) => name)).toEqual(hidden)
        expect(visible.some((name) => META_TOOLS.includes(name))).toBe(hidden.length > 0)

        const loader = visible.find((name) => META_TOOLS.includes(name)) ?? ''
        for (const name of hidden) {
          const args = {
            tool_search: { name },
            tool_search_regex: { pattern: `^${name}$` },
            ToolSearch: { query: `select:${name}` },
          }[loader]
          await session.execute([{ toolCallId: '1', name: loader, args }])
        }
        expect(session.deferred()).toEqual([])
        if (session.surface().strategy === 'append') {
          expect(session.surface().tools.map(({ name }) => name)).toEqual(expect.arrayContaining(hidden))
        }
      }),
      { numRuns: 60 },
    )
  })
})

describe('over random activations', () => {
  const batches = fc.array(
    fc.array(fc.constantFrom(...ALL.filter((name) => name.startsWith('mcp__'))), {
      minLength: 1,
      maxLength: 8,
    }),
    { maxLength: 6 },
  )

  it('a batch never evicts its own tools, and the cap holds', async () => {
    await fc.assert(
      fc.asyncProperty(batches, fc.integer({ min: 1, max: 6 }), async (given, maxActive) => {
        const session = await house().openSession({ mode: 'lazy', maxActive })
        for (const batch of given) {
          const { activated, evicted } = await session.activate(batch)
          const best = [...new Set(batch)].slice(0, maxActive)
          expect([...new Set(activated)]).toEqual(best)
          expect(evicted.filter((name) => best.includes(name))).toEqual([])
          expect(session.toJSON().activations.length).toBeLessThanOrEqual(maxActive)
        }
      }),
      { numRuns: 60 },
    )
  })

  it('equal registries and activations give equal bytes, in any order of servers', async () => {
    await fc.assert(
      fc.asyncProperty(
        batches,
        fc.constantFrom(...permutations(SERVERS)),
        settings,
        async (given, order, options) => {
          const sessions = await Promise.all([
            house().openSession(options),
            house([], order).openSession(options),
          ])
          for (const batch of given) for (const session of sessions) await session.activate(batch)
          const [a, b] = sessions.map((session) => JSON.stringify([session.surface(), session.promptNote()]))
          expect(a).toBe(b)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('a child never changes its parent, and sessions never see each other', async () => {
    await fc.assert(
      fc.asyncProperty(batches, batches, async (ofParent, ofChild) => {
        const registry = house()
        const [parent, stranger] = [
          await registry.openSession({ mode: 'lazy', maxActive: 4 }),
          await registry.openSession({ mode: 'lazy' }),
        ]
        const untouched = JSON.stringify(stranger.surface())
        for (const batch of ofParent) await parent.activate(batch)
        const before = JSON.stringify([parent.surface(), parent.toJSON()])
        const child = parent.fork()
        for (const batch of ofChild) {
          await child.activate(batch)
          await child.execute(batch.map((name) => ({ toolCallId: name, name, args: {} })))
        }
        expect(JSON.stringify([parent.surface(), parent.toJSON()])).toBe(before)
        expect(JSON.stringify(stranger.surface())).toBe(untouched)
      }),
      { numRuns: 40 },
    )
  })
})

function withoutUndefined<Given extends object>(
  given: Given,
): { [Key in keyof Given]: Exclude<Given[Key], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as never
}

function permutations(items: readonly string[]): string[][] {
  if (items.length < 2) return [[...items]]
  return items.flatMap((item) =>
    permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]),
  )
}
