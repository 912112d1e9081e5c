import { ToolcribError, ToolRegistry } from '@toolcrib/core'
import { connectServers } from '@toolcrib/mcp'
import { describe, expect, it } from 'vitest'
import { TokenCounts } from '../servers/token-counts.ts'
import { gatewayCost } from './gateway-cost.ts'

class BrokenRegistry extends ToolRegistry {
  override openSession(): never {
    throw new Error('no sessions today')
  }
}

describe('what a gateway costs', () => {
  it('is refused with the next step when the gateway cannot list its tools', async () => {
    const registry = new BrokenRegistry()
    const servers = connectServers(registry, { servers: {} })
    const cost = gatewayCost({ registry, servers }, new TokenCounts({ env: {} }))
    await expect(cost).rejects.toThrow(ToolcribError)
    await expect(cost).rejects.toThrow(/^the gateway cannot list its tools: .*; check .*"toolcrib doctor"$/)
  })
})
