import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Store, StoredValue, WriteOptions } from '@toolcrib/core/stores'
import { storeContract } from '@toolcrib/core/testing'
import { Cluster, Redis } from 'ioredis'
import { afterEach, describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { RedisServer } from '../../../../../test/redis-server.ts'
import { type RedisStoreOptions, redisAnnouncements, redisStore } from './index.ts'

const url = inject('redisUrl')

describe.skipIf(url === undefined)('redisStore', () => {
  const stores: Store[] = []
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()))
  })

  function open(options: Partial<RedisStoreOptions> = {}): Store {
    const store = redisStore({ url: url ?? '', prefix: `${crypto.randomUUID()}:`, ...options })
    stores.push(store)
    return store
  }

  async function connect(): Promise<Redis> {
    const client = new Redis(url ?? '', { lazyConnect: true })
    await client.connect()
    onTestFinished(() => client.disconnect())
    return client
  }

  /** Redis has no clock to set: time passes by shortening what keys have left, all of it a thousand times longer. */
  function openEmpty(prefix = `${crypto.randomUUID()}:`) {
    const openAgain = () => withLongerLives(open({ prefix }))
    const passTime = async (ms: number) => {
      const client = await connect()
      for (const key of await client.keys(`${prefix.replaceAll(/[{}]/g, '?')}*`)) {
        const left = await client.pttl(key)
        if (left >= 0) await client.pexpire(key, left - ms * LONGER)
      }
    }
    return { store: openAgain(), openAgain, passTime }
  }

  for (const { name, run } of storeContract(openEmpty)) it(name, run)

  describe('with a hash tag in its prefix', () => {
    for (const { name, run } of storeContract(() => openEmpty(`{${crypto.randomUUID()}}:`))) it(name, run)
  })

  it.each([
    {},
    { url: 'redis://x', client: { evalsha() {}, duplicate() {} } },
    { url: 'redis://x', prefixes: 'y' },
    { url: 'redis://x', patienceMs: 0 },
    { client: {} },
  ])('refuses the options %o', (options) => {
    expect(() => redisStore(options as RedisStoreOptions)).toThrow(
      expect.objectContaining({ code: 'config-invalid' }),
    )
  })

  it('refuses an address that is not one of Redis, with the first use', async () => {
    for (const [address, reason] of [
      ['http://localhost', 'redis+cluster://'],
      ['rediss+sentinel://localhost', 'redis+sentinel://'],
      ['redis+sentinel://localhost?sentinel=a:b:c', 'not host:port'],
      ['redis+sentinel://?name=main', 'not host:port'],
      ['redis+sentinel://localhost/prod', 'not a number'],
      ['redis+sentinel://localhost/1/2', 'not a number'],
      ['redis+sentinel://localhost?names=main', 'unknown key'],
    ] as const)
      await expect(open({ url: address }).get('a')).rejects.toMatchObject({
        code: 'config-invalid',
        message: expect.stringContaining(reason),
      })
  })

  it('uses a client it is given, and leaves it open', async () => {
    const client = await connect()
    const store = redisStore({ client, prefix: 'given:' })
    await store.set('a', { n: 1 })
    expect(await store.get('a')).toEqual({ n: 1 })
    await store.delete('a')
    await store.close()
    expect(await client.ping()).toBe('PONG')
  })

  it('lets Redis expire values, and keeps keys readable for people', async () => {
    const client = await connect()
    const prefix = `${crypto.randomUUID()}:`
    const store = open({ prefix })
    await store.set('session:a}b%', 1, { ttlMs: 50_000.4 })
    await store.update('spill:1', () => 2, { ttlMs: 50_000 })
    await store.set('forever', 3)
    await store.set('nearly forever', 3, { ttlMs: Number.MAX_VALUE })
    const ttl = (key: string) => client.pttl(prefix + key)
    expect(await ttl('{session:a%7Db%25}')).toBeGreaterThan(40_000)
    expect(await ttl('{spill:1}')).toBeGreaterThan(40_000)
    expect([await ttl('{forever}'), await ttl('{nearly forever}')]).toEqual([-1, -1])
  })

  it('treats what it did not write as absent, names it, and replaces it', async () => {
    const client = await connect()
    const onDamaged = vi.fn()
    const prefix = `${crypto.randomUUID()}:`
    const store = open({ prefix, onDamaged })
    for (const text of ['', 'x', 'something else altogether', '0123456789abcdefj{"cut":']) {
      await client.set(`${prefix}{a}`, text)
      expect(await store.get('a')).toBeUndefined()
      expect(await store.update('a', (current) => (current === undefined ? 'new' : 'old'))).toBe('new')
      expect(await store.get('a')).toBe('new')
    }
    expect(onDamaged).toHaveBeenCalledTimes(8)
    expect(onDamaged.mock.calls[0]?.[0]).toMatchObject({ message: expect.stringContaining(`${prefix}{a}`) })
  })

  it('sends what is read in one tick as one batch', async () => {
    const client = await connect()
    const store = open()
    await store.get('warm up')
    const before = await roundTrips(client)
    await Promise.all(Array.from({ length: 200 }, (_, index) => store.get(`key ${index}`)))
    expect((await roundTrips(client)) - before).toBeLessThan(10)
  })

  it('runs its script also after Redis forgot it', async () => {
    const client = await connect()
    const store = open()
    expect(await store.update('a', () => 1)).toBe(1)
    await client.script('FLUSH')
    expect(await store.update('a', (current) => Number(current) + 1)).toBe(2)
  })

  it('does not blame Redis when this process was held up', async () => {
    const client = await connect()
    const store = open({ url: undefined, client, patienceMs: 100 } as object)
    await store.get('warm up')
    const writing = store.set('a', 1)
    // The command is on its way, and the time for it has begun.
    await new Promise((resolve) => process.nextTick(resolve))
    for (const begun = Date.now(); Date.now() - begun < 150; );
    await writing
    expect(await store.get('a')).toBe(1)
  })

  it('lets nobody starve: after a few tries in vain, others wait for a turn', async () => {
    const prefix = `${crypto.randomUUID()}:`
    const hasty = open({ prefix, random: () => 0 })
    const client = await connect()
    // Between each read of the slow one and its write, the hasty one writes, if it can.
    const slowClient = new Proxy(client, {
      get(target, name) {
        if (name !== 'getBuffer') {
          const member: unknown = Reflect.get(target, name)
          return typeof member === 'function' ? member.bind(target) : member
        }
        return async (key: string) => {
          const found = await target.getBuffer(key)
          await Promise.race([
            hasty.update('count', (current) => Number(current ?? 0) + 1),
            new Promise((resolve) => void setTimeout(resolve, 40)),
          ])
          return found
        }
      },
    })
    let tries = 0
    await open({ url: undefined, client: slowClient, prefix, random: () => 0 } as object).update(
      'count',
      () => {
        tries++
        return 1_000
      },
    )
    expect(tries).toBeLessThanOrEqual(6)
    await vi.waitUntil(async () => Number(await hasty.get('count')) > 1_000)
  })

  it('lets many write one key at once, without more and more tries', async () => {
    const prefix = `${crypto.randomUUID()}:`
    const writers = Array.from({ length: 60 }, () => open({ prefix }))
    await Promise.all(writers.map((writer) => writer.get('count')))
    let tries = 0
    const add = (current: StoredValue | undefined) => {
      tries++
      return Number(current ?? 0) + 1
    }
    await Promise.all(writers.map((writer) => writer.update('count', add)))
    expect(await writers[0]?.get('count')).toBe(60)
    expect(tries).toBeLessThan(1_200)
  })

  it('never gives a password away', async () => {
    const store = open({ url: 'redis://someone:hunter2hunter2@127.0.0.1:1', patienceMs: 200 })
    const error = await store.set('a', 'hunter3hunter3').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'store-unavailable',
      message: expect.stringContaining('127.0.0.1:1'),
    })
    const shown = JSON.stringify([error, (error as Error).message, (error as Error).cause, String(error)])
    expect(shown).not.toMatch(/hunter/)
  })

  it('authenticates, and says so when it is refused', async () => {
    const redis = await RedisServer.start('--requirepass', 'a secret/of @ours')
    onTestFinished(() => redis.close())
    const address = (password: string) => redis.url.replace('//', `//:${encodeURIComponent(password)}@`)
    const right = open({ url: address('a secret/of @ours') })
    await right.set('a', 1)
    expect(await right.get('a')).toBe(1)
    const wrong = open({ url: address('wrong'), patienceMs: 500 })
    await expect(wrong.get('a')).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringMatching(/NOAUTH|WRONGPASS/),
    })
  })

  it('works on a cluster of three, with every key of an update in one slot', async () => {
    const nodes = await RedisServer.startCluster(3)
    onTestFinished(async () => {
      await Promise.all(nodes.map((node) => node.close()))
    })
    const [first] = nodes
    if (!first) throw new Error('three were started')
    const isOk = (node: RedisServer) =>
      node.command('CLUSTER', 'INFO').then((text) => text.includes('_state:ok'))
    await vi.waitUntil(async () => (await Promise.all(nodes.map(isOk))).every(Boolean), { timeout: 15_000 })
    const address = first.url.replace('redis://', 'redis+cluster://')
    const store = open({ url: address })
    const keys = ['a', '}b', '{c}', '{}d', 'e{', '%7D', ...Array.from({ length: 20 }, (_, at) => `key ${at}`)]
    for (const key of keys) {
      await store.set(key, key)
      expect(await store.update(key, (current) => `${current}!`)).toBe(`${key}!`)
    }
    expect(await Promise.all(keys.map((key) => store.get(key)))).toEqual(keys.map((key) => `${key}!`))
    const sizes = await Promise.all(nodes.map((node) => node.command('DBSIZE')))
    expect(sizes.every((size) => Number(size) > 0)).toBe(true)
    const announcements = redisAnnouncements({ url: address })
    onTestFinished(() => announcements.close())
    const bodies: unknown[] = []
    announcements.subscribe({ announced: ({ body }) => void bodies.push(body), missed: () => {} })
    await vi.waitUntil(async () => {
      await announcements.publish('n', 1)
      return bodies.length > 0
    })
    const client = new Cluster([first.url])
    const given = redisStore({ client })
    await given.set('x', 1)
    expect(await given.get('x')).toBe(1)
    client.disconnect()
  })

  it('speaks TLS, and refuses a certificate that nobody vouches for', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolcrib-tls-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    await promisify(execFile)('openssl', [
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '1',
      ],
      ...['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert],
    ])
    const plain = await RedisServer.reserve()
    const redis = await RedisServer.start(
      ...['--tls-port', String(plain.port), '--tls-cert-file', cert, '--tls-key-file', key],
      ...['--tls-ca-cert-file', cert, '--tls-auth-clients', 'no', '--requirepass', 'a secret'],
    )
    onTestFinished(async () => {
      await Promise.all([redis.close(), plain.close()])
    })
    const address = `rediss://:${encodeURIComponent('a secret')}@127.0.0.1:${plain.port}`
    await expect(open({ url: address, patienceMs: 1_000 }).get('a')).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringMatching(/self-signed certificate/),
    })
    const client = new Redis(address, { tls: { ca: readFileSync(cert) }, lazyConnect: true })
    await client.connect()
    onTestFinished(() => client.disconnect())
    const store = redisStore({ client, prefix: 'tls:' })
    expect(await store.update('a', () => 1)).toBe(1)
    const announcements = redisAnnouncements({ client, prefix: 'tls:' })
    onTestFinished(() => announcements.close())
    const heard = new Promise((resolve) => {
      announcements.subscribe({ announced: ({ body }) => resolve(body), missed: () => {} }, '0:0-0')
    })
    await announcements.publish('n', 'over TLS')
    expect(await heard).toBe('over TLS')
  })
})

const LONGER = 1_000

/** The same store; what expires lives longer, so that no check depends on how fast it runs. */
function withLongerLives(store: Store): Store {
  const longer = (options: WriteOptions = {}): WriteOptions => {
    const { ttlMs } = options
    return typeof ttlMs === 'number' && ttlMs > 0 ? { ...options, ttlMs: ttlMs * LONGER } : options
  }
  return {
    get: (key) => store.get(key),
    set: (key, value, options) => store.set(key, value, longer(options)),
    update: (key, change, options) => store.update(key, change, longer(options)),
    delete: (key) => store.delete(key),
    close: () => store.close(),
  }
}

async function roundTrips(client: Redis): Promise<number> {
  const stats = await client.info('stats')
  return Number(/total_reads_processed:(\d+)/.exec(stats)?.[1])
}
