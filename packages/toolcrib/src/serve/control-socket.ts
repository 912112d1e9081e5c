import { once } from 'node:events'
import { chmod, unlink } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import type { Duplex } from 'node:stream'
import type { ServerStatus } from '@toolcrib/core'
import { describeError } from '@toolcrib/core/internal'
import type { GatewayApprovals } from '@toolcrib/gateway'
import { ensurePrivateFolder } from '../gateway/runtime-folder.ts'
import type { LogBook } from './log-book.ts'
import type { LogLine } from './log-file.ts'

/** What a gateway does for commands of the same user. */
export interface ControlledGateway {
  readonly logs: LogBook
  status(): object
  /** Serves one client over a stream of JSON-RPC lines, and resolves when it ends. */
  serveStream(stream: Duplex, profile: string | undefined): Promise<void>
  /** What one server reports about itself. Rejects with the reason when that cannot be found out. */
  describeServer(server: string): Promise<object>
  /** Connects a stream of JSON-RPC lines to one server, and resolves when it ends. */
  serveServer(stream: Duplex, server: string): Promise<void>
  /** Reads config and lockfiles again. */
  reload(): Promise<void>
  readonly approvals: GatewayApprovals
  /** Ends one server's process, and starts it again. Rejects for an unknown server. */
  restart(server: string): Promise<ServerStatus>
  /** Goes on when no client is connected any more. */
  keep(): void
  /** Begins to stop. */
  stop(): void
}

/**
 * The socket through which commands of the same user reach a running gateway. File permissions control access: only the
 * owner can enter the folder.
 */
export class ControlSocket {
  readonly path: string
  readonly #server: Server
  readonly #streams: Set<Duplex>
  #closed: Promise<unknown> | undefined

  private constructor(path: string, server: Server, streams: Set<Duplex>) {
    this.path = path
    this.#server = server
    this.#streams = streams
  }

  /** Returns undefined when another gateway has the socket, or the folder belongs to somebody else. */
  static async open(path: string, gateway: ControlledGateway): Promise<ControlSocket | undefined> {
    const isFile = process.platform !== 'win32'
    if (isFile && !(await ensurePrivateFolder(dirname(path)))) return undefined
    const streams = new Set<Duplex>()
    const server = createServer((request, response) => answer(request, response, gateway))
    server.on('upgrade', (request: IncomingMessage, stream: Duplex) => {
      streams.add(stream)
      stream.once('close', () => streams.delete(stream))
      stream.on('error', () => stream.destroy())
      stream.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: mcp-stdio\r\n\r\n')
      // A client that ends its side is gone, even if there is more to send.
      stream.once('end', () => stream.destroy())
      const close = () => stream.destroy()
      connectStream(request, stream, gateway).then(close, close)
    })
    if (isFile && !(await removeStale(path))) return undefined
    server.listen(path)
    try {
      await once(server, 'listening')
    } catch {
      // Another process was faster.
      return undefined
    }
    if (isFile) await chmod(path, 0o600)
    return new ControlSocket(path, server, streams)
  }

  /** Removes the file, so that nobody finds the gateway any more; open streams stay open. */
  stopListening(): void {
    if (this.#closed) return
    this.#closed = once(this.#server, 'close')
    this.#server.close()
  }

  /** Closes it, with every stream. The file is removed. */
  async close(): Promise<void> {
    this.stopListening()
    for (const stream of this.#streams) stream.destroy()
    this.#server.closeAllConnections()
    await this.#closed
  }
}

/** Removes the socket of a killed gateway. Returns false if a gateway is listening. */
async function removeStale(path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return false
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') await unlink(path).catch(() => {})
    return true
  } finally {
    socket.destroy()
  }
}

function connectStream(request: IncomingMessage, stream: Duplex, gateway: ControlledGateway): Promise<void> {
  const { pathname, searchParams } = urlOf(request)
  if (pathname === '/server') return gateway.serveServer(stream, searchParams.get('name') ?? '')
  return gateway.serveStream(stream, searchParams.get('profile') ?? undefined)
}

function answer(request: IncomingMessage, response: ServerResponse, gateway: ControlledGateway): void {
  const { pathname, searchParams } = urlOf(request)
  switch (`${request.method} ${pathname}`) {
    case 'GET /status':
      sendJson(response, gateway.status())
      break
    case 'GET /logs':
      sendLogs(response, gateway.logs, {
        server: searchParams.get('server') ?? undefined,
        isFollowed: searchParams.has('follow'),
      })
      break
    case 'GET /server':
      reply(
        response,
        gateway.describeServer(searchParams.get('name') ?? '').then((info) => ({ info })),
      )
      break
    case 'POST /reload':
      gateway.reload().then(
        () => sendJson(response, { reloaded: true }),
        (error) => sendJson(response, { error: describeError(error) }, 500),
      )
      break
    case 'POST /restart':
      reply(
        response,
        gateway.restart(searchParams.get('name') ?? '').then((status) => ({ status })),
      )
      break
    case 'GET /approvals':
      reply(response, gateway.approvals.list())
      break
    case 'POST /decide':
      reply(response, decide(gateway.approvals, searchParams))
      break
    case 'POST /revoke':
      reply(
        response,
        gateway.approvals.revoke(searchParams.get('id') ?? undefined).then((revoked) => ({ revoked })),
      )
      break
    case 'POST /keep':
      gateway.keep()
      sendJson(response, { kept: true })
      break
    case 'POST /stop':
      sendJson(response, { stopping: true })
      gateway.stop()
      break
    default:
      response.writeHead(404).end()
  }
}

function sendJson(response: ServerResponse, data: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(data))
}

function reply(response: ServerResponse, answer: Promise<unknown>): void {
  answer.then(
    (data) => sendJson(response, data),
    (error) => sendJson(response, { error: describeError(error) }),
  )
}

async function decide(approvals: GatewayApprovals, query: URLSearchParams): Promise<object> {
  const answer = (['once', 'session', 'always', 'deny'] as const).find((each) => each === query.get('answer'))
  if (answer === undefined) throw new Error('answer must be once, session, always or deny')
  return { decided: await approvals.decide(query.get('id') ?? '', answer) }
}

/** One JSON object per line. */
function sendLogs(
  response: ServerResponse,
  logs: LogBook,
  { server, isFollowed }: { readonly server: string | undefined; readonly isFollowed: boolean },
): void {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  const send = (line: LogLine) => {
    if (server === undefined || line.server === server) response.write(`${JSON.stringify(line)}\n`)
  }
  for (const line of logs.lines(server)) send(line)
  if (!isFollowed) {
    response.end()
    return
  }
  response.flushHeaders()
  response.once('close', logs.follow(send))
}

function urlOf({ url = '/' }: IncomingMessage): URL {
  return new URL(url, 'http://gateway')
}
