import { announcementsContract } from '@toolcrib/core/testing'
import { Redis } from 'ioredis'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { RedisServer } from '../../../../../test/redis-server.ts'
import { type RedisAnnouncementsOptions, redisAnnouncements } from './index.ts'

const url = inject('redisUrl')

describe.skipIf(url === undefined)('redisAnnouncements', () => {
  const open = () => {
    const prefix = `${crypto.randomUUID()}:`
    const one = () => redisAnnouncements({ url: url ?? '', prefix, maxKept: 1_000 })
    return { first: one(), second: one() }
  }
  for (const { name, run } of announcementsContract(open)) it(name, run)

  it.each([{}, { url: 'redis://x', maxKept: 0 }, { url: 'redis://x', keep: 1 }])(
    'refuses the options %o',
    (options) => {
      expect(() => redisAnnouncements(options as RedisAnnouncementsOptions)).toThrow(
        expect.objectContaining({ code: 'config-invalid' }),
      )
    },
  )

  it('catches up after Redis was restarted, and notices that messages are gone', async () => {
    const redis = await RedisServer.start('--appendonly', 'yes', '--appendfsync', 'always')
    onTestFinished(() => redis.close())
    const [first, second] = [0, 1].map(() => redisAnnouncements({ url: redis.url, patienceMs: 300 }))
    if (!first || !second) throw new Error('two were opened')
    onTestFinished(async () => {
      await Promise.all([first.close(), second.close()])
    })
    const bodies: unknown[] = []
    const missed = vi.fn()
    second.subscribe({ announced: ({ body }) => void bodies.push(body), missed })
    await vi.waitUntil(async () => {
      await first.publish('n', 0)
      return bodies.length > 0
    })
    await redis.kill()
    await expect(first.publish('n', 1)).rejects.toMatchObject({ code: 'store-unavailable' })
    await redis.start()
    await vi.waitUntil(() =>
      first.publish('n', 2).then(
        () => true,
        () => false,
      ),
    )
    await vi.waitUntil(() => bodies.includes(2), { timeout: 10_000 })
    expect(missed).not.toHaveBeenCalled()

    const admin = new Redis(redis.url)
    onTestFinished(() => admin.disconnect())
    await admin.flushall()
    await first.publish('n', 3)
    await vi.waitUntil(() => bodies.includes(3), { timeout: 10_000 })
    expect(missed).toHaveBeenCalledOnce()
  })

  it('notices that Redis went back to an older state, as after a failover, though nothing is announced', async () => {
    const redis = await RedisServer.start()
    onTestFinished(() => redis.close())
    const announcements = redisAnnouncements({ url: redis.url })
    onTestFinished(() => announcements.close())
    const admin = new Redis(redis.url)
    onTestFinished(() => admin.disconnect())
    for (const body of [1, 2, 3]) await announcements.publish('n', body)
    const bodies: unknown[] = []
    const missed = vi.fn()
    announcements.subscribe({ announced: ({ body }) => void bodies.push(body), missed }, '0:0-0')
    await vi.waitUntil(() => bodies.includes(3))
    const [stream = ''] = await admin.keys('*{announcements}')
    const [newest] = await admin.xrevrange(stream, '+', '-', 'COUNT', 1)
    await admin.xdel(stream, newest?.[0] ?? '')
    await admin.set(`${stream}:count`, 2)
    expect(missed).not.toHaveBeenCalled()
    // As in a failover, connections are cut.
    await admin.call('CLIENT', 'KILL', 'TYPE', 'NORMAL', 'SKIPME', 'YES')
    await vi.waitUntil(() => missed.mock.calls.length > 0, { timeout: 10_000 })
    await vi.waitUntil(async () => {
      await announcements.publish('n', 4).catch(() => {})
      return bodies.includes(4)
    })
    expect(missed).toHaveBeenCalledOnce()
  })
})
