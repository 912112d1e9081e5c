import { describe, expect, it } from 'vitest'
import type { ServerTool } from '../listed/server-tool.ts'
import { changeDigest, compareWithLock, type FieldChange, type LockChange } from './compare.ts'
import { lockServers, type ObservedServer } from './lockfile.ts'

const ECHO: ServerTool = { name: 'echo', description: 'Repeats.', inputSchema: { type: 'object' } }
const SERVER: ObservedServer = { config: { command: 'x' }, tools: [ECHO] }

const observe = (servers: Readonly<Record<string, ObservedServer>>) => new Map(Object.entries(servers))
const compare = (before: Record<string, ObservedServer>, after: Record<string, ObservedServer>) =>
  compareWithLock(lockServers(observe(before)), observe(after))

describe('compareWithLock', () => {
  it('finds no change in what was approved', () => {
    expect(compare({ a: SERVER }, { a: SERVER })).toEqual([])
  })

  it('names servers that came and went, in order', () => {
    const changes = compare(
      { b: SERVER, d: SERVER },
      { d: SERVER, c: { ...SERVER, runs: 'x@1.0.0' }, a: SERVER },
    )
    expect(changes).toEqual([
      {
        kind: 'server-added',
        server: 'a',
        fields: [
          { path: 'command', after: 'x' },
          { path: 'transport', after: 'stdio' },
        ],
      },
      { kind: 'server-removed', server: 'b' },
      {
        kind: 'server-added',
        server: 'c',
        fields: [
          { path: 'command', after: 'x' },
          { path: 'runs', after: 'x@1.0.0' },
          { path: 'transport', after: 'stdio' },
        ],
      },
    ])
  })

  it('compares no server that is exempt', () => {
    const lockfile = { ...lockServers(observe({ a: SERVER })), exempt: new Set(['a', 'b']) }
    expect(compareWithLock(lockfile, observe({ a: { config: { command: 'y' } }, b: SERVER }))).toEqual([])
    expect(compareWithLock(lockfile, observe({}))).toEqual([])
  })

  it('compares the command, what it runs and its program, and not its tools when one of them changed', () => {
    const tools = [{ ...ECHO, description: 'Other.' }]
    const before = { ...SERVER, config: { command: 'npx', args: ['server'] }, runs: 'server@1.0.0' }
    const fieldsWith = (now: Partial<ObservedServer>) =>
      compare({ a: before }, { a: { ...before, tools, ...now } })
    const changed = (...fields: FieldChange[]) => [{ kind: 'command-changed', server: 'a', fields }]
    expect(fieldsWith({ config: { command: 'npx', args: ['other'] } })).toEqual(
      changed({ path: 'args.0', before: 'server', after: 'other' }),
    )
    expect(fieldsWith({ runs: 'server@1.1.0' })).toEqual(
      changed({ path: 'runs', before: 'server@1.0.0', after: 'server@1.1.0' }),
    )
    const program = { before: '/usr/bin/npx', after: '/tmp/npx' }
    expect(fieldsWith({ program })).toEqual(changed({ path: 'program', ...program }))
    // What is not known has not changed.
    expect(fieldsWith({ runs: undefined })).toMatchObject([{ kind: 'tool-changed' }])
    const unknown = { ...before, runs: undefined }
    expect(compare({ a: unknown }, { a: { ...unknown, runs: 'server@1.0.0' } })).toEqual([])
  })

  it('compares no tools of a server that did not say which it has', () => {
    expect(compare({ a: SERVER }, { a: { config: SERVER.config } })).toEqual([])
    expect(compare({ a: SERVER }, { a: { ...SERVER, tools: [] } })).toMatchObject([{ kind: 'tool-removed' }])
  })

  it('names tools that came, went and changed, in order', () => {
    const tool = (name: string, description = 'Repeats.') => ({ ...ECHO, name, description })
    const before = { ...SERVER, tools: [tool('b'), tool('c'), tool('d')] }
    const after = { ...SERVER, tools: [tool('d'), tool('c', 'Sends.'), tool('a')] }
    expect(compare({ s: before }, { s: after })).toEqual([
      {
        kind: 'tool-added',
        server: 's',
        tool: 'a',
        name: 'mcp__s__a',
        definition: { description: 'Repeats.', inputSchema: { type: 'object' } },
      },
      { kind: 'tool-removed', server: 's', tool: 'b', name: 'mcp__s__b' },
      {
        kind: 'tool-changed',
        server: 's',
        tool: 'c',
        name: 'mcp__s__c',
        fields: [{ path: 'description', before: 'Repeats.', after: 'Sends.' }],
      },
    ])
  })

  const changesOf = (
    before: Record<string, unknown>,
    after: Record<string, unknown>,
  ): readonly FieldChange[] => {
    const withSchema = (inputSchema: Record<string, unknown>): ObservedServer => ({
      ...SERVER,
      tools: [{ ...ECHO, inputSchema }],
    })
    const [change] = compare({ a: withSchema(before) }, { a: withSchema(after) })
    if (change?.kind !== 'tool-changed') throw new Error('no change')
    return change.fields
  }

  it.each<[string, Record<string, unknown>, Record<string, unknown>, readonly FieldChange[]]>([
    [
      'a value deep inside',
      { properties: { path: { type: 'string' }, n: {} } },
      { properties: { path: { type: 'number' }, n: {} } },
      [{ path: 'inputSchema.properties.path.type', before: 'string', after: 'number' }],
    ],
    ['an added key', {}, { default: null }, [{ path: 'inputSchema.default', after: null }]],
    ['a removed key', { default: null }, {}, [{ path: 'inputSchema.default', before: null }]],
    [
      'a list instead of an object',
      { default: {} },
      { default: [] },
      [{ path: 'inputSchema.default', before: {}, after: [] }],
    ],
    [
      'an object instead of a list',
      { default: [1] },
      { default: { 0: 1 } },
      [{ path: 'inputSchema.default', before: [1], after: { 0: 1 } }],
    ],
    [
      'text instead of an object',
      { default: { a: 1 } },
      { default: 'a' },
      [{ path: 'inputSchema.default', before: { a: 1 }, after: 'a' }],
    ],
    [
      'a key that every object has',
      { default: { constructor: 1 } },
      { default: {} },
      [{ path: 'inputSchema.default.constructor', before: 1 }],
    ],
    [
      'an item inserted in a list',
      { default: [1, 2, 3] },
      { default: [1, 9, 2, 3] },
      [{ path: 'inputSchema.default.1', after: 9 }],
    ],
    [
      'an item removed from a list',
      { default: [1, 9, 2] },
      { default: [1, 2] },
      [{ path: 'inputSchema.default.1', before: 9 }],
    ],
    [
      'items changed in a list',
      { default: [0, { a: 1 }, 5, 9] },
      { default: [0, { a: 2 }, 6, 9] },
      [
        { path: 'inputSchema.default.1.a', before: 1, after: 2 },
        { path: 'inputSchema.default.2', before: 5, after: 6 },
      ],
    ],
    [
      'a repeated item added',
      { default: [1, 1] },
      { default: [1, 1, 1] },
      [{ path: 'inputSchema.default.2', after: 1 }],
    ],
    [
      'the first item of a list',
      { default: [] },
      { default: [7] },
      [{ path: 'inputSchema.default.0', after: 7 }],
    ],
    [
      'several keys, in order',
      { b: 1, a: 1 },
      { c: 1, a: 2 },
      [
        { path: 'inputSchema.a', before: 1, after: 2 },
        { path: 'inputSchema.b', before: 1 },
        { path: 'inputSchema.c', after: 1 },
      ],
    ],
  ])('describes %s', (_what, before, after, fields) => {
    expect(changesOf(before, after)).toEqual(fields)
  })
})

describe('changeDigest', () => {
  it('identifies one change', () => {
    const change: LockChange = { kind: 'server-removed', server: 'a' }
    expect(changeDigest(change)).toMatch(/^[0-9a-f]{16}$/)
    expect(changeDigest({ server: 'a', kind: 'server-removed' })).toBe(changeDigest(change))
    expect(changeDigest({ ...change, server: 'b' })).not.toBe(changeDigest(change))
  })
})
