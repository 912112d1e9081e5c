import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'

/** The address of an MCP server, and its transport. */
export interface Endpoint {
  readonly url: string
  /** streamable: a POST returns its result. sse: results arrive on one stream that stays open. */
  readonly transport: 'streamable' | 'sse'
  readonly headers?: Readonly<Record<string, string>>
}

/** One session. It does as little as possible, so that the measurement shows the other side. */
export interface Connection {
  request(method: string, params: object): Promise<Record<string, unknown>>
  close(): Promise<void>
}

/** Opens a session of the 2025-11-25 revision, which every contender supports. */
export async function connect(endpoint: Endpoint): Promise<Connection> {
  const open = endpoint.transport === 'sse' ? openEvents : openStreamable
  const connection = await inTime(open(endpoint))
  return { ...connection, request: (method, params) => inTime(connection.request(method, params)) }
}

/** A contender that does not answer must not hold up the others. */
const PATIENCE_MS = 20_000

async function inTime<Value>(promise: Promise<Value>): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${PATIENCE_MS / 1_000} s`)), PATIENCE_MS)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1' },
}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

async function openStreamable({ url, headers = {} }: Endpoint): Promise<Connection> {
  let nextId = 1
  let session: Record<string, string> = {}
  const post = async (message: object) => {
    const response = await send(url, 'POST', { ...headers, ...session }, JSON.stringify(message))
    const body = await text(response)
    if ((response.statusCode ?? 500) >= 400) throw new Error(`${response.statusCode}: ${body.slice(0, 200)}`)
    return { response, body }
  }
  const ask = async (method: string, params: object) => {
    const { response, body } = await post({ jsonrpc: '2.0', id: nextId++, method, params })
    return { response, result: resultOf(lastMessage(response, body)) }
  }
  const { response } = await ask('initialize', INITIALIZE)
  const id = response.headers['mcp-session-id']
  session = {
    'mcp-protocol-version': '2025-11-25',
    ...(typeof id === 'string' ? { 'mcp-session-id': id } : {}),
  }
  await post({ jsonrpc: '2.0', method: 'notifications/initialized' })
  return {
    request: async (method, params) => (await ask(method, params)).result,
    close: async () => {
      if (id !== undefined) (await send(url, 'DELETE', { ...headers, ...session })).resume()
    },
  }
}

function lastMessage({ headers }: IncomingMessage, body: string): unknown {
  if (!headers['content-type']?.startsWith('text/event-stream')) return JSON.parse(body)
  const last = body.lastIndexOf('\ndata: ')
  return JSON.parse(body.slice(last < 0 ? body.indexOf('data: ') + 6 : last + 7).split('\n', 1)[0] ?? '')
}

async function openEvents({ url, headers = {} }: Endpoint): Promise<Connection> {
  const waiting = new Map<unknown, (message: unknown) => void>()
  const stream = await send(url, 'GET', headers)
  const messages = new Promise<string>((resolve) => {
    let rest = ''
    stream.on('data', (chunk) => {
      const events = `${rest}${chunk}`.split(/\r?\n\r?\n/)
      rest = events.pop() ?? ''
      for (const event of events) {
        const data = /^data: ?(.*)$/m.exec(event)?.[1] ?? ''
        if (/^event: ?endpoint$/m.test(event)) resolve(new URL(data, url).href)
        else if (data.startsWith('{')) settle(JSON.parse(data))
      }
    })
  })
  const settle = (message: { id?: unknown; method?: unknown }) => {
    if (message.method !== undefined) return
    waiting.get(message.id)?.(message)
    waiting.delete(message.id)
  }
  const address = await messages
  let nextId = 1
  const post = async (message: object) =>
    (await send(address, 'POST', headers, JSON.stringify(message))).resume()
  const ask = async (method: string, params: object) => {
    const id = nextId++
    const answered = new Promise<unknown>((resolve) => waiting.set(id, resolve))
    await post({ jsonrpc: '2.0', id, method, params })
    return resultOf(await answered)
  }
  await ask('initialize', INITIALIZE)
  await post({ jsonrpc: '2.0', method: 'notifications/initialized' })
  return { request: ask, close: async () => void stream.destroy() }
}

function resultOf(message: unknown): Record<string, unknown> {
  const { result, error } = message as { result?: Record<string, unknown>; error?: { message: string } }
  if (result === undefined) throw new Error(error?.message ?? 'there was no result')
  return result
}

function send(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body?: string,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      agent,
      method,
      headers: {
        accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        ...headers,
      },
    })
    sent.once('response', resolve)
    sent.once('error', reject)
    sent.end(body)
  })
}
