import type { FoundConfig } from '@toolcrib/mcp'
import { describe, expect, it } from 'vitest'
import { LiveConfig, type ReloadedGateway } from './live-config.ts'

/** A config with this server. */
function configOf(server: string): FoundConfig {
  const config = { servers: { [server]: { command: server } }, files: [], tools: {} }
  return { config, locks: [], lockfile: undefined, lockPath: 'toolcrib.lock', warnings: [] }
}

/** A running gateway whose config becomes `after`; both of its parts can be made to fail. */
function open({ access = '', servers = '' }: { readonly access?: string; readonly servers?: string }) {
  const [before, after] = [configOf('before'), configOf('after')]
  const faults = { access, servers }
  const log: string[] = []
  const part = async (name: keyof typeof faults) => {
    if (faults[name] !== '') throw new Error(faults[name])
    log.push(name)
  }
  const outcomes: unknown[] = []
  const gateway: ReloadedGateway = {
    apply: () => part('access'),
    announceReload: () => void log.push('announced'),
  }
  const live = new LiveConfig(
    before,
    { reload: () => part('servers') },
    async () => after,
    (outcome) => outcomes.push(outcome),
  )
  live.attach(gateway)
  return { live, before, after, faults, log, outcomes }
}

describe('a reloaded config', () => {
  it('is applied: who may come in first, then the servers', async () => {
    const { live, after, log, outcomes } = open({})
    await live.reload()
    expect(log).toEqual(['access', 'announced', 'servers'])
    expect(outcomes).toEqual([{ found: after, unapplied: [] }])
    expect(live.found).toBe(after)
    await live.reload()
    expect(log.filter((each) => each === 'announced')).toHaveLength(1)
  })

  it('changes nothing when its tokens or profiles are not valid', async () => {
    const { live, before, log, outcomes } = open({ access: 'a token is too short' })
    await live.reload()
    expect(log).toEqual([])
    expect(outcomes).toEqual([{ problem: 'a token is too short', isAccessApplied: false }])
    expect(live.found).toBe(before)
  })

  it('is said to be applied in part when its servers fail: revoked tokens stay revoked, here and at other replicas', async () => {
    const { live, before, after, faults, log, outcomes } = open({ servers: 'a server does not end' })
    await live.reload()
    expect(log).toEqual(['access', 'announced'])
    expect(outcomes).toEqual([{ problem: 'a server does not end', isAccessApplied: true }])
    expect(live.found).toBe(before)
    faults.servers = ''
    await live.reload()
    expect(log).toEqual(['access', 'announced', 'access', 'servers'])
    expect(outcomes.at(-1)).toEqual({ found: after, unapplied: [] })
    expect(live.found).toBe(after)
  })
})
