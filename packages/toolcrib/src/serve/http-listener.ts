import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { setTimeout as wait } from 'node:timers/promises'
import { ToolcribError } from '@toolcrib/core'

/** Where to serve a fetch handler over HTTP. */
interface ListenOptions {
  readonly host: string
  /** 0: a free port. */
  readonly port: number
  /** Answers requests without fetch objects; those for which it returns false go to the fetch handler. */
  readonly direct?: (request: IncomingMessage, response: ServerResponse) => boolean
}

interface LingerOptions {
  /**
   * How long a proxy in front may take to send requests elsewhere. 0 without a proxy: then only open connections are
   * waited for, briefly.
   */
  readonly lingerMs: number
}

/**
 * Serves a fetch handler over `node:http`. Slow senders are cut off by time limits, requests of disconnected clients
 * are aborted, and a slow reader slows down only its own stream. Throws `source-unavailable` if the address is in use.
 */
export async function listen(
  handle: (request: Request) => Promise<Response>,
  { host, port, direct = () => false }: ListenOptions,
): Promise<HttpListener> {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Request smuggling relies on a lenient parser.
      insecureHTTPParser: false,
      noDelay: true,
    },
    (request, response) => {
      if (!isAddressed(request)) {
        response.writeHead(400, { connection: 'close' }).end()
        return
      }
      if (!direct(request, response)) answer(handle, request, response).catch(() => response.destroy())
    },
  )
  server.maxConnections = MAX_CONNECTIONS
  await started(server, { host, port })
  const address = server.address()
  const actual = typeof address === 'object' && address ? address.port : port
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  return new HttpListener(server, `http://${name}:${actual}`)
}

/** Whether the address of a request is unambiguous: with two paths or Host headers, a proxy may have read the other. */
function isAddressed({ url = '', headers }: IncomingMessage): boolean {
  return url.startsWith('/') && !url.includes('\\') && HOST.test(headers.host ?? '')
}

/** A name or an address, with or without a port. */
const HOST = /^(?:\[[0-9a-f:.]+\]|[^\s:/?#@\\]+)(?::\d{1,5})?$/i

/** Answers a request with fetch objects. Rejects if the client disconnects before it has the whole response. */
async function answer(
  handle: (request: Request) => Promise<Response>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => response.writableFinished || gone.abort())
  const { status, headers, body } = await handle(toRequest(request, gone.signal)).catch(INTERNAL_ERROR)
  if (response.destroyed) return void body?.cancel()
  response.statusCode = status
  response.setHeaders(headers)
  if (!body) return void response.end()
  response.flushHeaders()
  await pipeline(Readable.fromWeb(body as ReadableStream), response)
}

function toRequest(request: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', url, headers, headersDistinct } = request
  const given = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  )
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const body = hasBody ? { body: Readable.toWeb(request) as BodyInit, duplex: 'half' } : {}
  return new Request(`http://${headers.host}${url}`, { method, headers: given, signal, ...body })
}

/** How long a client may take for its headers, and for a whole request. */
const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 60_000
/** How often these are checked. */
const CHECK_MS = 2_000
/** Longer than the pauses between two calls of a model, so that most calls find an open connection. */
const KEEP_ALIVE_MS = 65_000
/** Longer than a client takes from choosing a connection to sending a request over it. */
const LINGER_MS = 500
/** Longer than the interval of health checks by proxies and Kubernetes. */
const LATELY_MS = 15_000
/** More than the connections that wait to be accepted: the system keeps at most 511. */
const MAX_TURNS = 1_000
/** Too short for work on requests, during which others arrive. */
const SHORT_TURN_MS = 0.3
/** Longer than a request takes to arrive over a connection that was accepted. */
const ARRIVAL_MS = 100
/** Each of 500 sessions may hold one for its stream, and one for its calls. */
const MAX_CONNECTIONS = 4_096

const INTERNAL_ERROR = () => new Response('internal error\n', { status: 500 })

function started(server: Server, { host, port }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(cannotListen(error, { host, port })))
    server.listen(port, host.replace(/^\[(.*)\]$/, '$1'), resolve)
  })
}

function cannotListen(error: NodeJS.ErrnoException, { host, port }: ListenOptions): ToolcribError {
  const reasons: Record<string, string> = {
    EADDRINUSE: `port ${port} of ${host} is taken; choose another with --port, or a free one with --port 0`,
    EACCES: `port ${port} needs privileges that you do not have; choose one above 1023 with --port`,
    EADDRNOTAVAIL: `${host} is not an address of this machine; choose another with --host`,
  }
  const message = reasons[error.code ?? ''] ?? `cannot listen on ${host}:${port}: ${error.message}`
  return new ToolcribError('source-unavailable', message, { cause: error })
}

/** A fetch handler that is served over HTTP, and that stops without losing a request. */
export class HttpListener {
  /** `http://127.0.0.1:7117` */
  readonly origin: string
  readonly #server: Server
  #lastRequestAt = Number.NEGATIVE_INFINITY
  /** Whether each connection is closed after its answer. */
  #isLingering = false
  readonly #underWay = new Set<ServerResponse>()
  /** Connections without a request so far: browsers and `fetch` open some ahead of time. */
  readonly #unused = new Set<Socket>()
  #stopped: Promise<StoppedServer> | undefined

  constructor(server: Server, origin: string) {
    this.#server = server
    this.origin = origin
    server.on('connection', (socket) => {
      this.#unused.add(socket)
      socket.once('close', () => this.#unused.delete(socket))
    })
    server.prependListener('request', ({ socket }, response) => {
      this.#unused.delete(socket)
      this.#lastRequestAt = performance.now()
      if (this.#isLingering) response.setHeader('connection', 'close')
      this.#underWay.add(response)
      response.once('close', () => {
        this.#underWay.delete(response)
        // A kept-alive connection would delay closing the server.
        if (!server.listening) setImmediate(() => server.closeIdleConnections())
      })
    })
  }

  /**
   * Keeps answering for a while, closing each connection after its answer; then accepts no more connections. Resolves
   * once requests over the last ones have arrived. Stops at once if nobody is connected.
   */
  async stopAccepting(options: LingerOptions): Promise<void> {
    await this.#stop(options)
  }

  /** Accepts no more connections, lets requests in flight finish for this long, then closes them. */
  async close({ graceMs }: { readonly graceMs: number }): Promise<void> {
    const { closed } = await this.#stop({ lingerMs: 0 })
    const timer = setTimeout(() => this.#server.closeAllConnections(), graceMs)
    await closed
    clearTimeout(timer)
  }

  #stop(options: LingerOptions): Promise<StoppedServer> {
    this.#stopped ??= this.#stopOnce(options)
    return this.#stopped
  }

  async #stopOnce({ lingerMs }: LingerOptions): Promise<StoppedServer> {
    if (await this.#isNeeded(lingerMs)) await this.#linger(lingerMs)
    await this.#acceptAll()
    const server = this.#server
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeIdleConnections()
    await Promise.race([closed, wait(ARRIVAL_MS)])
    // Node.js counts these as busy, not as idle.
    for (const socket of this.#unused) if (socket.bytesRead === 0) socket.destroy()
    return { closed }
  }

  /**
   * Whether requests may still come: a connected client may be sending one right now, and a proxy opens new connections
   * until it notices that this server stops.
   */
  async #isNeeded(lingerMs: number): Promise<boolean> {
    const connections = await new Promise<number>((resolve) =>
      this.#server.getConnections((_error, count) => resolve(count ?? 0)),
    )
    const hasProxy = lingerMs > 0
    return connections > 0 || (hasProxy && performance.now() - this.#lastRequestAt < LATELY_MS)
  }

  async #linger(lingerMs: number): Promise<void> {
    this.#isLingering = true
    // Clients would otherwise reuse their connections just when these are closed.
    for (const response of this.#underWay)
      if (!response.headersSent) response.setHeader('connection', 'close')
    await wait(Math.max(lingerMs, LINGER_MS))
  }

  /**
   * The system resets connections that were not accepted. Node.js accepts one per turn of its event loop, so none is
   * waiting after a short turn without a new one.
   */
  async #acceptAll(): Promise<void> {
    let accepted = 0
    const note = () => void accepted++
    this.#server.on('connection', note)
    for (let turns = 0; turns < MAX_TURNS; turns++) {
      const before = accepted
      const begun = performance.now()
      await new Promise((resolve) => void setImmediate(resolve))
      if (accepted === before && performance.now() - begun < SHORT_TURN_MS) break
    }
    this.#server.off('connection', note)
  }
}

/** A server that accepts no more connections. */
interface StoppedServer {
  /** Resolves once its last connection is closed. */
  readonly closed: Promise<void>
}
