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
  return { catalogue, sync }
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
