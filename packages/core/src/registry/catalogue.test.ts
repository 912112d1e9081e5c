import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ToolcribError } from '../errors.ts'
import { sourceKey } from '../names.ts'
import type { Tool } from '../tool.ts'
import { Catalogue } from './catalogue.ts'
import type { Entry } from './entry.ts'
import { localEntry, mcpEntry } from './registrar.ts'
import type { Snapshot } from './snapshot.ts'

const tool = (name: string, description = ''): Tool => ({
  name,
  description,
  inputSchema: { type: 'object' },
  execute: () => ({ ok: true, value: '' }),
})
const builtin = (name: string, description?: string) => localEntry(tool(name, description), {})
const plugin = (name: string, pluginId = 'p') => localEntry(tool(name), { pluginId })
const mcp = (name: string, server = 's', description?: string) => mcpEntry(tool(name, description), server)
const keyOf = (server: string) => sourceKey({ kind: 'mcp', server })
const namesOf = (entries: readonly { readonly name: string }[]) => entries.map(({ name }) => name)

function open(reserved: readonly string[] = ['tool_search']) {
  let changes = 0
  const catalogue = new Catalogue(reserved, () => {
    changes++
  })
  const messageOf = (action: () => unknown) => {
    try {
      action()
    } catch (error) {
      if (error instanceof ToolcribError) return `${error.code}: ${error.message}`
      throw error
    }
    return 'nothing thrown'
  }
  return { catalogue, changes: () => changes, messageOf }
}

describe('the catalogue', () => {
  it('says who has a name that is taken, and what to do', () => {
    const { catalogue, messageOf } = open()
    catalogue.addAll([builtin('a'), plugin('b', 'notes'), mcp('c', 'github')])
    const add = (entry: Entry, replace = false) => messageOf(() => catalogue.add(entry, { replace }))
    expect(add(builtin('a'))).toBe(
      'tool-duplicate: "a" is already registered as a built-in; pass replace: true, or rename one',
    )
    expect(add(builtin('b'))).toBe(
      'tool-duplicate: "b" is already registered by the plugin "notes"; pass replace: true, or rename one',
    )
    expect(add(mcp('c', 'github'))).toBe(
      'tool-duplicate: "mcp__github__c" is already registered by the MCP server "github"; pass replace: true, or rename one',
    )
    expect(add(builtin('A'), true)).toBe(
      'tool-duplicate: "A" is too similar to "a" as a built-in; rename one',
    )
    expect(add(plugin('a'), true)).toBe('tool-duplicate: "a" is built in; no plugin tool may take its name')
    expect(add(builtin('Tool_Search'))).toBe(
      'name-invalid: "Tool_Search" is reserved for the meta-tool tool_search; rename it',
    )
    expect(namesOf(catalogue.snapshot().sorted)).toEqual(['a', 'b', 'mcp__github__c'])
  })

  it('leaves nothing of the old entry when one is replaced', () => {
    const { catalogue } = open()
    catalogue.add(plugin('a', 'old'), { replace: false })
    catalogue.add(builtin('b'), { replace: false })
    const tokens = catalogue.tokens
    const replacing = builtin('a', 'A longer description than before.')
    catalogue.add(replacing, { replace: true })
    const snapshot = catalogue.snapshot()
    expect([...snapshot.groups.keys()]).toEqual(['builtin'])
    expect(namesOf(snapshot.groups.get('builtin') ?? [])).toEqual(['b', 'a'])
    expect(snapshot.get('a')).toBe(replacing)
    expect(catalogue.size).toBe(2)
    expect(catalogue.tokens).toBe(tokens - plugin('a', 'old').tokens + replacing.tokens)
    expect(catalogue.remove('a')).toBe(replacing)
    expect(catalogue.get('a')).toBeUndefined()
  })

  it('lets plugins replace plugins, and built-ins anyone', () => {
    const { catalogue, messageOf } = open()
    catalogue.add(plugin('a', 'one'), { replace: false })
    expect(messageOf(() => catalogue.add(plugin('a', 'two'), { replace: true }))).toBe('nothing thrown')
    expect(messageOf(() => catalogue.add(builtin('a'), { replace: true }))).toBe('nothing thrown')
    expect(catalogue.get('a')?.source).toEqual({ kind: 'builtin' })
  })

  it('frees a name and all that is like it when a tool is removed', () => {
    const { catalogue, changes, messageOf } = open()
    catalogue.add(builtin('send_mail'), { replace: false })
    expect(catalogue.remove('nope')).toBeUndefined()
    expect(changes()).toBe(1)
    expect(catalogue.remove('send_mail')?.name).toBe('send_mail')
    expect(changes()).toBe(2)
    expect(catalogue.snapshot()).toMatchObject({ size: 0, version: 2 })
    expect(catalogue.snapshot().groups.size).toBe(0)
    expect(messageOf(() => catalogue.add(builtin('Send_Mail'), { replace: false }))).toBe('nothing thrown')
  })

  it('adds all or none', () => {
    const { catalogue, changes, messageOf } = open()
    catalogue.add(builtin('taken'), { replace: false })
    const before = catalogue.snapshot()
    expect(messageOf(() => catalogue.addAll([builtin('a'), builtin('b'), builtin('taken')]))).toMatch(
      /^tool-duplicate/,
    )
    expect(catalogue.snapshot()).toBe(before)
    expect(changes()).toBe(1)
    expect(catalogue.get('taken')).toBeDefined()
    catalogue.addAll([builtin('a'), builtin('b')])
    expect(changes()).toBe(2)
    expect(namesOf(catalogue.snapshot().sorted)).toEqual(['a', 'b', 'taken'])
  })

  it('hands out the same snapshot until something changes, and never changes one', () => {
    const { catalogue } = open()
    catalogue.addAll([mcp('b'), mcp('a'), builtin('c')])
    const first = catalogue.snapshot()
    expect(catalogue.snapshot()).toBe(first)
    catalogue.remove('c')
    catalogue.replaceSource(keyOf('s'), [mcp('x')])
    catalogue.quarantine('c', 'changed')
    expect(namesOf(first.sorted)).toEqual(['c', 'mcp__s__a', 'mcp__s__b'])
    expect([first.size, first.quarantined.size, first.get('c')?.name]).toEqual([3, 0, 'c'])
    expect(namesOf(first.groups.get(keyOf('s')) ?? [])).toEqual(['mcp__s__b', 'mcp__s__a'])
    expect(() => (first.sorted as Entry[]).push(builtin('d'))).toThrow(TypeError)
    expect(catalogue.snapshot().version).toBeGreaterThan(first.version)
  })

  it('keeps the group of a source that did not change', () => {
    const { catalogue } = open()
    catalogue.addAll([mcp('a', 'one'), mcp('a', 'two')])
    const before = catalogue.snapshot().groups
    catalogue.replaceSource(keyOf('two'), [mcp('b', 'two')])
    const after = catalogue.snapshot().groups
    expect(after.get(keyOf('one'))).toBe(before.get(keyOf('one')))
    expect(after.get(keyOf('two'))).not.toBe(before.get(keyOf('two')))
    expect(Object.isFrozen(after.get(keyOf('one')))).toBe(true)
  })

  it('reports what a sync added, changed, removed and skipped, and leaves the rest alone', () => {
    const { catalogue, changes } = open()
    catalogue.addAll([mcp('same'), mcp('other'), mcp('gone'), builtin('mcp__s__own')])
    const report = catalogue.replaceSource(keyOf('s'), [
      mcp('same'),
      mcp('other', 's', 'new words'),
      mcp('fresh'),
      mcp('own'),
      mcp('Fresh'),
    ])
    expect(report).toMatchObject({
      added: ['mcp__s__fresh'],
      changed: ['mcp__s__other'],
      removed: ['mcp__s__gone'],
    })
    expect(report.skipped).toEqual([
      { name: 'mcp__s__own', reason: expect.stringContaining('already registered as a built-in') },
      { name: 'mcp__s__Fresh', reason: expect.stringContaining('too similar to "mcp__s__fresh"') },
    ])
    expect(changes()).toBe(2)
    expect(catalogue.get('mcp__s__own')?.source.kind).toBe('builtin')
    expect(catalogue.replaceSource(keyOf('s'), [])).toMatchObject({
      removed: ['mcp__s__same', 'mcp__s__other', 'mcp__s__fresh'],
    })
    expect(catalogue.snapshot().groups.has(keyOf('s'))).toBe(false)
  })

  it('holds back by name, also what is not there yet', () => {
    const { catalogue, changes } = open()
    catalogue.quarantine('a', 'changed')
    expect(catalogue.snapshot().quarantined.get('a')).toBe('changed')
    catalogue.add(builtin('a'), { replace: false })
    expect(catalogue.snapshot().quarantined.get('a')).toBe('changed')
    expect(catalogue.release('a')).toBe(true)
    expect(catalogue.snapshot().quarantined.size).toBe(0)
    expect(changes()).toBe(3)
    expect(catalogue.release('a')).toBe(false)
    expect(changes()).toBe(3)
  })

  it('counts tokens, before and after the first look', () => {
    const { catalogue } = open()
    catalogue.addAll([builtin('a'), mcp('b')])
    const both = builtin('a').tokens + mcp('b').tokens
    expect(catalogue.tokens).toBe(both)
    catalogue.add(builtin('c'), { replace: false })
    expect(catalogue.tokens).toBe(both + builtin('c').tokens)
    catalogue.remove('a')
    catalogue.replaceSource(keyOf('s'), [])
    expect(catalogue.tokens).toBe(builtin('c').tokens)
  })

  it('counts the built-in tools that leave it open whether they are deferred', () => {
    const { catalogue } = open()
    const deferred = localEntry(tool('deferred'), { deferred: true })
    const shown = localEntry(tool('shown'), { deferred: false })
    catalogue.addAll([builtin('a'), builtin('b'), deferred, shown, plugin('c'), mcp('d')])
    expect(catalogue.undecided).toBe(2)
    catalogue.add(builtin('a', 'Another.'), { replace: true })
    expect(catalogue.undecided).toBe(2)
    for (const name of ['deferred', 'shown', 'c', 'mcp__s__d']) catalogue.remove(name)
    expect(catalogue.undecided).toBe(2)
    catalogue.remove('b')
    expect(catalogue.undecided).toBe(1)
  })
})

// The same catalogue as a plain map from names to sources, written the slow and plain way.
class Model {
  readonly tools = new Map<string, { source: string; description: string }>()
  readonly held = new Map<string, string>()

  add({ name, source, definition }: Entry, replace: boolean): boolean {
    const holder = this.tools.get(name)
    const isLike = [...this.tools.keys()].some((other) => fold(other) === fold(name) && other !== name)
    if (isLike || (holder && !replace)) return false
    if (holder?.source === 'builtin' && source.kind !== 'builtin') return false
    this.tools.set(name, { source: sourceKey(source), description: definition.description })
    return true
  }

  sync(key: string, entries: readonly Entry[]) {
    const before = new Map([...this.tools].filter(([, { source }]) => source === key))
    for (const name of before.keys()) this.tools.delete(name)
    const kept = entries.filter((entry) => this.add(entry, false))
    return {
      added: namesOf(kept).filter((name) => !before.has(name)),
      changed: namesOf(
        kept.filter(({ name, definition }) => {
          const old = before.get(name)
          return old && old.description !== definition.description
        }),
      ),
      removed: [...before.keys()].filter((name) => !this.tools.has(name)),
      skipped: namesOf(entries.filter((entry) => !kept.includes(entry))),
    }
  }
}

const fold = (name: string) => name.toLowerCase().replace(/_+/g, '_')

interface Real {
  readonly catalogue: Catalogue
  /** Every snapshot so far, as it was when it was taken. */
  readonly seen: Map<Snapshot, string>
}

const shapeOf = ({ size, sorted, groups, quarantined }: Snapshot) =>
  JSON.stringify([
    size,
    sorted.map(({ name, source, definition }) => [name, sourceKey(source), definition.description]),
    [...groups].map(([key, listings]) => [key, namesOf(listings)]).sort(),
    [...quarantined],
  ])

/** Both must look alike after every command, and no snapshot that was seen may have changed. */
function compare(model: Model, { catalogue, seen }: Real): void {
  const snapshot = catalogue.snapshot()
  if (!seen.has(snapshot)) seen.set(snapshot, shapeOf(snapshot))
  for (const [each, shape] of seen) expect(shapeOf(each)).toBe(shape)
  const sorted = [...model.tools].sort(([a], [b]) => (a < b ? -1 : 1))
  expect(
    snapshot.sorted.map(({ name, source, definition }) => [name, sourceKey(source), definition.description]),
  ).toEqual(sorted.map(([name, { source, description }]) => [name, source, description]))
  expect([snapshot.size, catalogue.size]).toEqual([sorted.length, sorted.length])
  expect([...snapshot.quarantined].sort()).toEqual([...model.held].sort())
  const grouped = [...snapshot.groups].flatMap(([key, listings]) => listings.map(({ name }) => [name, key]))
  expect(grouped.sort()).toEqual(sorted.map(([name, { source }]) => [name, source]))
  expect(catalogue.tokens).toBe(snapshot.sorted.reduce((sum, { tokens }) => sum + tokens, 0))
  expect(catalogue.undecided).toBe(sorted.filter(([, { source }]) => source === 'builtin').length)
  for (const [name] of sorted) expect(catalogue.get(name)).toBe(snapshot.get(name))
}

type Command = fc.Command<Model, Real>
const command = (text: string, run: (model: Model, real: Real) => void): Command => ({
  check: () => true,
  run(model, real) {
    run(model, real)
    compare(model, real)
  },
  toString: () => text,
})
const attempt = (action: () => void): boolean => {
  try {
    action()
    return true
  } catch (error) {
    if (error instanceof ToolcribError && error.code === 'tool-duplicate') return false
    throw error
  }
}

const ownName = fc.constantFrom('a', 'A', 'b', 'b_c', 'b__c', 'mcp__s__a', 'mcp__s__b')
const description = fc.constantFrom('', 'Some words.', 'Other words, and more of them.')
const server = fc.constantFrom('s', 's__b', 'other')
const localTool = fc
  .tuple(ownName, description, fc.constantFrom(undefined, 'p', 'q'))
  .map(([name, words, pluginId]) => localEntry(tool(name, words), pluginId === undefined ? {} : { pluginId }))
const describeEntry = ({ name, source }: Entry) => `${name} of ${sourceKey(source)}`

const commands = [
  fc.tuple(localTool, fc.boolean()).map(([entry, replace]) =>
    command(`add(${describeEntry(entry)}, ${replace})`, (model, { catalogue }) => {
      expect(attempt(() => catalogue.add(entry, { replace }))).toBe(model.add(entry, replace))
    }),
  ),
  fc.array(localTool, { maxLength: 4 }).map((entries) =>
    command(`addAll(${entries.map(describeEntry).join(', ')})`, (model, { catalogue }) => {
      const before = new Map(model.tools)
      const isFine = entries.every((entry) => model.add(entry, false))
      if (!isFine) {
        model.tools.clear()
        for (const [name, held] of before) model.tools.set(name, held)
      }
      expect(attempt(() => catalogue.addAll(entries))).toBe(isFine)
    }),
  ),
  fc.constantFrom('a', 'b', 'b_c', 'mcp__s__a', 'mcp__other__b', 'nope').map((name) =>
    command(`remove(${name})`, (model, { catalogue }) => {
      expect(catalogue.remove(name)?.name).toBe(model.tools.has(name) ? name : undefined)
      model.tools.delete(name)
    }),
  ),
  fc.tuple(server, fc.array(fc.tuple(ownName, description), { maxLength: 4 })).map(([of, listed]) =>
    command(`sync(${of}: ${listed.map(([name]) => name).join(', ')})`, (model, { catalogue }) => {
      const entries = listed.map(([name, words]) => mcp(name, of, words))
      const report = catalogue.replaceSource(keyOf(of), entries)
      expect({ ...report, skipped: namesOf(report.skipped) }).toEqual(model.sync(keyOf(of), entries))
    }),
  ),
  fc.tuple(ownName, fc.boolean()).map(([name, isHeld]) =>
    command(`${isHeld ? 'quarantine' : 'release'}(${name})`, (model, { catalogue }) => {
      if (isHeld) {
        catalogue.quarantine(name, `why ${name}`)
        model.held.set(name, `why ${name}`)
      } else expect(catalogue.release(name)).toBe(model.held.delete(name))
    }),
  ),
]

describe('any sequence of changes', () => {
  it('leaves what a plain map would hold', () => {
    fc.assert(
      fc.property(fc.commands(commands, { maxCommands: 30 }), (given) => {
        fc.modelRun(
          () => ({ model: new Model(), real: { catalogue: open().catalogue, seen: new Map() } }),
          given,
        )
      }),
      { numRuns: 100 },
    )
  })
})
