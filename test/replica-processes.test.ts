import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import type { GatewayProcess } from '../scripts/replicas/gateway-process.ts'
import { runLoad } from '../scripts/replicas/load.ts'

// Every gateway is a process of its own, with a server as a process behind it.
vi.setConfig({ testTimeout: 120_000 })

const redisUrl = inject('redisUrl')
const FINE = { lost: 0, misrouted: 0, doubled: 0, invented: 0, forgotten: 0, faults: [] }

describe.skipIf(redisUrl === undefined)('gateways on one Redis', () => {
  function runSmallLoad(disturb: (replicas: readonly GatewayProcess[]) => Promise<void>) {
    const folder = mkdtempSync(join(tmpdir(), 'toolcrib-replicas-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    return runLoad({
      cli: inject('commandLine'),
      folder,
      store: `${redisUrl}?prefix=${crypto.randomUUID()}:`,
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
})
