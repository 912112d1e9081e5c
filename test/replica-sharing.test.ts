import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { defineTool, hybrid, ToolRegistry } from 'toolcrib'
import { connectServers, lockServers, readConfig } from 'toolcrib/mcp'
import { redisAnnouncements, redisStore } from 'toolcrib/redis'
import { storeSpill } from 'toolcrib/stores'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { fakeEmbedder } from '../packages/core/src/search/vectors/fake-embedder.fixture.ts'
import { connectClient, openGateway } from './gateway.fixture.ts'
import { ask } from './helpers.ts'
import { MODERN_SERVER, script } from './mcp/reference-servers.fixture.ts'

const MODERN = script(MODERN_SERVER)
const CHANGING = new URL('./fixtures/changing-server.mjs', import.meta.url).pathname

const redisUrl = inject('redisUrl')

describe.skipIf(redisUrl === undefined)('replicas on one Redis', () => {
  function share() {
    const where = { url: redisUrl ?? '', prefix: `${crypto.randomUUID()}:` }
    const open = () => {
      const opened = { store: redisStore(where), announcements: redisAnnouncements(where) }
      onTestFinished(async () => {
        await Promise.all([opened.store.close(), opened.announcements.close()])
      })
      return opened
    }
    return { prefix: where.prefix, open }
  }

  it('embed each tool once: what one has embedded, the next reads', async () => {
    const { open } = share()
    async function searchedTexts(): Promise<string[]> {
      const texts: string[] = []
      const embedder = fakeEmbedder()
      const embed = (given: readonly string[]) => {
        texts.push(...given)
        return embedder.embed(given)
      }
      const registry = new ToolRegistry({ searcher: hybrid({ embedder: { ...embedder, embed } }) })
      const { store, announcements } = open()
      const servers = { modern: MODERN }
      const { gateway, servers: connected } = await openGateway(
        servers,
        { registry, store, announcements, mode: 'lazy' },
        { store },
      )
      const client = await connectClient(gateway)
      const found = await client.callTool({ name: 'tool_search', arguments: { query: 'add two numbers' } })
      expect(JSON.stringify(found)).toContain('modern__add')
      // What is left to save is saved.
      await connected.close()
      // The request itself is embedded, alone and with other words for the same.
      return texts.filter((text) => !text.startsWith('add two numbers'))
    }
    expect((await searchedTexts()).length).toBeGreaterThan(3)
    expect(await searchedTexts()).toEqual([])
  })

  it('read what another has spilled, for the same session alone', async () => {
    const { open } = share()
    const rows = Array.from({ length: 2_000 }, (_, row) => `row ${row}`).join('\n')
    async function openSession(id: string) {
      const { store } = open()
      const registry = new ToolRegistry({ spill: storeSpill(store) })
      const inputSchema = { type: 'object' } as const
      registry.register(
        defineTool({ name: 'rows', description: 'All rows.', inputSchema, execute: async () => rows }),
      )
      return registry.openSession({ id, store })
    }
    const first = await openSession('s')
    const [answer] = await first.execute([{ toolCallId: '1', name: 'rows', args: {} }], {
      resultBudgetChars: 2_000,
    })
    const handle = /\br_\w+/.exec(JSON.stringify(answer?.result))?.[0]
    expect(handle).toBeDefined()
    const elsewhere = await openSession('s')
    expect(JSON.stringify(await ask(elsewhere, 'read_result', { handle, pattern: 'row 1777' }))).toContain(
      'row 1777',
    )
    expect(await ask(await openSession('another'), 'read_result', { handle })).toMatchObject({ found: false })
  })

  it('hold back everywhere what a lockfile does not approve, until every one of them has read the new one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolcrib-replicas-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'tools.json')
    const tool = (name: string) => ({ name, description: name, inputSchema: { type: 'object' } })
    const list = (...names: string[]) => writeFileSync(file, JSON.stringify(names.map(tool)))
    const mcpServers = { changing: { ...script(CHANGING, file), start: 'on-demand' } }
    const lock = async () => {
      const servers = connectServers(new ToolRegistry(), { mcpServers })
      await servers.ready()
      const config = readConfig({ mcpServers }).servers.changing
      const tools = servers.tools('changing')
      await servers.close()
      if (!config) throw new Error('it is configured')
      return lockServers(new Map([['changing', { config, tools }]]))
    }
    list('announce')
    let lockfile = await lock()
    const { open } = share()
    const replicas = await Promise.all(
      [0, 1].map(async () => {
        const { store, announcements } = open()
        const onReload = () => void opened.servers.relock(lockfile)
        const opened = await openGateway(
          mcpServers,
          { store, announcements, onReload, mode: 'full' },
          { store, lockfile },
        )
        return opened
      }),
    )
    const [first] = replicas
    if (!first) throw new Error('two were opened')
    const states = () => replicas.map(({ registry }) => registry.explain('mcp__changing__newcomer').state)
    list('announce', 'newcomer')
    const client = await connectClient(first.gateway)
    await client.callTool({ name: 'changing__announce', arguments: {} })
    await vi.waitUntil(() => states().every((state) => state === 'quarantined'), { timeout: 15_000 })
    // A person approves it, and one of them reads the file.
    lockfile = await lock()
    await first.servers.relock(lockfile)
    first.gateway.announceReload()
    await vi.waitUntil(() => states().every((state) => state === 'visible'), { timeout: 15_000 })
  })

  it('read lists and files again when they have missed announcements', async () => {
    const { open, prefix } = share()
    const onReload = vi.fn()
    const { store, announcements } = open()
    const { servers } = await openGateway(
      { modern: MODERN },
      { store, announcements, onReload, mode: 'full' },
      { store },
    )
    const refresh = vi.spyOn(servers, 'refresh')
    const admin = new Redis(redisUrl ?? '')
    onTestFinished(() => admin.disconnect())
    const { announcements: another } = open()
    // Subscribing takes a moment; a gap before that does not count.
    await vi.waitUntil(
      async () => {
        await admin.incrby(`${prefix}{announcements}:count`, 5)
        await another.publish('something', {})
        return onReload.mock.calls.length > 0
      },
      { timeout: 10_000 },
    )
    expect(refresh).toHaveBeenCalledWith('modern')
  })
})
