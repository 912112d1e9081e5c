import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memorySpill, ReducerRegistry, ToolRegistry } from 'toolcrib'
import { builtinTools } from 'toolcrib/builtin-tools'
import { fsReachBackend, processBackend, secretsBackend, storageBackend } from 'toolcrib/capabilities'
import { afterAll, describe, expect, it } from 'vitest'
import { ask, call, shown } from './helpers.ts'

const folder = mkdtempSync(join(tmpdir(), 'toolcrib-builtin-'))
afterAll(() => rmSync(folder, { recursive: true }))
const lines = Array.from({ length: 3_000 }, (_, index) => `line ${index + 1} of a long file`)
writeFileSync(join(folder, 'long.txt'), lines.join('\n'))
writeFileSync(join(folder, '.env'), 'API_TOKEN=s3cr3t-value-42\n')

function openRegistry(options = {}) {
  const registry = new ToolRegistry({
    mode: 'full',
    spill: memorySpill(),
    capabilities: {
      fs_reach: fsReachBackend({ read: [folder], write: [folder], base: folder }),
      process: processBackend({ commands: ['node'] }),
      secrets: secretsBackend({ env: ['API_TOKEN'], environment: { API_TOKEN: 's3cr3t-value-42' } }),
      storage: storageBackend(),
    },
    ...options,
  })
  registry.registerAll(builtinTools())
  return registry
}

describe('the built-in tools in a registry', () => {
  it('come with their reducers', async () => {
    const session = await openRegistry().openSession()
    const result = await call(session, 'read_file', { path: 'long.txt' })
    const value = result.ok ? result.value : ''
    expect(value).toContain('line 200 of')
    expect(value).not.toContain('line 201 of')
    expect(value).toContain('lineStart')
    expect(
      await call(session, 'read_file', { path: 'long.txt', lineStart: 1000, lineEnd: 1001 }),
    ).toMatchObject({
      ok: true,
      value: expect.stringContaining('line 1001 of'),
    })
  })

  it('let the host choose another reducer', async () => {
    const reducers = new ReducerRegistry()
    reducers.register({ toolName: 'read_file', reduce: () => ({ ok: true, value: 'short' }) })
    const session = await openRegistry({ reducers }).openSession()
    expect(await call(session, 'read_file', { path: 'long.txt' })).toEqual({ ok: true, value: 'short' })
  })

  it('never print a secret, wherever it comes from', async () => {
    const session = await openRegistry().openSession()
    const results = await session.execute([
      { toolCallId: '1', name: 'read_file', args: { path: '.env' } },
      { toolCallId: '2', name: 'exec', args: { command: 'node', args: ['-p', '"s3cr3t-" + "value-42"'] } },
    ])
    expect(results.every(({ result }) => result.ok)).toBe(true)
    expect(JSON.stringify(results)).not.toContain('s3cr3t-value-42')
  })

  it('spill trimmed output, readable by handle', async () => {
    const session = await openRegistry({ resultBudgetChars: 2_000 }).openSession()
    const result = await call(session, 'exec', {
      command: 'node',
      args: ['-e', 'for (let i = 0; i < 400; i++) console.log("row " + i)'],
    })
    const value = result.ok ? result.value : ''
    expect(value.length).toBeLessThanOrEqual(2_000)
    expect(shown(session)).toContain('read_result')
    const spilled = /handle:? "?([\w-]+)/.exec(value)?.[1] ?? ''
    const read = await ask(session, 'read_result', { handle: spilled, pattern: 'row 399' })
    expect(JSON.stringify(read)).toContain('row 399')
  })

  it('keep a board and memories', async () => {
    const session = await openRegistry().openSession()
    await call(session, 'kanban_add', { title: 'Mend the roof' })
    expect(await call(session, 'kanban_list')).toMatchObject({
      ok: true,
      value: expect.stringContaining('Mend the roof'),
    })
    await call(session, 'memory_save', { text: 'The roof is of slate.' })
    expect(await call(session, 'memory_search', { query: 'roof' })).toMatchObject({
      ok: true,
      value: expect.stringContaining('slate'),
    })
  })

  it('do nothing without a backend', async () => {
    const session = await openRegistry({ capabilities: {} }).openSession()
    for (const name of ['exec', 'read_file', 'write_file', 'web_fetch', 'memory_search', 'kanban_list']) {
      expect(
        await call(session, name, { path: 'x', command: 'node', url: 'http://x', query: 'x', content: 'x' }),
      ).toMatchObject({ ok: false, code: 'not_available' })
    }
  })
})
