import { Redis } from 'ioredis'
import { redisAnnouncements } from 'toolcrib/redis'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { Replicas, type ReplicaWork } from '../packages/gateway/src/replicas/replicas.ts'

const url = inject('redisUrl') ?? ''
const FLEET = 60

const PATIENCE_MS = 500
const ARRIVAL_MS = 6_000

/** The replicas that still wait until all others have recorded themselves. */
const arriving = new Set<NodeJS.Timeout>()

/** Timers that are ten times as fast, but for the one that waits for answers: all of them come from this process. */
const schedule = (ms: number, fire: () => void) => {
  const end = () => {
    arriving.delete(timer)
    fire()
  }
  const timer = setTimeout(end, ms === PATIENCE_MS ? 20_000 : ms / 10).unref()
  if (ms === ARRIVAL_MS) arriving.add(timer)
  return () => {
    arriving.delete(timer)
    clearTimeout(timer)
  }
}

class NoWork implements ReplicaWork {
  missedCount = 0
  take(): void {}
  ended(): void {}
  wanted(): boolean {
    return false
  }
  resume(): undefined {}
  async hasSealed(): Promise<boolean> {
    return false
  }
  listChanged(): void {}
  reloaded(): void {}
  missed(): void {
    this.missedCount++
  }
}

describe.skipIf(url === '')(`${FLEET} replicas on one Redis`, () => {
  it('say nothing when they start, and next to nothing when Redis loses its data', async () => {
    const prefix = `${crypto.randomUUID()}:`
    const stream = `${prefix}{announcements}`
    const admin = new Redis(url)
    onTestFinished(() => admin.disconnect())
    const said = async () => Number(await admin.get(`${stream}:count`))
    const fleet = Array.from({ length: FLEET }, () => {
      const announcements = redisAnnouncements({ url, prefix, patienceMs: 20_000 })
      const work = new NoWork()
      const newId = () => crypto.randomUUID()
      const limits = { askTimeoutMs: 60_000 }
      const services = { store: undefined, schedule, newId, warn: () => {}, limits }
      const replicas = new Replicas(announcements, services)
      replicas.begin(work)
      onTestFinished(async () => {
        replicas.close()
        await announcements.close()
      })
      return { announcements, work, replicas }
    })
    const [first] = fleet
    if (!first) throw new Error('there are some')
    const arrived = () =>
      vi.waitUntil(async () => (await first.announcements.alive()).length === FLEET, { timeout: 15_000 })
    await arrived()
    // Each reads on from a position of its own.
    const reading = async () => String(await admin.client('LIST')).split('cmd=xread').length > FLEET
    await vi.waitUntil(reading, { timeout: 15_000 })
    expect(await said()).toBe(1)

    for (let loss = 0; loss < 2; loss++) {
      await admin.del(stream, `${stream}:count`, `${stream}:alive`)
      await vi.waitUntil(() => fleet.every(({ work }) => work.missedCount === loss + 1), { timeout: 15_000 })
      await arrived()
      expect(await said()).toBe(1)
    }

    // Until then, nobody knows whether the list of replicas is complete.
    await vi.waitUntil(() => arriving.size === 0, { timeout: 15_000 })
    // All of them are waited for: each says once that it does not have the session.
    expect(await first.replicas.wanted('nobody has it')).toBe('none')
    expect(await said()).toBe(1 + FLEET)
    expect(fleet.map(({ work }) => work.missedCount)).toEqual(Array(FLEET).fill(2))
  }, 60_000)
})
