import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ToolRegistry } from 'toolcrib'
import { createGateway, type Gateway } from 'toolcrib/gateway'
import { type ConnectedServers, connectServers } from 'toolcrib/mcp'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { HOSTILE_SERVER, MODERN_SERVER, script } from './mcp/reference-servers.fixture.ts'

const TOKEN = 'ada-has-a-long-token'
const OPERATOR = 'an-operators-long-token'
const AUTHORIZATION = `Bearer ${TOKEN}`
const ACCEPT = 'application/json, text/event-stream'
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
}

describe('the gateway at a socket', () => {
  let servers: ConnectedServers
  let gateway: Gateway
  let listener: Server
  let port = 0
  const warnings: string[] = []

  beforeAll(async () => {
    const registry = new ToolRegistry()
    const mcpServers = { plain: script(HOSTILE_SERVER), modern: script(MODERN_SERVER) }
    servers = connectServers(registry, { mcpServers })
    await servers.ready()
    gateway = createGateway({
      registry,
      servers,
      mode: 'full',
      tokens: [{ token: TOKEN }, { token: OPERATOR, operator: true }],
      limits: { maxBodyBytes: 10_000, bodyTimeoutMs: 300 },
      onWarning: (warning) => warnings.push(warning),
    })
    listener = createServer((incoming, response) => {
      if (!gateway.handle(incoming, response)) response.writeHead(404).end('not of the gateway')
    })
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const address = listener.address()
    port = typeof address === 'object' && address ? address.port : 0
  })
  afterAll(async () => {
    await gateway.close()
    await servers.close()
    listener.closeAllConnections()
    listener.close()
  })

  const url = () => new URL(`http://127.0.0.1:${port}/mcp`)

  async function send(
    body: string,
    headers: Record<string, string> = {},
    { method = 'POST', path = '/mcp' } = {},
  ): Promise<IncomingMessage> {
    const sent = request({
      host: '127.0.0.1',
      port,
      path,
      method,
      headers: {
        authorization: AUTHORIZATION,
        accept: ACCEPT,
        'content-type': 'application/json',
        ...headers,
      },
    })
    sent.end(body)
    const [response] = await once(sent, 'response')
    return response
  }

  async function openSession(): Promise<Record<string, string>> {
    const response = await send(JSON.stringify(INITIALIZE))
    response.resume()
    return { 'mcp-session-id': String(response.headers['mcp-session-id']) }
  }

  /** What the gateway answers to bytes that no proper client sends, until it closes the connection. */
  async function sendRaw(bytes: string): Promise<string> {
    const socket = rawSocket()
    socket.end(bytes)
    return text(socket)
  }

  function rawSocket(): Socket {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    onTestFinished(() => void socket.destroy())
    return socket
  }

  const headOf = (extra: string) =>
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${AUTHORIZATION}\r\nAccept: ${ACCEPT}\r\n` +
    `Content-Type: application/json\r\nConnection: close\r\n${extra}\r\n`

  const requestInit = { headers: { authorization: AUTHORIZATION } }
  const clients = {
    'the SDK, modern': async () => {
      const client = new Client(
        { name: 'c', version: '1' },
        { versionNegotiation: { mode: { pin: '2026-07-28' } } },
      )
      await client.connect(new StreamableHTTPClientTransport(url(), { requestInit }))
      return client
    },
    'the SDK, legacy': async () => {
      const client = new Client({ name: 'c', version: '1' }, { versionNegotiation: { mode: 'legacy' } })
      await client.connect(new StreamableHTTPClientTransport(url(), { requestInit }))
      return client
    },
    'SDK 1.x': async () => {
      const client = new OldClient({ name: 'c', version: '1' })
      await client.connect(new OldTransport(url(), { requestInit }))
      return client
    },
  }

  it.each(Object.entries(clients))('serves a client of %s', async (_, open) => {
    const client = await open()
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('modern__add')
    const sum = await client.callTool({ name: 'modern__add', arguments: { a: 1, b: 2 } })
    expect(sum).toMatchObject({ structuredContent: { sum: 3 } })
    const seen: number[] = []
    const onprogress = ({ progress }: { progress: number }) => void seen.push(progress)
    const burst = { name: 'plain__burst', arguments: {} }
    // The signatures of the two SDKs differ.
    if (client instanceof OldClient) await client.callTool(burst, undefined, { onprogress })
    else await client.callTool(burst, { onprogress })
    expect(seen).toEqual([1, 2, 3])
    await client.close()
  })

  it('leaves paths that are not its own to others', async () => {
    expect(await text(await send('', {}, { method: 'GET', path: '/page' }))).toBe('not of the gateway')
    const health = await send('', {}, { method: 'GET', path: '/healthz' })
    expect([health.statusCode, await text(health)]).toEqual([200, '{"status":"ok"}'])
    const authorization = `Bearer ${OPERATOR}`
    const metrics = await text(await send('', { authorization }, { method: 'GET', path: '/metrics' }))
    expect(metrics).toContain('toolcrib_http_requests_total{route="/healthz",status="200"}')
  })

  it('answers a batch of an older client, each request once', async () => {
    const session = await openSession()
    const calls = [1, 2, 3].map((id) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'modern__add', arguments: { a: id, b: 10 } },
    }))
    const ping = { jsonrpc: '2.0', id: 'p', method: 'ping' }
    const unknown = { jsonrpc: '2.0', id: 'u', method: 'nothing/known' }
    const events = await text(await send(JSON.stringify([...calls, ping, unknown]), session))
    const answers = [...events.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data))
    expect(answers).toHaveLength(5)
    for (const id of [1, 2, 3])
      expect(answers.find((answer) => answer.id === id)).toMatchObject({
        result: { structuredContent: { sum: id + 10 } },
      })
    expect(answers.find(({ id }) => id === 'p')).toMatchObject({ result: {} })
    expect(answers.find(({ id }) => id === 'u')).toMatchObject({ error: { code: -32_601 } })
  })

  it('refuses requests that a proxy and the gateway could read differently', async () => {
    const body = JSON.stringify(INITIALIZE)
    const refused = [
      headOf(`Content-Length: ${body.length}\r\nTransfer-Encoding: chunked\r\n`) + body,
      headOf(`Content-Length: ${body.length}\r\nContent-Length: 5\r\n`) + body,
      headOf(`Content-Length: ${body.length}\r\nX: a\r\n b\r\n`).replace('\r\n b', '\n b') + body,
      headOf('Transfer-Encoding: chunked, identity\r\n') + body,
      headOf(`Content-Length: ${body.length}\r\n`).replace('Host: localhost', 'Host: evil.example') + body,
      headOf(`Content-Length: ${body.length}\r\nHost: evil.example\r\n`).replace('Host: localhost\r\n', '') +
        body,
    ]
    for (const bytes of refused) expect(await sendRaw(bytes)).toMatch(/^HTTP\/1\.1 (?:400|403|501) /)
    // Of two hosts, a proxy may have read the other.
    const twice = headOf(`Content-Length: ${body.length}\r\nHost: evil.example\r\n`) + body
    expect(await sendRaw(twice)).toMatch(/^HTTP\/1\.1 403 /)
    const absolute = headOf(`Content-Length: ${body.length}\r\n`).replace(
      'POST /mcp',
      'POST http://evil.example/mcp',
    )
    expect(await sendRaw(absolute + body)).toMatch(/^HTTP\/1\.1 404 /)
    // Nor does it say which of two tokens counts.
    const wrong = 'Authorization: Bearer wrong-token-of-some-length\r\n'
    const head = headOf(`Content-Length: ${body.length}\r\n`)
    for (const two of [
      head.replace('Authorization:', `${wrong}Authorization:`),
      head.replace('Accept:', `${wrong}Accept:`),
    ])
      expect(await sendRaw(two + body)).toMatch(/^HTTP\/1\.1 401 /)
    expect(await sendRaw(headOf(`Content-Length: ${body.length}\r\n`) + body)).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('cuts off bodies that are too large, endless, or never complete', async () => {
    const large = await send(JSON.stringify({ padding: 'x'.repeat(20_000) }))
    expect([large.statusCode, large.headers.connection]).toEqual([413, 'close'])
    const endless = rawSocket()
    endless.write(headOf('Transfer-Encoding: chunked\r\n').replace('Connection: close\r\n', ''))
    const feeding = setInterval(() => endless.write(`800\r\n${' '.repeat(2_048)}\r\n`), 1)
    onTestFinished(() => clearInterval(feeding))
    expect(await text(endless)).toMatch(/^HTTP\/1\.1 413 /)
    // Routes that read no body, with and without a token.
    for (const path of ['/healthz', '/metrics', '/mcp/nothing']) {
      const socket = rawSocket()
      const head = headOf('Transfer-Encoding: chunked\r\n').replace('Connection: close\r\n', '')
      socket.write(head.replace('/mcp', path).replace(TOKEN, path === '/metrics' ? OPERATOR : 'wrong'))
      const timer = setInterval(() => socket.write(`800\r\n${' '.repeat(2_048)}\r\n`), 1)
      onTestFinished(() => clearInterval(timer))
      expect(await text(socket)).toMatch(/^HTTP\/1\.1 (?:200|401) /)
    }
    const never = rawSocket()
    never.write(headOf('Content-Length: 100\r\n').replace('Connection: close\r\n', ''))
    never.write('{')
    expect(await text(never)).toMatch(/^HTTP\/1\.1 408 /)
    const invalid = await send('{ not json')
    expect(invalid.statusCode).toBe(400)
    const deep = await send(`${'['.repeat(4_000)}${']'.repeat(4_000)}`)
    expect(deep.statusCode).toBe(400)
  })

  it('tells a client that is still sending why it is refused', async () => {
    // A process of its own: in this one, the client would read before the connection is closed.
    const flood = `
      const head = process.argv[1].replaceAll('|', '\\r\\n')
      const statusOf = () => new Promise((resolve) => {
        let seen = ''
        const socket = require('node:net').connect(${port}, '127.0.0.1')
        socket.on('data', (data) => { seen += data }).on('error', () => {}).on('close', () => resolve(seen.slice(9, 12)))
        socket.write(head + 'x'.repeat(20_000_000))
      })
      Promise.all(Array.from({ length: 5 }, statusOf)).then((all) => console.log(all.join()))`
    const statusesFor = async (head: string) => {
      const { stdout } = await promisify(execFile)(process.execPath, [
        '-e',
        flood,
        head.replaceAll('\r\n', '|'),
      ])
      return stdout.trim()
    }
    const head = headOf('Content-Length: 20000000\r\n')
    expect(await statusesFor(head)).toBe('413,413,413,413,413')
    expect(await statusesFor(head.replace(TOKEN, 'wrong'))).toBe('401,401,401,401,401')
  })

  it('survives arguments that are nested deep or named like parts of the language', async () => {
    const session = await openSession()
    const call = async (args: string) => {
      const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"modern__add","arguments":${args}}}`
      return JSON.parse(await text(await send(body, session)))
    }
    const nested = `{"a":${'['.repeat(4_000)}${']'.repeat(4_000)},"b":1}`
    expect(await call(nested)).toMatchObject({ id: 7 })
    expect(await call('{"__proto__":{"polluted":true},"a":1,"b":2}')).toMatchObject({ id: 7 })
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect(await call('{"a":1,"b":2}')).toMatchObject({ result: { structuredContent: { sum: 3 } } })
  })

  it('refuses ids that it could not return', async () => {
    const session = await openSession()
    for (const id of ['1e400', '-1e400', '{"a":1}', '[1]', 'null', 'true']) {
      const response = await send(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`, session)
      expect([response.statusCode, JSON.parse(await text(response))]).toMatchObject([
        400,
        { id: null, error: { code: -32_600 } },
      ])
    }
  })

  it('says that what is nested too deep was not sent', async () => {
    const session = await openSession()
    const nested = `${'['.repeat(4_500)}${']'.repeat(4_500)}`
    const params = `{"name":"modern__add","arguments":{"a":1,"b":2},"zz":${nested}}`
    const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params}}`
    const answer = await text(await send(call, session))
    // How deep is too deep depends on the system's stack.
    expect(answer).toMatch(/"sum":3|is nested too deep to be sent/)
    expect(answer).not.toContain('cannot be reached')
  })

  it('cancels the call of a modern client that goes away', async () => {
    const params = {
      name: 'plain__hang',
      arguments: {},
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    }
    const sent = request(url(), {
      method: 'POST',
      headers: {
        authorization: AUTHORIZATION,
        accept: ACCEPT,
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'plain__hang',
      },
    })
    sent.on('error', () => {})
    sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }))
    await expect.poll(() => gateway.status().callsUnderWay).toBe(1)
    sent.destroy()
    await expect.poll(() => gateway.status().callsUnderWay).toBe(0)
  })

  it('never writes a token into a warning', () => {
    expect(warnings.join('\n')).not.toContain(TOKEN)
  })
})
