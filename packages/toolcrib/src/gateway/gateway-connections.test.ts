import type { Connection, FoundConfig, OpenRequest } from '@toolcrib/mcp'
import { describe, expect, it } from 'vitest'
import { gatewayConnections, serverDigest } from './gateway-connections.ts'
import type { RunningGateway } from './running-gateway.ts'

const RUNS = { command: 'node', args: ['a.js'], env: { KEY: 'one' } }

describe('connections through a running gateway', () => {
  const openWith = async (digests: Record<string, string>) => {
    let asked = ''
    const running = {
      report: { digests },
      describeServer: async (server: string) => {
        asked = `gateway: ${server}`
        throw new Error('it cannot start')
      },
    } as unknown as RunningGateway
    const found = { config: { servers: { a: RUNS } } } as unknown as FoundConfig
    const request = { server: 'a', config: RUNS } as unknown as OpenRequest
    const directly = {} as Connection
    const opened = gatewayConnections(running, found).open?.(request, async () => directly)
    const outcome = await opened?.then(
      (connection) => (connection === directly ? 'directly' : 'through the gateway'),
      (error: Error) => error.message,
    )
    return { outcome, asked }
  }

  it('are for servers that the gateway runs with the same config', async () => {
    expect(await openWith({ a: serverDigest(RUNS) })).toEqual({
      outcome: 'it cannot start',
      asked: 'gateway: a',
    })
  })

  it('are not for a server that the gateway does not have, or runs with other variables', async () => {
    expect(await openWith({})).toEqual({ outcome: 'directly', asked: '' })
    const other = serverDigest({ ...RUNS, env: { KEY: 'two' } })
    expect(await openWith({ a: other })).toEqual({ outcome: 'directly', asked: '' })
  })
})
