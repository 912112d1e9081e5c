import type { Transport } from '@modelcontextprotocol/client'
import { scheduleInBackground } from '@toolcrib/core/internal'
import type { OpenRequest } from './connect.ts'
import type { Connection, ConnectionOptions, ServerInfo } from './connection.ts'

/**
 * Connects over the host's own transport, for the `open` option of `connectServers()`: an in-process server, or one
 * behind another program. With `known`, what the server reported about itself before, a modern server skips the
 * greeting, and an older one gets the old greeting at once. If it fails, closes the transport and rejects with the
 * reason.
 */
export async function connectOver(
  transport: Transport,
  request: OpenRequest,
  known?: ServerInfo,
): Promise<Connection> {
  const [{ connect }, { HttpTransport }] = await Promise.all([
    import('./connect.ts'),
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
