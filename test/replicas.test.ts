import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ToolcribError } from 'toolcrib'
import type { Gateway, GatewayOptions } from 'toolcrib/gateway'
import type { ConnectOptions } from 'toolcrib/mcp'
import { redisAnnouncements, redisStore } from 'toolcrib/redis'
import { type Announcements, announcementBoard, memoryStore, type Store, watchStore } from 'toolcrib/stores'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { connectClient, openGateway, rawRequest, URL_OF_GATEWAY } from './gateway.fixture.ts'
import { MODERN_SERVER, referenceServer, script } from './mcp/reference-servers.fixture.ts'

const MODERN = script(MODERN_SERVER)
const EVERYTHING = script(referenceServer('everything'))
const SLOW = new URL('./fixtures/slow-server.mjs', import.meta.url).pathname
const CHANGING = new URL('./fixtures/changing-server.mjs', import.meta.url).pathname
const SAMPLE = { name: 'everything__trigger-sampling-request', arguments: { prompt: 'hi', maxTokens: 9 } }

const redisUrl = inject('redisUrl')

/** What replicas share: a real Redis where there is one, otherwise something in this process. */
function share(): { store: Store; announcements: () => Announcements } {
  if (redisUrl === undefined) {
    const board = announcementBoard()
    return { store: memoryStore(), announcements: () => board.open() }
  }
  const where = { url: redisUrl, prefix: `${crypto.randomUUID()}:` }
  return { store: redisStore(where), announcements: () => redisAnnouncements(where) }
}

describe('two replicas', () => {
  async function openReplicas(
    servers: Record<string, object>,
    options: Partial<GatewayOptions> = {},
    connect: ConnectOptions = {},
  ) {
    const shared = share()
    const { store } = shared
    onTestFinished(() => store.close())
    const watching = shared.announcements()
    onTestFinished(() => watching.close())
    /** The topics of what is announced. */
    const heard: string[] = []
    watching.subscribe({ announced: ({ topic }) => void heard.push(topic), missed: () => {} })
    const opened = await Promise.all(
      [0, 1].map(async () => {
        const announcements = shared.announcements()
        onTestFinished(() => announcements.close())
        const all = { store, announcements, ...options }
        return openGateway(servers, all, { store, ...connect })
      }),
    )
    const [first, second] = opened
    if (!first || !second) throw new Error('two were opened')
    let turn = 0
    // Every request, whatever it belongs to, goes to the other replica than the one before it.
    const alternating = {
      fetch: (request: Request) => (++turn % 2 === 0 ? first : second).gateway.fetch(request),
    }
    return { first, second, gateways: opened.map(({ gateway }) => gateway), alternating, store, heard }
  }

  /** Timers of which those with one delay fire when the test says so. */
  function heldTimers(heldMs: number) {
    const held = new Set<() => void>()
    const schedule = (ms: number, fire: () => void) => {
      const timer = ms === heldMs ? undefined : setTimeout(fire, ms).unref()
      if (ms === heldMs) held.add(fire)
      return () => {
        held.delete(fire)
        clearTimeout(timer)
      }
    }
    const settled = () => {
      for (const fire of [...held]) fire()
      held.clear()
    }
    return { schedule, settled }
  }

  const idle = (gateways: readonly Gateway[]) =>
    vi.waitUntil(() => gateways.every((gateway) => gateway.status().callsUnderWay === 0), { timeout: 10_000 })

  it.each(['legacy', 'modern'] as const)(
    'pass the answer of a %s client on to the one that asked',
    async (era) => {
      const { alternating, gateways } = await openReplicas({ everything: EVERYTHING })
      const client = await connectClient(alternating, { era, capabilities: { sampling: {} } })
      client.setRequestHandler('sampling/createMessage', async () => ({
        model: 'm',
        role: 'assistant',
        content: { type: 'text', text: `ada says ${'hello'.repeat(80_000)}` },
      }))
      for (let round = 0; round < 3; round++)
        expect(JSON.stringify(await client.callTool(SAMPLE))).toContain('ada says hello')
      await idle(gateways)
      expect(gateways.map((gateway) => gateway.status().callsParked)).toEqual([0, 0])
    },
  )

  it('end a call that the client cancels at the other', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolcrib-replicas-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const notes = join(folder, 'notes')
    writeFileSync(notes, '')
    const { alternating, gateways } = await openReplicas({ slow: script(SLOW, notes) })
    const client = await connectClient(alternating, { era: 'legacy' })
    const abort = new AbortController()
    const calling = client.callTool({ name: 'slow__wait', arguments: {} }, { signal: abort.signal })
    calling.catch(() => {})
    await vi.waitUntil(() => readFileSync(notes, 'utf8') !== '')
    abort.abort()
    await expect(calling).rejects.toThrow()
    await vi.waitUntil(() => readFileSync(notes, 'utf8').includes('cancelled'), { timeout: 10_000 })
    await idle(gateways)
  })

  it('count what a client does at the other against its limits', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolcrib-replicas-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    // They tell each other every two seconds of a clock that is ten times as fast.
    const schedule = (ms: number, fire: () => void) => {
      const timer = setTimeout(fire, ms / 10)
      return () => clearTimeout(timer)
    }
    const limits = { maxCallsPerClient: 4, drainMs: 100_000 }
    const { first, second, gateways } = await openReplicas(
      { slow: script(SLOW, join(folder, 'notes')), modern: MODERN },
      { limits, schedule, now: () => Date.now() * 10 },
    )
    const abort = new AbortController()
    const waiting = { name: 'slow__wait', arguments: {} }
    for (const { gateway } of [first, first, first, second])
      (await connectClient(gateway)).callTool(waiting, { signal: abort.signal }).catch(() => {})
    const add = () =>
      rawRequest(second.gateway, 'tools/call', { name: 'modern__add', arguments: { a: 1, b: 2 } })
    const isRefused = async () => (await add()).status === 429
    await vi.waitUntil(isRefused, { timeout: 30_000 })
    abort.abort()
    await idle(gateways)
    await vi.waitUntil(async () => !(await isRefused()), { timeout: 30_000 })
  }, 90_000)

  it('share a session: what one checked out, the other lists', async () => {
    const { alternating, gateways } = await openReplicas({ modern: MODERN }, { mode: 'lazy' })
    const url = `${URL_OF_GATEWAY}?activate=list`
    const client = await connectClient(alternating, { era: 'legacy', url })
    const names = async () => (await client.listTools()).tools.map(({ name }) => name)
    for (let round = 0; round < 2; round++) expect(await names()).toEqual(['tool_search'])
    await client.callTool({ name: 'tool_search', arguments: { query: 'add two numbers' } })
    for (let round = 0; round < 4; round++) expect(await names()).toContain('modern__add')
    await client.callTool({ name: 'tool_search', arguments: { query: 'ask for a name' } })
    for (let round = 0; round < 2; round++)
      expect(await names()).toEqual(expect.arrayContaining(['modern__add', 'modern__ask']))
    expect(gateways.map((gateway) => gateway.status().sessions)).toEqual([1, 1])
    await (client.transport as { terminateSession?: () => Promise<void> }).terminateSession?.()
    await vi.waitUntil(() => gateways.every((gateway) => gateway.status().sessions === 0))
  })

  it('find a session that the other could not save when it was opened', async () => {
    const { store, announcements } = share()
    onTestFinished(() => store.close())
    let failures = 0
    const failing: Store = {
      ...forwarding(store),
      set: async (key, value, options) => {
        if (key.startsWith('gateway:client:') && failures++ === 0)
          throw new ToolcribError('store-unavailable', 'it is slow to start')
        await store.set(key, value, options)
      },
    }
    const [first, second] = await Promise.all(
      // By itself, the first would write it again only after an hour.
      [watchStore(failing, { probeMs: 3_600_000 }), store].map((each) => {
        const own = announcements()
        onTestFinished(() => own.close())
        return openGateway({ modern: MODERN }, { store: each, announcements: own, mode: 'lazy' })
      }),
    )
    let gateway = first?.gateway
    const client = await connectClient(
      { fetch: (request) => gateway?.fetch(request) ?? Promise.reject(new Error('both were opened')) },
      { era: 'legacy', url: `${URL_OF_GATEWAY}?activate=list` },
    )
    await client.callTool({ name: 'tool_search', arguments: { query: 'add two numbers' } })
    expect(failures).toBe(1)
    gateway = second?.gateway
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('modern__add')
  })

  it('refuse a session that neither has as soon as the other said so, having asked the store once', async () => {
    let reads = 0
    const { store, announcements } = share()
    onTestFinished(() => store.close())
    const counting: Store = {
      ...forwarding(store),
      get: (key) => {
        if (key === 'gateway:client:gone') reads++
        return store.get(key)
      },
    }
    // The other replica has said that it is there, and waiting for it would never end.
    const schedule = (ms: number, run: () => void) => {
      if (ms === 500) return () => {}
      const timer = setTimeout(run, ms === 6_000 ? 0 : ms).unref()
      return () => clearTimeout(timer)
    }
    const [first] = await Promise.all(
      [0, 1].map(() => {
        const own = announcements()
        onTestFinished(() => own.close())
        return openGateway({}, { store: counting, announcements: own, schedule })
      }),
    )
    // Both are noted as alive, and answer questions.
    const watching = announcements()
    onTestFinished(() => watching.close())
    const answering = new Set<unknown>()
    watching.subscribe({
      announced: ({ topic, body }) => {
        if (topic === 'sessions-found') answering.add((body as { by?: unknown }).by)
      },
      missed: () => {},
    })
    await vi.waitUntil(
      async () => {
        await watching.publish('session-wanted', { session: 'probe', by: 'probe' })
        return answering.size === 2 && (await watching.alive()).length === 2
      },
      { timeout: 10_000 },
    )
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': 'gone',
    }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    const answer = await first?.gateway.fetch(new Request(URL_OF_GATEWAY, { method: 'POST', headers, body }))
    expect([answer?.status, reads]).toEqual([404, 1])
  })

  it('do not look for all the sessions that one token invents', async () => {
    const [ada, bob] = ['ada-has-a-long-token', 'bob-has-another-token']
    const options = { tokens: [{ token: ada }, { token: bob }], now: () => 1_000_000 }
    const { first } = await openReplicas({}, options)
    const ask = (token: string, id: string) => {
      const headers = {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': id,
      }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
      return first.gateway.fetch(new Request(URL_OF_GATEWAY, { method: 'POST', headers, body }))
    }
    const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => ask(ada, `invented-${index}`)))
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(20)
    const refused = answers.filter(({ status }) => status === 503)
    expect(refused.map(({ headers }) => headers.get('retry-after'))).toEqual(Array(10).fill('1'))
    expect((await ask(bob, 'invented')).status).toBe(404)
  })

  it('list what the other found at a server that is not running here', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolcrib-replicas-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'tools.json')
    const tool = (name: string) => ({ name, description: name, inputSchema: { type: 'object' } })
    const list = (...names: string[]) => writeFileSync(file, JSON.stringify(names.map(tool)))
    list('announce')
    const servers = { changing: { ...script(CHANGING, file), start: 'on-demand' } }
    const { schedule, settled } = heldTimers(1_500)
    const { first, second, heard } = await openReplicas(servers, { mode: 'full', schedule })
    const started = () => readFileSync(`${file}.started`, 'utf8').split('\n').length - 1
    const before = started()
    await vi.waitUntil(() => second.servers.tools('changing') !== undefined)
    list('announce', 'newcomer')
    const client = await connectClient(first.gateway)
    await client.callTool({ name: 'changing__announce', arguments: {} })
    const knows = ({ servers }: typeof second) =>
      servers.tools('changing')?.some(({ name }) => name === 'newcomer')
    await vi.waitUntil(() => knows(first), { timeout: 10_000 })
    settled()
    await vi.waitUntil(() => knows(second), { timeout: 10_000 })
    expect(started() - before).toBeLessThanOrEqual(1)
    // The second one does not announce what it learnt from the first.
    settled()
    first.gateway.announceReload()
    await vi.waitUntil(() => heard.includes('reloaded'))
    expect(heard.filter((topic) => topic === 'list-changed')).toHaveLength(1)
  })

  it('read their files again when one of them did', async () => {
    const onReload = vi.fn()
    const { first } = await openReplicas({ modern: MODERN }, { onReload })
    // Subscribing takes a moment.
    await vi.waitUntil(() => {
      first.gateway.announceReload()
      return onReload.mock.calls.length > 0
    })
  })

  it('continue a call of the other, also when that one could not read the key that seals states', async () => {
    const { store, announcements } = share()
    onTestFinished(() => store.close())
    const failing: Store = {
      ...forwarding(store),
      update: async (key, change, options) => {
        if (key === 'gateway:state-key') throw new ToolcribError('store-unavailable', 'it is away')
        return store.update(key, change, options)
      },
    }
    const opened = await Promise.all(
      [failing, store].map((each) => {
        const own = announcements()
        onTestFinished(() => own.close())
        return openGateway({ everything: EVERYTHING }, { store: each, announcements: own })
      }),
    )
    const [holder, other] = opened.map(({ gateway }) => gateway)
    if (!holder || !other) throw new Error('two were opened')
    let gateway = holder
    const client = await connectClient(
      { fetch: (request) => gateway.fetch(request) },
      { era: 'modern', capabilities: { sampling: {} } },
    )
    client.setRequestHandler('sampling/createMessage', async () => {
      gateway = other
      return { model: 'm', role: 'assistant', content: { type: 'text', text: 'ada says hello' } }
    })
    expect(JSON.stringify(await client.callTool(SAMPLE))).toContain('ada says hello')
    expect(holder.status().callsParked).toBe(0)
  })

  it('refuse a call whose replica is gone', async () => {
    const { first, second } = await openReplicas({ everything: EVERYTHING })
    let asked = false
    let gateway = first.gateway
    const client = await connectClient(
      { fetch: (request) => gateway.fetch(request) },
      { capabilities: { sampling: {} } },
    )
    client.setRequestHandler('sampling/createMessage', async () => {
      asked = true
      await first.gateway.close()
      gateway = second.gateway
      return { model: 'm', role: 'assistant', content: { type: 'text', text: 'late' } }
    })
    await expect(client.callTool(SAMPLE)).rejects.toThrow(/requestState/)
    expect(asked).toBe(true)
  })
})

function forwarding(store: Store): Store {
  return {
    get: (key) => store.get(key),
    set: (key, value, options) => store.set(key, value, options),
    update: (key, change, options) => store.update(key, change, options),
    delete: (key) => store.delete(key),
    close: () => store.close(),
  }
}
