import { memoryStore, ToolRegistry } from '@toolcrib/core'
import { describe, expect, it } from 'vitest'
import { connectServers } from '../connect-servers.ts'
import type { OpenConnection } from '../connection/connect.ts'
import { lockServers } from '../lock/lockfile.ts'
import { begin, call, storeWith, World } from './fake-world.fixture.ts'

const CONFIG = { servers: { a: { command: 'x' } } }
const NOTHING_APPROVED = lockServers(new Map())
const REFUSED = {
  state: 'failed',
  needs: 'approval',
  reason: expect.stringContaining('not in toolcrib.lock'),
}

describe('a server that a lockfile rejects while it connects', () => {
  it('is not used, although the previous lockfile approved it', async () => {
    const world = new World({})
    const registry = new ToolRegistry()
    let open = () => {}
    world.opening = new Promise((resolve) => {
      open = resolve
    })
    const servers = connectServers(registry, CONFIG, world.options)
    await world.settle()
    await servers.relock(NOTHING_APPROVED)
    open()
    await world.settle()
    expect(servers.status()).toMatchObject([REFUSED])
    expect(world.isConnected).toBe(false)
    expect(registry.size).toBe(0)

    await servers.relock(undefined)
    expect(await servers.ready()).toMatchObject([{ state: 'ready' }])
    expect(await call(registry)).toMatchObject({ ok: true })
  })

  it('is not started, although it was approved when its delay began', async () => {
    const { world, servers } = await begin({ failures: 1 })
    const client = expect(servers.client('a')).rejects.toMatchObject({
      message: expect.stringContaining('not in toolcrib.lock'),
    })
    await servers.relock(NOTHING_APPROVED)
    await world.pass(60_000)
    await client
    expect(world.opened).toBe(1)
    expect(servers.status()).toMatchObject([REFUSED])
  })

  it('does not register tools listed in the meantime', async () => {
    const world = new World({})
    const registry = new ToolRegistry()
    const list = world.holdBack('tools/list')
    const servers = connectServers(registry, CONFIG, world.options)
    await world.settle()
    await servers.relock(NOTHING_APPROVED)
    list.goOn()
    await world.settle()
    expect(servers.status()).toMatchObject([REFUSED])
    expect(world.isConnected).toBe(false)
    expect(registry.size).toBe(0)
    await world.pass(60_000)
    expect(world.opened).toBe(1)
  })

  it('does not register tools loaded from the cache in the meantime', async () => {
    const world = new World({})
    const registry = new ToolRegistry()
    let recall = () => {}
    const recalled = new Promise<void>((resolve) => {
      recall = resolve
    })
    const tools = [{ name: 'echo', description: '', inputSchema: true }]
    const catalogue = { version: 2, tools }
    const store = storeWith(memoryStore(), {
      get: (key) => recalled.then(() => (key.startsWith('catalogue:') ? catalogue : undefined)),
    })
    const servers = connectServers(registry, CONFIG, { ...world.options, store })
    await world.settle()
    await servers.relock(NOTHING_APPROVED)
    recall()
    await world.settle()
    expect(servers.status()).toMatchObject([REFUSED])
    expect(registry.size).toBe(0)
  })
})

describe('a server that died', () => {
  it('and cannot be restarted is reported with both reasons', async () => {
    const { registry, world } = await begin({})
    world.die('it was killed by SIGKILL')
    world.fail('no such thing')
    const answer = call(registry)
    await world.pass(200)
    expect(await answer).toMatchObject({
      ok: false,
      code: 'not_available',
      error: expect.stringContaining('no such thing (before that: it was killed by SIGKILL)'),
    })
    // The same reason is not repeated.
    const next = call(registry)
    await world.pass(400)
    expect(await next).toMatchObject({ error: expect.not.stringContaining('before that') })
  })
})

describe('an idle server', () => {
  it('is kept running by requests of its client', async () => {
    const { world, servers } = await begin({ config: { idleMs: 1_000 } })
    const client = await servers.client('a')
    await world.pass(999)
    await client.ping()
    await world.pass(999)
    expect(servers.status()).toMatchObject([{ state: 'ready' }])
    await world.pass(1)
    expect(servers.status()).toMatchObject([{ state: 'cold' }])
  })

  it('is kept running by requests for its client', async () => {
    const { world, servers } = await begin({ config: { idleMs: 1_000 } })
    await world.pass(999)
    await servers.client('a')
    await world.pass(999)
    expect(servers.status()).toMatchObject([{ state: 'ready' }])
  })

  it('is not stopped while its client waits for a response', async () => {
    const { world, servers } = await begin({ config: { idleMs: 1_000 } })
    const client = await servers.client('a')
    world.unanswered.add('resources/list')
    const waiting = client.request({ method: 'resources/list' }).catch(() => {})
    await world.pass(10_000)
    expect(servers.status()).toMatchObject([{ state: 'ready' }])
    await servers.close()
    await waiting
  })

  it('is not kept running by pings or list refreshes', async () => {
    const { world, servers } = await begin({ config: { idleMs: 61_000 } })
    await world.pass(60_000)
    world.notify('notifications/tools/list_changed')
    await world.pass(1_000)
    expect(servers.status()).toMatchObject([{ state: 'cold' }])
  })
})

describe('a list that changes', () => {
  it('while its server is down is read from the next connection', async () => {
    const { registry, world } = await begin({ config: { idleMs: 1_000 } })
    await world.pass(900)
    world.notify('notifications/tools/list_changed')
    await world.pass(100)
    world.tools = [{ name: 'echo' }, { name: 'late' }]
    await call(registry)
    await world.pass(300)
    expect(registry.has('mcp__a__late')).toBe(true)
  })
})

describe('a server whose package a lockfile pins', () => {
  const config = { command: 'npx', args: ['-y', 'server', '--flag'] }
  const TOOLS = ['echo', 'add'].map((name) => ({ name, description: '', inputSchema: { type: 'object' } }))
  const lockWith = (runs: string) => lockServers(new Map([['a', { config, tools: TOOLS, runs }]]))

  it.each([['on-demand'], ['eager']])(
    'runs the approved version, also after another one is approved (%s)',
    async (start) => {
      const world = new World({})
      const started: (readonly string[] | undefined)[] = []
      const open: OpenConnection = (request, openDirectly) => {
        started.push(request.config.args)
        return world.options.open?.(request, openDirectly) ?? openDirectly(request)
      }
      const registry = new ToolRegistry()
      const servers = connectServers(
        registry,
        { servers: { a: { ...config, ...(start === 'eager' ? { start: 'eager' as const } : {}) } } },
        { ...world.options, open, lockfile: lockWith('server@1.4.2') },
      )
      expect(await servers.ready()).toMatchObject([{ state: 'ready' }])
      expect(started).toEqual([['-y', 'server@1.4.2', '--flag']])
      await servers.relock(lockWith('server@1.4.2'))
      expect(started).toHaveLength(1)
      await servers.relock(lockWith('server@1.5.0'))
      await world.settle()
      expect(started).toHaveLength(start === 'eager' ? 2 : 1)
      expect(await call(registry)).toMatchObject({ ok: true })
      expect(started[1]).toEqual(['-y', 'server@1.5.0', '--flag'])
      await servers.relock(undefined)
      expect(await call(registry)).toMatchObject({ ok: true })
      expect(started[2]).toEqual(config.args)
    },
  )

  it('has a catalogue of its own for each version', async () => {
    const store = memoryStore()
    const stateWith = async (runs: string) => {
      const options = { ...new World({}).options, store, lockfile: lockWith(runs) }
      const servers = connectServers(new ToolRegistry(), { servers: { a: config } }, options)
      const [status] = await servers.ready()
      await servers.close()
      return status?.state
    }
    expect(await stateWith('server@1.4.2')).toBe('ready')
    expect(await stateWith('server@1.4.2')).toBe('cold')
    expect(await stateWith('server@1.5.0')).toBe('ready')
  })
})
