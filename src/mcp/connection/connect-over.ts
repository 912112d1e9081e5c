import type { Transport } from '@modelcontextprotocol/client'
import { scheduleInBackground } from '../../time.ts'
import type { Connection, ConnectionOptions, ServerInfo } from './connection.ts'
import type { OpenRequest } from './open-connection.ts'

/**
 * Connects over a transport of the host's own, for the `open` option of `connectServers()`: an in-process server, or one
 * behind another program. With `known`, what the server reported about itself elsewhere, a modern server is not greeted
 * again, and an older one is greeted in the old way at once. Rejects with the reason, with the transport closed.
 */
export async function connectOver(
  transport: Transport,
  request: OpenRequest,
  known?: ServerInfo,
): Promise<Connection> {
  const [{ connect }, { HttpTransport }] = await Promise.all([
    import('./open-connection.ts'),
    import('./http/http-transport.ts'),
  ])
  const guarded = new HttpTransport(transport, request.onWarning)
  const greeting = greetingOf(known)
  return connect(guarded, request, { now: Date.now, schedule: scheduleInBackground }, { greeting })
}

function greetingOf(known: ServerInfo | undefined): ConnectionOptions['greeting'] {
  if (known === undefined) return 'auto'
  if (known.era === 'legacy') return { kind: 'legacy' }
  const { protocolVersion, capabilities, instructions, serverInfo } = known
  const discover = {
    resultType: 'complete' as const,
    supportedVersions: [protocolVersion],
    capabilities,
    ...(instructions === undefined ? {} : { instructions }),
    serverInfo: { name: 'server', version: '0', ...serverInfo },
  }
  return { kind: 'modern', discover }
}
