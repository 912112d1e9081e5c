import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import type { GatewayProcess } from '../scripts/replicas/gateway-process.ts'
import { runLoad } from '../scripts/replicas/load.ts'
import { RedisServer } from './redis-server.ts'

// Every gateway is a process of its own, with a server as a process behind it.
vi.setConfig({ testTimeout: 120_000 })

const redisUrl = inject('redisUrl')
/** Each takes the same time however many keys there are, or looks through what one stream or one list of replicas has. */
const CHEAP = [
  ...['get', 'getrange', 'set', 'psetex', 'del', 'exists', 'incr', 'eval', 'evalsha', 'time'],
  ...['xadd', 'xread', 'xrevrange', 'zadd', 'zrem', 'zremrangebyscore', 'zrangebyscore'],
  // What the client sends with each connection, and this test.
  ...['info', 'select', 'hello', 'ping', 'client|setname', 'client|setinfo'],
]
const FINE = { lost: 0, misrouted: 0, doubled: 0, invented: 0, forgotten: 0, faults: [] }

describe.skipIf(redisUrl === undefined)('gateways on one Redis', () => {
  function runSmallLoad(
    disturb: (replicas: readonly GatewayProcess[]) => Promise<void>,
    store = `${redisUrl}?prefix=${crypto.randomUUID()}:`,
  ) {
    const folder = mkdtempSync(join(tmpdir(), 'toolcrib-replicas-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    return runLoad({
      cli: inject('commandLine'),
      folder,
      store,
      replicas: 2,
      sessions: 60,
      callsPerSession: 10,
      clients: 6,
      rounds: 1,
      flags: ['--linger', '0.5'],
      disturb,
    })
  }

  it('lose only what is under way when one is killed, and double or misroute nothing', async () => {
    const report = await runSmallLoad(async ([first]) => {
      await first?.kill()
      await first?.start()
    })
    expect(report).toMatchObject(FINE)
    expect(report.answered + report.cut).toBe(600)
  })

  it('lose nothing at all when all of them are restarted one after the other', async () => {
    const codes: unknown[] = []
    const report = await runSmallLoad(async (replicas) => {
      for (const replica of replicas) {
        codes.push(await replica.stop())
        await replica.start()
      }
    })
    // A gateway that stops goes on answering until it accepts no more connections.
    expect(report).toMatchObject({ ...FINE, answered: 600, cut: 0, unavailable: 0 })
    expect(new Set(codes)).toEqual(new Set([0]))
  })

  it('send Redis no command that takes longer the more keys there are', async () => {
    const redis = await RedisServer.start()
    onTestFinished(() => redis.close())
    const report = await runSmallLoad(async ([first]) => {
      await first?.kill()
      await first?.start()
    }, redis.url)
    expect(report).toMatchObject(FINE)
    // Also those that scripts call.
    const stats = await redis.command('INFO', 'commandstats')
    const commands = [...stats.matchAll(/^cmdstat_([^:]+):/gm)].map(([, name = '']) => name)
    expect(commands).toEqual(expect.arrayContaining(['get', 'psetex', 'xread', 'evalsha']))
    expect(commands.filter((name) => !CHEAP.includes(name))).toEqual([])
  })
})
