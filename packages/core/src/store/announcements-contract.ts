import { canonicalJson } from '../json.ts'
import type { Announcement, Announcements } from './announcements.ts'
import { expect, expectCode, type StoreCheck } from './contract-checks.ts'

/** Two replicas that announce to each other, and to nobody else. */
export interface AnnouncementsUnderTest {
  readonly first: Announcements
  readonly second: Announcements
}

/** The contract of announcements; used like `storeContract()`. Each check opens and closes its own replicas. */
export function announcementsContract(
  open: () => AnnouncementsUnderTest | Promise<AnnouncementsUnderTest>,
): StoreCheck[] {
  const check = (name: string, run: (tested: AnnouncementsUnderTest) => Promise<void>): StoreCheck => ({
    name,
    async run() {
      const tested = await open()
      try {
        await run(tested)
      } finally {
        await Promise.all([tested.first.close(), tested.second.close()])
      }
    },
  })
  return [
    check('reach every subscriber of every replica, in one order', async ({ first, second }) => {
      const logs = [new Log(), new Log(), new Log()]
      for (const [index, log] of logs.entries()) await subscribed(index === 0 ? first : second, log)
      await Promise.all(
        Array.from({ length: 20 }, (_, index) => (index % 2 ? first : second).publish('n', index)),
      )
      for (const log of logs) await log.has(20)
      const orders = new Set(logs.map((log) => canonicalJson(log.bodies())))
      expect(orders.size, 1)
      expect(
        logs[0]?.bodies().toSorted((a, b) => Number(a) - Number(b)),
        [...Array(20).keys()],
      )
    }),
    check('bring topics and JSON as they were', async ({ first, second }) => {
      const log = new Log()
      await subscribed(second, log)
      const body = { text: 'ä 日本 \u0000 "q"', list: [1, null, { deep: true }], empty: '' }
      await first.publish('some:topic', body)
      await log.has(1)
      expect(log.all[0]?.topic, 'some:topic')
      expect(log.all[0]?.body, body)
    }),
    check('continue after a position', async ({ first, second }) => {
      const log = new Log()
      const stop = await subscribed(second, log)
      for (const number of [1, 2, 3]) await first.publish('n', number)
      await log.has(3)
      stop()
      await first.publish('n', 4)
      const later = new Log()
      second.subscribe(later, log.all[0]?.position)
      await later.has(3)
      expect(later.bodies(), [2, 3, 4])
      expect(later.gaps, 0)
    }),
    check('say when messages were missed, and go on', async ({ first, second }) => {
      const log = new Log()
      const stop = await subscribed(second, log)
      await first.publish('n', 0)
      await log.has(1)
      stop()
      const long = 'x'.repeat(100)
      for (let number = 1; number <= 2_500; number += 500)
        await Promise.all(
          Array.from({ length: 500 }, (_, at) => first.publish('n', { number: number + at, long })),
        )
      const later = new Log()
      second.subscribe(later, log.all[0]?.position)
      await later.until(() => later.last() === 2_500)
      expect(later.gaps, 1)
    }),
    check('bring nothing after a subscription was stopped', async ({ first, second }) => {
      const [stopped, other] = [new Log(), new Log()]
      const stop = await subscribed(second, stopped)
      await subscribed(second, other)
      stop()
      await first.publish('n', 1)
      await other.has(1)
      expect(stopped.bodies(), [])
    }),
    check('go on though a listener throws', async ({ first, second }) => {
      const log = new Log()
      const announced = (announcement: Announcement) => {
        log.announced(announcement)
        throw new Error('mine')
      }
      await subscribed(second, log, { announced, missed: () => {} })
      await first.publish('n', 1)
      await first.publish('n', 2)
      await log.has(2)
    }),
    check(
      'note which replicas are alive, until they leave or their time is over',
      async ({ first, second }) => {
        expect(await first.alive(), [])
        expect(await first.noteAlive('a', 60_000), false)
        expect(await second.noteAlive('b', 60_000), false)
        expect(await first.noteAlive('a', 60_000), true)
        expect([...(await second.alive())].toSorted(), ['a', 'b'])
        expect(await second.noteAlive('a', 0), true)
        expect(await first.noteAlive('short', 1), false)
        while ((await first.alive()).includes('short'))
          await new Promise<void>((resolve) => void setTimeout(resolve, 5))
        expect(await second.alive(), ['b'])
        expect(await second.noteAlive('short', 60_000), false)
      },
    ),
    check('refuse a body that is too long or not JSON, and reject once closed', async ({ first }) => {
      await expectCode('config-invalid', first.publish('n', 'x'.repeat(300_000)))
      await expectCode('config-invalid', first.publish('n', (() => 1) as never))
      await first.close()
      await expectCode('store-unavailable', first.publish('n', 1))
      await expectCode('store-unavailable', first.noteAlive('a', 1))
      await expectCode('store-unavailable', first.alive())
    }),
  ]
}

/** What one subscriber received. */
class Log {
  readonly all: Announcement[] = []
  gaps = 0
  #wake = () => {}

  announced(announcement: Announcement): void {
    if (announcement.topic !== 'probe') this.all.push(announcement)
    this.#wake()
  }

  missed(): void {
    this.gaps++
  }

  bodies(): unknown[] {
    return this.all.map(({ body }) => body)
  }

  last(): unknown {
    const body = this.all.at(-1)?.body
    return typeof body === 'object' && body !== null && 'number' in body ? body.number : body
  }

  has(count: number): Promise<void> {
    return this.until(() => this.all.length >= count)
  }

  async until(isDone: () => boolean): Promise<void> {
    while (!isDone())
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
  }
}

/** Subscribes, and waits until messages arrive: over a network a subscription takes a moment. */
async function subscribed(
  replica: Announcements,
  log: Log,
  listener: Log | object = log,
): Promise<() => void> {
  let isReached = false
  const stop = replica.subscribe({
    announced: (announcement) => {
      if (announcement.topic === 'probe') isReached = true
      else (listener as Log).announced(announcement)
    },
    missed: () => (listener as Log).missed(),
  })
  while (!isReached) {
    await replica.publish('probe', null)
    await new Promise<void>((resolve) => void setTimeout(resolve, 5))
  }
  return stop
}
