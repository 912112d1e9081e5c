import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Tool } from '../tool.ts'
import { Catalogue } from './catalogue.ts'
import { Registrar, type SyncOptions } from './registrar.ts'

const tool = (name: string, more: Partial<Tool> = {}): Tool => ({
  name,
  description: 'Reads a file',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
  execute: () => ({ ok: true, value: '' }),
  ...more,
})

function open() {
  const catalogue = new Catalogue([], () => {})
  const registrar = new Registrar(catalogue, () => {})
  const sync = (tools: readonly Tool[], options: SyncOptions = {}) => {
    const report = registrar.syncMcp('files', tools, options)
    return { report, entry: catalogue.get('mcp__files__read') }
  }
  const prepare = (tools: readonly Tool[], options: SyncOptions = {}) =>
    registrar.prepareMcp('files', tools, options)
  return { catalogue, sync, prepare }
}

it('keeps the definition and the listing of a tool that reads the same when its server is synced again', () => {
  const { catalogue, sync } = open()
  const before = sync([tool('read', { searchHint: 'open' }), tool('write')])
  const fingerprint = before.entry?.fingerprint
  const execute = () => ({ ok: true, value: 'new' }) as const
  const after = sync([tool('read', { searchHint: 'open', execute }), tool('write', { description: 'Saves' })])
  expect(after.report.changed).toEqual(['mcp__files__write'])
  expect(after.entry).not.toBe(before.entry)
  expect(after.entry?.definition).toBe(before.entry?.definition)
  expect(after.entry?.listing).toBe(before.entry?.listing)
  expect(after.entry?.fingerprint).toBe(fingerprint)
  expect(after.entry?.tool.execute({}, {} as never)).toEqual({ ok: true, value: 'new' })
  const [read, write] = catalogue.snapshot().groups.get('mcp:files') ?? []
  expect([read === before.entry?.listing, write?.description]).toEqual([true, 'Saves'])
})

it.each<[string, Partial<Tool>, SyncOptions?]>([
  ['description', { description: 'Reads any file' }],
  ['schema', { inputSchema: { type: 'object' } }],
  ['title', { title: 'Read' }],
  ['hint', { searchHint: 'open' }],
  ['trust', {}, { trust: true }],
])('makes another listing for another %s', (_, more, options) => {
  const { sync } = open()
  const before = sync([tool('read')])
  const after = sync([tool('read', more)], options)
  expect(after.entry?.listing).not.toBe(before.entry?.listing)
  expect(after.entry?.listing).toMatchObject({ name: 'mcp__files__read', ...pickText(more) })
})

it('gives all tools of a server one source', () => {
  const { catalogue, sync } = open()
  sync([tool('read'), tool('write')])
  const [read, write] = catalogue.snapshot().sorted
  expect(read?.source).toBe(write?.source)
  expect(read?.source).toEqual({ kind: 'mcp', server: 'files' })
})

function pickText({ description, title, searchHint }: Partial<Tool>) {
  return Object.fromEntries(
    Object.entries({ description, title, searchHint }).filter(([, text]) => text !== undefined),
  )
}

it('registers prepared tools as they were when they were prepared, and only when they are synced', async () => {
  const { catalogue, sync, prepare } = open()
  const tools = [tool('read'), tool('bad\u200bname'), tool('write')]
  await prepare(tools)
  expect(catalogue.size).toBe(0)
  const { report } = sync(tools)
  expect(report.skipped).toMatchObject([{ name: 'bad\u200bname' }])
  expect(catalogue.size).toBe(2)
})

it('ends the same with and without preparation, whatever happened in between', async () => {
  const lists = fc.uniqueArray(fc.constantFrom('read', 'write', 'send', 'bad\u200bname'), { maxLength: 4 })
  const options = fc.constantFrom<SyncOptions>({}, { lazy: false }, { approved: true })
  const step = fc.record({
    does: fc.constantFrom('prepare' as const, 'sync' as const, 'both' as const),
    lists,
    version: fc.nat(2),
    options,
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const [prepared, plain] = [open(), open()]
      const known = new Map<string, Tool>()
      for (const { does, lists: names, version, options: given } of steps) {
        const tools = names.map((name) => {
          const key = `${name} ${version}`
          const made = known.get(key) ?? tool(name, { description: key })
          known.set(key, made)
          return made
        })
        if (does !== 'sync') await prepared.prepare(tools, given)
        if (does === 'prepare') continue
        expect(prepared.sync(tools, given).report).toEqual(plain.sync(tools, given).report)
      }
      const state = ({ catalogue }: ReturnType<typeof open>) =>
        catalogue
          .snapshot()
          .sorted.map(({ listing, deferral, fingerprint }) => [listing, deferral, fingerprint])
      expect(state(prepared)).toEqual(state(plain))
    }),
  )
})
