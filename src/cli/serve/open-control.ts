import type { Gateway } from 'toolcrib/gateway'
import type { FoundConfig, OpenedRegistry } from 'toolcrib/mcp'
import { version } from '../../../package.json'
import { serverDigest } from '../gateway-connections.ts'
import { extraSocketPath, socketPath } from '../runtime-folder.ts'
import type { Terminal } from '../terminal.ts'
import { type ControlledGateway, ControlSocket } from './control-socket.ts'
import type { LiveConfig } from './live-config.ts'
import type { LogBook } from './log-book.ts'
import { describeServer, ServerStream } from './server-stream.ts'

export interface Controlled {
  readonly opened: OpenedRegistry
  readonly gateway: Gateway
  readonly live: LiveConfig
  readonly logs: LogBook
  /** Where commands reach it; null over stdio. */
  readonly url: string | null
  readonly stop: () => void
}

/**
 * Opens the socket through which `status`, `logs` and `stop` reach a gateway. Only a gateway over HTTP takes the main
 * socket of the config, since others may join it; a second one, and one over stdio, which ends with its client, get an
 * extra socket. Returns undefined if the user has no private folder for it.
 */
export async function openControl(
  { env }: Pick<Terminal, 'env'>,
  found: FoundConfig,
  controlled: Controlled,
): Promise<ControlSocket | undefined> {
  const { files } = found.config
  const gateway = controlledGateway(controlled)
  const main = controlled.url === null ? undefined : await ControlSocket.open(socketPath(files, env), gateway)
  if (main) return main
  const extra = extraSocketPath(files, env, controlled.url === null ? 'stdio' : 'http')
  return extra === undefined ? undefined : ControlSocket.open(extra, gateway)
}

function controlledGateway({ opened, gateway, live, logs, url, stop }: Controlled): ControlledGateway {
  const startedAt = new Date().toISOString()
  return {
    logs,
    status: () => ({
      pid: process.pid,
      version,
      url,
      ...(url === null ? { client: gateway.clients().find(({ isOpen }) => isOpen)?.name } : {}),
      startedAt,
      files: live.found.config.files,
      ...gateway.status(),
      servers: opened.servers.status(),
      digests: digestsOf(live.found),
    }),
    serveStream: async (stream, profile) =>
      gateway.serveStdio({ input: stream, output: stream, profile }).closed,
    describeServer: (server) => describeServer(opened.servers, server),
    serveServer: (stream, server) => new ServerStream(opened.servers, { server, stream, logs }).run(),
    reload: () => live.reload(),
    stop,
  }
}

function digestsOf({ config }: FoundConfig): Readonly<Record<string, string>> {
  const servers = Object.entries(config.servers)
  return Object.fromEntries(servers.map(([name, server]) => [name, serverDigest(server)]))
}
