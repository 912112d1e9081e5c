import { describe, expect, it } from 'vitest'
import { ConnectedClients } from './connected-clients.ts'

describe('the clients of a gateway', () => {
  it('forgets quiet ones of the token with the most where there are too many, but none that listens', () => {
    const clients = new ConnectedClients(() => 0)
    const appear = (name: string, isListening: boolean, token = 'ann') =>
      clients.modern(
        {
          era: 'modern',
          transport: 'http',
          profile: undefined,
          sessionId: name,
          principal: { id: token, name: token, profile: undefined, profiles: undefined },
          canBeReached: () => isListening,
        },
        { name, version: '1' },
      )
    appear('of another token', false, 'bob')
    appear('listener', true)
    for (let at = 0; at < 1_500; at++) appear(`client ${at}`, false)
    const names = clients.list().map(({ name }) => name)
    expect(names).toContain('listener')
    expect(names).toContain('of another token')
    expect(names).toContain('client 1499')
    expect(names).not.toContain('client 0')
    expect(names.length).toBe(1_000)
  })
})
