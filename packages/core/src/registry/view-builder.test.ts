import fc from 'fast-check'
import { expect, it } from 'vitest'
import { sourceKey, sourceLabel } from '../names.ts'
import type { Listing, Tool } from '../tool.ts'
import { Catalogue } from './catalogue.ts'
import type { Entry } from './entry.ts'
import { ModeHistory } from './mode.ts'
import { compilePolicy, type Gates } from './policy.ts'
import { localEntry, mcpEntry } from './registrar.ts'
import type { View } from './view.ts'
import { ViewBuilder, type ViewSettings, type ViewSource } from './view-builder.ts'

const SETTINGS: ViewSettings = {
  mode: 'auto',
  defer: 'auto',
  toolThreshold: 4,
  thresholdPercent: 10,
  pinned: ['own_1', 'mcp__s2__*'],
  searchTool: 'tool_search',
}

const SETTINGS_TO_TRY: readonly ViewSettings[] = [
  SETTINGS,
  { ...SETTINGS, mode: 'lazy', defer: 'mcp' },
  { ...SETTINGS, mode: 'lazy', defer: 'flagged', pinned: [] },
  { ...SETTINGS, mode: 'lazy', defer: 'all' },
  { ...SETTINGS, mode: 'full' },
]

const GATES_TO_TRY: readonly Gates[] = [
  {},
  { allow: ['own_*', 'mcp__s1__*', 'plug_0'] },
  { allow: ['own_4', 't2', 's3.t0'] },
  { deny: ['own_2', 'mcp__s3__*'] },
  { deny: ['tool_search'] },
  { filter: { allowedMcpServers: ['s0', 's4'], excludeTools: ['mcp__s0__t1'] } },
]

const step = fc.oneof(
  fc.record({
    kind: fc.constant('sync' as const),
    server: fc.nat(5),
    tools: fc.array(fc.nat(4), { maxLength: 5 }),
    trust: fc.boolean(),
    lazy: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('own' as const), tool: fc.nat(6), deferred: fc.option(fc.boolean()) }),
  fc.record({ kind: fc.constant('plugin' as const), tool: fc.nat(2) }),
  fc.record({ kind: fc.constant('remove' as const), tool: fc.nat(6) }),
  fc.record({ kind: fc.constant('quarantine' as const), name: anyName() }),
  fc.record({ kind: fc.constant('release' as const), name: anyName() }),
)

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

it('a view that follows each change is the one that a newcomer has, and older ones stay as they were', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ step, isSeen: fc.boolean() }), { minLength: 1, maxLength: 30 }),
      fc.nat(SETTINGS_TO_TRY.length - 1),
      fc.nat(GATES_TO_TRY.length - 1),
      (steps, setting, gate) => {
        const catalogue = new Catalogue([], () => modes.update())
        const modes = new ModeHistory(catalogue, () => {})
        const settings = SETTINGS_TO_TRY[setting] ?? SETTINGS
        const scene: ViewSource = { catalogue, modes }
        const open = () => new ViewBuilder(settings, compilePolicy(GATES_TO_TRY[gate] ?? {}), scene)
        const builder = open()
        const seen: { view: View; expected: unknown }[] = []
        for (const { step, isSeen } of steps) {
          apply(step, catalogue)
          if (isSeen) seen.push({ view: builder.current(), expected: described(builder.current()) })
        }
        expect(described(builder.current())).toEqual(described(open().current()))
        expect(described(builder.current())).toEqual(recounted(builder.current()))
        for (const { view, expected } of seen) expect(described(view)).toEqual(expected)
        const views = [builder.current(), ...seen.map(({ view }) => view)]
        const listings = new Set(views.flatMap(({ snapshot }) => [...snapshot.groups.values()].flat()))
        for (const view of views)
          expect([...listings].filter((listing) => view.permits(listing))).toEqual(
            permittedAmong(listings, view),
          )
      },
    ),
    { numRuns: 300 },
  )
})

it('a view keeps its lists while a server changes only its tools', () => {
  const catalogue = new Catalogue([], () => {})
  const scene: ViewSource = { catalogue, modes: new ModeHistory(catalogue, () => {}) }
  const builder = new ViewBuilder({ ...SETTINGS, mode: 'lazy' }, compilePolicy({}), scene)
  const sync = (server: string, ...names: string[]) =>
    catalogue.replaceSource(
      `mcp:${server}`,
      names.map((name) => mcpEntry(tool(name), server)),
    )
  sync('github', 'search')
  sync('slack', 'send')
  const before = builder.current()
  sync('github', 'search', 'merge')
  const after = builder.current()
  expect(after).not.toBe(before)
  expect(after.untrustedServers).toBe(before.untrustedServers)
  expect(after.serverNames()).toBe(before.serverNames())
  expect([...after.deferred.keys()]).toEqual([
    'mcp__github__merge',
    'mcp__github__search',
    'mcp__slack__send',
  ])
  sync('slack')
  expect(builder.current().serverNames()).toEqual(['github'])
  expect(before.serverNames()).toEqual(['github', 'slack'])
})

it('shows the tools that it is asked to, and itself if it does anyway', () => {
  const catalogue = new Catalogue([], () => {})
  const scene: ViewSource = { catalogue, modes: new ModeHistory(catalogue, () => {}) }
  const policy = compilePolicy({ deny: ['own_3'] })
  const builder = new ViewBuilder({ ...SETTINGS, mode: 'lazy', defer: 'all', pinned: [] }, policy, scene)
  catalogue.addAll([1, 2, 3].map((place) => localEntry(tool(`own_${place}`), {})))
  const view = builder.current()
  const showing = view.showing(new Set(['own_3', 'own_2', 'gone']), 'because')
  expect(showing.shown.map(({ name }) => name)).toEqual(['own_2'])
  expect([...showing.deferred.keys()]).toEqual(['own_1'])
  expect(showing.mode).toEqual({ isLazy: true, isAuto: false, reason: 'because' })
  expect(view.showing(new Set(['own_3', 'gone']), 'because')).toBe(view)
  expect(showing.showing(new Set(['own_2']), 'because')).toBe(showing)
})

function apply(step: Step, catalogue: Catalogue): void {
  if (step.kind === 'sync') {
    const { server, trust, lazy } = step
    const entries = [...new Set(step.tools)].map((at) =>
      mcpEntry(tool(at === 4 ? 'own_4' : `t${at}`), `s${server}`, { trust, lazy }),
    )
    catalogue.replaceSource(`mcp:s${server}`, entries)
  } else if (step.kind === 'own') {
    const options = step.deferred === null ? {} : { deferred: step.deferred }
    catalogue.add(localEntry(tool(`own_${step.tool}`), options), { replace: true })
  } else if (step.kind === 'plugin') {
    catalogue.add(localEntry(tool(`plug_${step.tool}`), { pluginId: 'notes' }), { replace: true })
  } else if (step.kind === 'remove') catalogue.remove(`own_${step.tool}`)
  else if (step.kind === 'quarantine') catalogue.quarantine(step.name, 'changed')
  else catalogue.release(step.name)
}

function anyName(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.nat(6).map((at) => `own_${at}`),
    fc.tuple(fc.nat(5), fc.nat(4)).map(([server, at]) => `mcp__s${server}__t${at}`),
  )
}

/** All that a view says. */
function described(view: View) {
  return {
    shown: view.shown.map(({ name }) => name),
    deferred: [...view.deferred.keys()],
    size: view.deferred.size,
    untrusted: view.untrustedServers,
    servers: view.serverNames(),
    sources: [...view.deferredSources()].map(({ source, definitions }) => [
      sourceLabel(source),
      definitions.map(({ name }) => name),
    ]),
    list: view.deferredList.definitions,
    sourceCount: view.deferredSourceCount,
    permitted: view.snapshot.sorted.filter(({ listing }) => view.permits(listing)).map(({ name }) => name),
    permitsAll: view.permitsAll,
    mode: view.mode,
  }
}

/** The same, counted tool by tool. */
function recounted(view: View): ReturnType<typeof described> {
  const permitted = view.snapshot.sorted.filter((entry) => view.denial(entry) === undefined)
  const shown = new Set(view.shown)
  const deferred = permitted.filter((entry) => !shown.has(entry))
  const labels = [...new Set(deferred.map(({ source }) => sourceKey(source)))]
    .map((key) => deferred.filter(({ source }) => sourceKey(source) === key))
    .map((entries): [string, string[]] => [labelOf(entries[0]), entries.map(({ name }) => name)])
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    shown: permitted.filter((entry) => shown.has(entry)).map(({ name }) => name),
    deferred: deferred.map(({ name }) => name),
    size: deferred.length,
    untrusted: [...new Set(permitted.flatMap(({ untrustedServer }) => untrustedServer ?? []))].sort(),
    servers: [
      ...new Set(permitted.flatMap(({ source }) => (source.kind === 'mcp' ? [source.server] : []))),
    ].sort(),
    sources: labels,
    list: deferred.map(({ definition }) => definition),
    sourceCount: labels.length,
    permitted: permitted.map(({ name }) => name),
    permitsAll: permitted.length === view.snapshot.size,
    mode: view.mode,
  }
}

function permittedAmong(listings: ReadonlySet<Listing>, view: View): Listing[] {
  return [...listings].filter((listing) => {
    const entry = view.snapshot.get(listing.name)
    return entry?.listing === listing && view.denial(entry) === undefined
  })
}

function labelOf(entry: Entry | undefined): string {
  return entry === undefined ? '' : sourceLabel(entry.source)
}

function tool(name: string): Tool {
  return { name, description: '', inputSchema: {}, execute: () => ({ ok: true, value: '' }) }
}
