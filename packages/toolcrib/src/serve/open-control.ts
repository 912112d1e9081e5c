import type { Gateway } from '@toolcrib/gateway'
import type { FoundConfig, OpenedRegistry } from '@toolcrib/mcp'
import { version } from '../../package.json'
import { serverDigest } from '../gateway/gateway-connections.ts'
import { extraSocketPath, socketPath } from '../gateway/runtime-folder.ts'
import type { Terminal } from '../terminal/terminal.ts'
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
  /** The address of its page, with the operator's token; only over HTTP. */
  readonly page?: string
  readonly keep: () => void
  readonly stop: () => void
}

/**
 * Opens the socket through which `status`, `logs` and `stop` reach a gateway. Only a gateway over HTTP takes the main
 * socket of the config, since others may join it; a second one, and one over stdio, which ends with its client, get an
 * extra socket. Returns undefined, with a note, if the user has no folder for it.
 */
export async function openControl(
  terminal: Pick<Terminal, 'env' | 'warn'>,
  controlled: Controlled,
): Promise<ControlSocket | undefined> {
  try {
    return await openSocket(terminal.env, controlled)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    terminal.warn(`"status", "logs" and "stop" cannot reach this gateway: ${reason}`)
    return undefined
  }
}

async function openSocket(env: Terminal['env'], controlled: Controlled): Promise<ControlSocket | undefined> {
  const { files } = controlled.live.found.config
  const gateway = controlledGateway(controlled)
  const main = controlled.url === null ? undefined : await ControlSocket.open(socketPath(files, env), gateway)
  if (main) return main
  const extra = extraSocketPath(files, env, controlled.url === null ? 'stdio' : 'http')
  return extra === undefined ? undefined : ControlSocket.open(extra, gateway)
}

function controlledGateway({
  opened,
  gateway,
  live,
  logs,
  url,
  page,
  keep,
  stop,
}: Controlled): ControlledGateway {
  const startedAt = new Date().toISOString()
  return {
    logs,
    status: () => ({
      pid: process.pid,
      version,
      url,
      ...(page === undefined ? {} : { page }),
      ...(url === null ? { client: gateway.clients().find(({ isOpen }) => isOpen)?.name } : {}),
      startedAt,
      files: live.found.config.files,
      ...gateway.status(),
      clients: gateway.clients().filter(({ isOpen }) => isOpen).length,
      servers: opened.servers.status(),
      digests: digestsOf(live.found),
    }),
    serveStream: async (stream, profile) =>
      gateway.serveStdio({ input: stream, output: stream, profile }).closed,
    describeServer: (server) => describeServer(opened.servers, server),
    serveServer: (stream, server) => new ServerStream(opened.servers, { server, stream, logs }).run(),
    approvals: gateway.approvals,
    reload: () => live.reload(),
    restart: (server) => opened.restart(server),
    keep,
    stop,
  }
}

function digestsOf({ config }: FoundConfig): Readonly<Record<string, string>> {
  const servers = Object.entries(config.servers)
  return Object.fromEntries(servers.map(([name, server]) => [name, serverDigest(server)]))
}
