import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { getRequestListener } from '@hono/node-server'
import { ToolcribError } from 'toolcrib'

/** Where a fetch handler is served over HTTP. */
export interface ListenOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** Answers requests without fetch objects; those for which it returns false go to the fetch handler. */
  readonly direct?: (request: IncomingMessage, response: ServerResponse) => boolean
}

/** A fetch handler that is served over HTTP. */
export interface HttpListener {
  /** `http://127.0.0.1:7117` */
  readonly origin: string
  /** Accepts no more connections, lets requests in flight finish for this long, then closes them. */
  close(options: { readonly graceMs: number }): Promise<void>
}

/**
 * Serves a fetch handler over `node:http`. Slow senders are cut off by time limits, requests of a client that went away
 * are aborted, and a slow reader slows down its own stream alone. Throws `source-unavailable` when the address is taken.
 */
export async function listen(
  handle: (request: Request) => Promise<Response>,
  { host, port, direct = () => false }: ListenOptions,
): Promise<HttpListener> {
  let viaFetch: Promise<RequestListener> | undefined
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Smuggled requests rely on a lenient parser.
      insecureHTTPParser: false,
      noDelay: true,
    },
    (request, response) => {
      if (!isAddressed(request)) {
        response.writeHead(400, { connection: 'close' }).end()
        return
      }
      if (direct(request, response)) return
      viaFetch ??= fetchListener(handle)
      viaFetch.then((listener) => listener(request, response)).catch(() => response.destroy())
    },
  )
  server.maxConnections = MAX_CONNECTIONS
  // A connection that is kept alive would hold up a server that is closing.
  server.on('request', (_request, response) =>
    response.once('close', () => {
      if (!server.listening) setImmediate(() => server.closeIdleConnections())
    }),
  )
  await started(server, { host, port })
  const address = server.address()
  const actual = typeof address === 'object' && address ? address.port : port
  return {
    origin: `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${actual}`,
    close: async ({ graceMs }) => {
      await lingered(server)
      await closed(server, graceMs)
    },
  }
}

/** Whether the address of a request is its path and its Host header: with two of either, a proxy may have read another. */
function isAddressed({ url = '', headers }: IncomingMessage): boolean {
  return url.startsWith('/') && !url.includes('\\') && headers.host !== undefined
}

type RequestListener = ReturnType<typeof getRequestListener>

/** Loaded with the first request that is not answered directly: most clients never send one. */
async function fetchListener(handle: (request: Request) => Promise<Response>): Promise<RequestListener> {
  const { getRequestListener } = await import('@hono/node-server')
  return getRequestListener(handle, {
    overrideGlobalObjects: false,
    errorHandler: () => INTERNAL_ERROR(),
  })
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
    EACCES: `port ${port} needs more rights than you have; choose one above 1023 with --port`,
    EADDRNOTAVAIL: `${host} is not an address of this machine; choose another with --host`,
  }
  const message = reasons[error.code ?? ''] ?? `cannot listen on ${host}:${port}: ${error.message}`
  return new ToolcribError('source-unavailable', message, { cause: error })
}

/**
 * A client that has a connection may be sending a request over it at this moment. For a while such requests are still
 * answered, and the answers say that the connection ends.
 */
async function lingered(server: Server): Promise<void> {
  const connections = await new Promise<number>((resolve) =>
    server.getConnections((_error, count) => resolve(count ?? 0)),
  )
  if (connections === 0) return
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
  await new Promise<void>((resolve) => void setTimeout(resolve, LINGER_MS))
}

async function closed(server: Server, graceMs: number): Promise<void> {
  const done = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const timer = setTimeout(() => server.closeAllConnections(), graceMs)
  await done
  clearTimeout(timer)
}
