import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { Redis } from 'ioredis'
import type { Gateway } from 'toolcrib/gateway'
import { redisAnnouncements, redisStore } from 'toolcrib/redis'
import { watchStore } from 'toolcrib/stores'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { connectClient, openGateway, URL_OF_GATEWAY } from './gateway.fixture.ts'
import { MODERN_SERVER, script } from './mcp/reference-servers.fixture.ts'
import { RedisServer } from './redis-server.ts'

const SERVERS = { modern: script(MODERN_SERVER) }
const URL_OF_LIST = `${URL_OF_GATEWAY}?activate=list`
/** Short, since these tests wait for it to be used up. */
const PATIENCE = { patienceMs: 300 }

interface Outage {
  readonly name: string
  begin(redis: RedisServer, admin: Redis): unknown
  end(redis: RedisServer, admin: Redis): unknown
}

const OUTAGES: readonly Outage[] = [
  {
    name: 'was killed, and starts again with nothing',
    begin: (redis) => redis.kill(),
    end: (redis) => redis.start(),
  },
  {
    name: 'does not answer',
    begin: (redis) => redis.signal('SIGSTOP'),
    end: (redis) => redis.signal('SIGCONT'),
  },
  {
    name: 'hangs with every write',
    begin: (_redis, admin) => admin.call('CLIENT', 'PAUSE', '600000', 'WRITE'),
    end: (_redis, admin) => admin.call('CLIENT', 'UNPAUSE'),
  },
  {
    name: 'is read-only',
    begin: (_redis, admin) => admin.replicaof('127.0.0.1', 1),
    end: (_redis, admin) => admin.replicaof('NO', 'ONE'),
  },
  {
    name: 'is full',
    begin: (_redis, admin) => admin.config('SET', 'maxmemory', '1'),
    end: (_redis, admin) => admin.config('SET', 'maxmemory', '0'),
  },
]

describe.skipIf(inject('redisUrl') === undefined)('a gateway whose Redis', () => {
  async function startRedis() {
    const redis = await RedisServer.reserve()
    onTestFinished(() => redis.close())
    return redis
  }

  async function openReplica({ url }: Pick<RedisServer, 'url'>, patience = PATIENCE) {
    const store = watchStore(redisStore({ url, ...patience }), { ...patience, probeMs: 100 })
    const announcements = redisAnnouncements({ url, ...patience })
    onTestFinished(async () => {
      await Promise.all([store.close(), announcements.close()])
    })
    return (await openGateway(SERVERS, { store, announcements, mode: 'lazy' })).gateway
  }

  async function openClient(gateway: Gateway, url = URL_OF_LIST) {
    let current = gateway
    const client = await connectClient({ fetch: (request) => current.fetch(request) }, { era: 'legacy', url })
    return {
      goTo: (other: Gateway) => {
        current = other
      },
      names: async () => (await client.listTools()).tools.map(({ name }) => name),
      search: (query: string) => client.callTool({ name: 'tool_search', arguments: { query } }),
      add: async () =>
        (await client.callTool({ name: 'modern__add', arguments: { a: 1, b: 2 } })).structuredContent,
    }
  }

  const readiness = async (gateway: Gateway) =>
    (await (await gateway.fetch(new Request('http://localhost/readyz'))).json()).status
  const becomes = (gateway: Gateway, status: string) =>
    vi.waitUntil(async () => (await readiness(gateway)) === status, { timeout: 15_000, interval: 50 })
  const metrics = async (gateway: Gateway) =>
    (await gateway.fetch(new Request('http://localhost/metrics'))).text()

  async function expectDegraded(gateway: Gateway): Promise<void> {
    expect(await readiness(gateway)).toBe('degraded')
    const text = await metrics(gateway)
    expect(text).toMatch(/toolcrib_store_ready 0\n/)
    expect(text).toMatch(
      /toolcrib_store_operations_total\{operation="\w+",outcome="(?:failed|timeout)"\} [1-9]/,
    )
  }

  it('is away at its start serves all the same, and keeps what changed', async () => {
    const redis = await startRedis()
    const gateway = await openReplica(redis)
    const client = await openClient(gateway)
    await client.search('add two numbers')
    expect(await client.names()).toContain('modern__add')
    expect(await client.add()).toEqual({ sum: 3 })
    await becomes(gateway, 'degraded')
    await expectDegraded(gateway)
    await redis.start()
    await becomes(gateway, 'ok')
    await continuesElsewhere(redis, client)
  })

  it.each(OUTAGES)(
    '$name loses no answer, and gets what changed when it works again',
    async ({ begin, end }) => {
      const redis = await startRedis()
      await redis.start()
      const admin = new Redis(redis.url, { maxRetriesPerRequest: 0 })
      admin.on('error', () => {})
      onTestFinished(() => admin.disconnect())
      const gateway = await openReplica(redis)
      const client = await openClient(gateway)
      expect(await client.add()).toEqual({ sum: 3 })
      await begin(redis, admin)
      await client.search('add two numbers')
      expect(await client.add()).toEqual({ sum: 3 })
      const newcomer = await openClient(gateway)
      await newcomer.search('wait')
      await expectDegraded(gateway)
      await end(redis, admin)
      await becomes(gateway, 'ok')
      expect(await metrics(gateway)).toMatch(/toolcrib_store_ready 1\n/)
      const other = await continuesElsewhere(redis, client, { sessions: 2 })
      newcomer.goTo(other)
      expect(await newcomer.names()).toContain('modern__wait')
    },
  )

  it('goes away while no client does anything is degraded until it is back', async () => {
    const redis = await startRedis()
    await redis.start()
    const gateway = await openReplica(redis)
    // It has read what it reads at its start, and waits for announcements.
    await vi.waitUntil(async () => (await redis.command('KEYS', '*')).includes('gateway:state-key'))
    await vi.waitUntil(async () => (await redis.command('CLIENT', 'LIST')).includes('cmd=xread'))
    expect(await readiness(gateway)).toBe('ok')
    await redis.kill()
    await becomes(gateway, 'degraded')
    await expectDegraded(gateway)
    await redis.start()
    await becomes(gateway, 'ok')
  })

  it('answers too late loses no answer, and gets what changed when it is fast again', async () => {
    const redis = await startRedis()
    await redis.start()
    const address = await openAddress(redis)
    const gateway = await openReplica(address)
    const client = await openClient(gateway)
    expect(await client.add()).toEqual({ sum: 3 })
    // Each reply takes several times as long as anybody waits for it.
    address.delay(PATIENCE.patienceMs * 5)
    await client.search('add two numbers')
    const newcomer = await openClient(gateway)
    await newcomer.search('wait')
    expect(await client.add()).toEqual({ sum: 3 })
    await expectDegraded(gateway)
    address.delay(0)
    await becomes(gateway, 'ok')
    const other = await continuesElsewhere(redis, client, { sessions: 2 })
    newcomer.goTo(other)
    expect(await newcomer.names()).toContain('modern__wait')
  })

  it('fails over to another machine goes on there, with what was replicated', async () => {
    const [primary, replica] = await Promise.all([startRedis(), startRedis()])
    await Promise.all([primary.start(), replica.start()])
    const address = await openAddress(primary)
    await replica.command('REPLICAOF', '127.0.0.1', primary.port)
    const gateway = await openReplica(address)
    const before = await openClient(gateway)
    await before.search('add two numbers')
    await vi.waitUntil(async () => (await replica.command('KEYS', '*{session:*}')).includes('session:'), {
      timeout: 15_000,
    })
    // The address leads to the other one, which is not promoted yet.
    await primary.kill()
    address.leadTo(replica)
    expect(await before.add()).toEqual({ sum: 3 })
    const newcomer = await openClient(gateway)
    await newcomer.search('wait')
    await expectDegraded(gateway)
    await replica.command('REPLICAOF', 'NO', 'ONE')
    await becomes(gateway, 'ok')
    const other = await continuesElsewhere(address, before, { sessions: 2 })
    newcomer.goTo(other)
    expect(await newcomer.names()).toContain('modern__wait')
  })

  it('is replaced by its replica under Sentinel goes on there, also with what was not replicated', async () => {
    const [primary, replica] = await Promise.all([startRedis(), startRedis()])
    await Promise.all([primary.start(), replica.start()])
    await replica.command('REPLICAOF', '127.0.0.1', primary.port)
    const isTrue = async (redis: RedisServer, words: readonly string[], expected: RegExp) =>
      expected.test(await redis.command(...words))
    const becomesTrue = (redis: RedisServer, words: readonly string[], expected: RegExp) =>
      vi.waitUntil(() => isTrue(redis, words, expected), { timeout: 30_000, interval: 100 })
    await becomesTrue(primary, ['INFO', 'replication'], /state=online/)
    const sentinels = await RedisServer.startSentinels(3, primary)
    onTestFinished(async () => {
      await Promise.all(sentinels.map((sentinel) => sentinel.close()))
    })
    for (const sentinel of sentinels)
      await becomesTrue(
        sentinel,
        ['SENTINEL', 'MASTER', 'main'],
        /num-slaves\n1\n(?:.*\n)*num-other-sentinels\n2\n/,
      )
    const client = new Redis({
      sentinels: sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
      name: 'main',
      maxRetriesPerRequest: 0,
    })
    client.on('error', () => {})
    onTestFinished(() => client.disconnect())
    await redisStore({ client }).set('given', 1)
    const [one, ...others] = sentinels.map(({ port }) => `127.0.0.1:${port}`)
    const url = `redis+sentinel://${one}?name=main${others.map((other) => `&sentinel=${other}`).join('')}`
    expect(await redisStore({ client, ...PATIENCE }).get('given')).toBe(1)
    const gateway = await openReplica({ url })
    const before = await openClient(gateway)
    await before.search('add two numbers')
    await becomesTrue(replica, ['KEYS', '*{session:*}'], /session:/)
    // What is written from here on is not replicated.
    await replica.command('REPLICAOF', '127.0.0.1', 1)
    await before.search('wait')
    const newcomer = await openClient(gateway)
    await newcomer.search('add two numbers')
    expect(await readiness(gateway)).toBe('ok')
    await primary.kill()
    expect(await before.add()).toEqual({ sum: 3 })
    await becomesTrue(replica, ['ROLE'], /^master/)
    await becomes(gateway, 'ok')
    expect(await newcomer.add()).toEqual({ sum: 3 })
    const other = await continuesElsewhere(replica, newcomer, { sessions: 2 })
    before.goTo(other)
    expect(await before.names()).toEqual(expect.arrayContaining(['modern__add', 'modern__wait']))
  }, 120_000)

  it('is flushed writes again what was lost', async () => {
    const redis = await startRedis()
    await redis.start()
    const admin = new Redis(redis.url)
    onTestFinished(() => admin.disconnect())
    const gateway = await openReplica(redis)
    const client = await openClient(gateway)
    await client.search('add two numbers')
    // It waits for announcements, and has read its own.
    await vi.waitUntil(async () => String(await admin.client('LIST')).includes('cmd=xread'))
    await admin.flushall()
    await continuesElsewhere(redis, client)
  })

  /** What the client checked out is listed by a replica that never saw it. */
  async function continuesElsewhere(
    { url }: Pick<RedisServer, 'url'>,
    client: Awaited<ReturnType<typeof openClient>>,
    { sessions = 1 } = {},
  ) {
    const admin = new Redis(url)
    onTestFinished(() => admin.disconnect())
    const kept = async (pattern: string) => (await admin.keys(pattern)).length >= sessions
    await vi.waitUntil(async () => (await kept('*gateway:client:*')) && (await kept('*{session:*}')), {
      timeout: 15_000,
    })
    // Nothing of a session stays for ever.
    for (const key of await admin.keys('*session:*')) expect(await admin.pttl(key)).toBeGreaterThan(0)
    const other = await openReplica({ url }, { patienceMs: 10_000 })
    client.goTo(other)
    expect(await client.names()).toContain('modern__add')
    return other
  }
})

/** An address that leads to one Redis or another, as a name or a load balancer does. */
async function openAddress(first: RedisServer) {
  let target = first.port
  let delayMs = 0
  const delayed = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs))
      yield chunk
    }
  }
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const onward = connect(target, '127.0.0.1')
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(one)
      one
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(one)
          other.destroy()
        })
    }
    socket.pipe(onward)
    Readable.from(delayed(onward), { objectMode: false })
      .on('error', () => {})
      .pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  onTestFinished(() => {
    server.close()
    cut()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `redis://127.0.0.1:${port}`,
    /** How long replies take from now on, each after the one before. */
    delay: (ms: number) => {
      delayMs = ms
    },
    leadTo: (redis: RedisServer) => {
      target = redis.port
      cut()
    },
  }
}
