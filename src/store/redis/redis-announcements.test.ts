import { Redis } from 'ioredis'
import { type RedisAnnouncementsOptions, redisAnnouncements } from 'toolcrib/redis'
import { announcementsContract } from 'toolcrib/testing'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { RedisServer } from '../../../test/redis-server.ts'

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
})
