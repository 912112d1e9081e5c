import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ListToolsResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  connectClient,
  listening,
  openGateway,
  rawRequest,
  serveTools,
  URL_OF_GATEWAY,
} from './gateway.fixture.ts'
import { HOSTILE_SERVER, MODERN_SERVER, script } from './mcp/reference-servers.fixture.ts'

const PLAIN = script(HOSTILE_SERVER)
const MODERN = script(MODERN_SERVER)
const ADA = 'ada-has-a-long-token'
const BOB = 'bob-has-another-token'
const TOKENS = [
  { token: ADA, name: 'ada' },
  { token: BOB, name: 'bob', profile: 'work' },
]
const PROFILES = { work: { servers: ['modern'], deny: ['mcp__modern__grow'] } }
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
}

function post(url: string, body: unknown, headers: Record<string, string> = {}): Request {
  const accept = 'application/json, text/event-stream'
  return new Request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

describe('an unauthorized client of the gateway', () => {
  it('is rejected on every route except those that only report a state', async () => {
    const { gateway } = await openGateway({ plain: PLAIN }, { tokens: TOKENS, profiles: PROFILES })
    const routes = ['/mcp', '/mcp/work', '/mcp/nothing', '/metrics', '/', '/api', '/api/status']
    const headers = [
      {},
      { authorization: 'Bearer' },
      { authorization: 'Bearer wrong-token-of-some-length' },
      { authorization: `Basic ${ADA}` },
      { authorization: `Bearer ${ADA} ${ADA}` },
      { authorization: `Bearer ${ADA}x` },
    ]
    for (const route of routes)
      for (const given of headers)
        for (const method of ['GET', 'POST', 'DELETE', 'PUT', 'OPTIONS']) {
          const init = { method, headers: { 'mcp-session-id': 'x', ...given } }
          const response = await gateway.fetch(new Request(`http://localhost${route}?token=${ADA}`, init))
          expect(response.status, `${method} ${route}`).toBe(401)
          expect(await response.text()).not.toContain(ADA)
        }
    const answer = async (authorization: string) =>
      (await gateway.fetch(new Request('http://localhost/mcp', { headers: { authorization } }))).text()
    expect(await answer(`Basic ${ADA}`)).toContain('a token is needed; send it in the header')
    const wrong = await answer('Bearer wrong-token-of-some-length')
    expect(wrong).toContain('the token is not accepted; check that it is complete')
    expect(await answer(`Bearer ${ADA}x`)).toBe(wrong)
    for (const route of ['/healthz', '/readyz']) {
      const response = await gateway.fetch(new Request(`http://localhost${route}`))
      expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }])
    }
    const metadata = await gateway.fetch(
      new Request('http://localhost/.well-known/oauth-protected-resource/mcp'),
    )
    expect(metadata.status).toBe(404)
  })

  it('is rejected on every route with a foreign host name or origin', async () => {
    const { gateway } = await openGateway({ plain: PLAIN })
    const foreign = [
      { host: 'evil.example' },
      { host: 'localhost.evil.example' },
      { host: 'localhost@evil.example' },
      { host: 'evil.example:7117' },
      { host: '' },
      { host: 'localhost:7117', origin: 'http://evil.example' },
      { host: 'localhost:7117', origin: 'null' },
      { host: 'localhost:7117', origin: 'http://localhost:3000' },
      { host: 'localhost:7117', origin: 'http://localhost:7117.evil.example' },
      { host: 'localhost:7117', origin: 'vscode-webview://x' },
    ]
    for (const headers of foreign)
      for (const route of ['/mcp', '/metrics', '/healthz', '/readyz', '/'])
        expect((await gateway.fetch(post(`http://localhost${route}`, INITIALIZE, headers))).status).toBe(403)
    const own = { host: 'localhost:7117', origin: 'http://localhost:7117' }
    expect((await gateway.fetch(post(URL_OF_GATEWAY, INITIALIZE, own))).status).toBe(200)
  })

  it('cannot use the session of another token, or its own under another profile', async () => {
    const { gateway } = await openGateway(
      { modern: MODERN },
      { tokens: [{ token: ADA }, { token: BOB }], profiles: PROFILES },
    )
    const ada = { authorization: `Bearer ${ADA}` }
    const opened = await gateway.fetch(post(URL_OF_GATEWAY, INITIALIZE, ada))
    const id = opened.headers.get('mcp-session-id') ?? ''
    expect(id).not.toBe('')
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
    const send = async (authorization: string, url = URL_OF_GATEWAY) =>
      (await gateway.fetch(post(url, list, { authorization, 'mcp-session-id': id }))).status
    expect(await send(`Bearer ${ADA}`)).toBe(200)
    expect(await send(`Bearer ${BOB}`)).toBe(404)
    expect(await send(`Bearer ${ADA}`, `${URL_OF_GATEWAY}/work`)).toBe(404)
    const init = { method: 'DELETE', headers: { authorization: `Bearer ${BOB}`, 'mcp-session-id': id } }
    expect((await gateway.fetch(new Request(URL_OF_GATEWAY, init))).status).toBe(404)
    expect(await send(`Bearer ${ADA}`)).toBe(200)
  })

  it('cannot send an oversized request, or send one endlessly', async () => {
    const fired: (() => void)[] = []
    const { gateway } = await openGateway(
      { modern: MODERN },
      {
        limits: { maxBodyBytes: 1_000 },
        schedule: (_, fire) => {
          fired.push(fire)
          return () => {}
        },
      },
    )
    const large = JSON.stringify({ ...INITIALIZE, padding: 'x'.repeat(2_000) })
    expect((await gateway.fetch(post(URL_OF_GATEWAY, large))).status).toBe(413)
    let sent = 0
    const endless = new ReadableStream({
      pull: (controller) => {
        sent++
        controller.enqueue(new Uint8Array(100).fill(32))
      },
    })
    const streamed = { method: 'POST', body: endless, duplex: 'half' } as RequestInit
    expect((await gateway.fetch(new Request(URL_OF_GATEWAY, streamed))).status).toBe(413)
    expect(sent).toBeLessThan(50)
    const slow = { method: 'POST', body: new ReadableStream({}), duplex: 'half' } as RequestInit
    const waiting = gateway.fetch(new Request(URL_OF_GATEWAY, slow))
    await new Promise((resolve) => setImmediate(resolve))
    fired.at(-1)?.()
    expect((await waiting).status).toBe(408)
    expect((await gateway.fetch(post(URL_OF_GATEWAY, '{ not json'))).status).toBe(400)
  })
})

describe('a client that sends far too much', () => {
  it('has no long name or query kept, nor seen by those who listen', async () => {
    const { gateway, registry } = await openGateway({ plain: PLAIN }, { mode: 'lazy' })
    const events: string[] = []
    registry.subscribe((event) => void events.push(JSON.stringify(event)))
    const long = 'x'.repeat(20_000)
    const call = async (name: string, args: object) =>
      JSON.stringify((await rawRequest(gateway, 'tools/call', { name, arguments: args })).answer)
    expect(await call('call_tool', { name: long })).toContain('has more than 600 characters')
    expect(await call('call_read_tool', { name: long })).toContain('has more than 600 characters')
    expect(await call('tool_search', { query: long })).toContain('has more than 10000 characters')
    expect(await call('tool_search', { name: long })).toContain('has more than 10000 characters')
    const named = (method: string, params: object) => rawRequest(gateway, method, { ...params })
    expect((await named('tools/call', { name: long })).answer).toMatchObject({
      error: { code: -32_602, message: 'the name of tools/call has 20000 characters; 600 are the most' },
    })
    expect(events.filter((event) => event.length > 10_000)).toEqual([])
    expect(await call('tool_search', { query: 'add' })).toContain('matches')
  })

  it('cannot open a session that takes much memory', async () => {
    const { gateway } = await openGateway({})
    const open = (clientInfo: object, capabilities: object = {}) =>
      gateway.fetch(
        post(
          URL_OF_GATEWAY,
          JSON.stringify({
            jsonrpc: '2.0',
            id: 1,
            method: 'initialize',
            params: { protocolVersion: '2025-11-25', capabilities, clientInfo },
          }),
        ),
      )
    expect((await open({ name: 'x'.repeat(70_000), version: '1' })).status).toBe(413)
    expect((await open({ name: 'x', version: '1' }, { extensions: { x: 'y'.repeat(70_000) } })).status).toBe(
      413,
    )
    expect((await open({ name: 'x'.repeat(1_000), version: '1' })).status).toBe(200)
    expect(gateway.clients().map(({ name }) => name)).toEqual(['x'.repeat(200)])
  })

  it('is turned away while too many large bodies arrive', async () => {
    const { gateway } = await openGateway({})
    const url = await listening(
      createServer((request, response) => void gateway.handle(request, response)).unref(),
    )
    const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n`
    const begin = () => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      onTestFinished(() => void socket.destroy())
      socket.write(head)
      return socket
    }
    const arriving = Array.from({ length: 64 }, begin)
    let answer = ''
    await vi.waitFor(async () => {
      const [reply] = await once(begin(), 'data', { signal: AbortSignal.timeout(500) })
      answer = String(reply)
      expect(answer).toMatch(/^HTTP\/1\.1 503 /)
    }, 10_000)
    expect(answer.toLowerCase()).toContain('retry-after: 1')
    const statusOf = async (body: string) => (await fetch(`${url}/mcp`, { method: 'POST', body })).status
    expect(await statusOf('{}')).toBe(415)
    for (const socket of arriving) socket.destroy()
    await vi.waitFor(async () => expect(await statusOf(`{}${' '.repeat(100_000)}`)).toBe(415), 10_000)
  })
})

describe('a request with 250,000 keys', () => {
  const keys = Array.from({ length: 250_000 }, (_, at) => `"k${at}":1`).join(',')

  it('is refused before it is parsed, wherever the keys are', async () => {
    const { gateway } = await openGateway({})
    const call = (args: string) =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool_search","arguments":${args}}}`
    // The second one is not even JSON, which a parser would notice.
    const numbers = `[${'1,'.repeat(600_000)}1]`
    for (const body of [
      `{${keys}}`,
      `{${keys}`,
      call(`{${keys}}`),
      `[${'{},'.repeat(60_000)}{}]`,
      call(numbers),
    ]) {
      const response = await gateway.fetch(post(URL_OF_GATEWAY, body))
      expect(response.status).toBe(413)
      expect(await response.text()).toContain('too many keys, objects, lists or list items; split it')
    }
  })

  it('is read where the host allows more', async () => {
    const { gateway } = await openGateway({}, { limits: { maxBodyKeys: 300_000 } })
    const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}},"unknown":{${keys}}}`
    expect((await gateway.fetch(post(URL_OF_GATEWAY, body))).status).toBe(200)
  })
})

describe('a token that is bound to a profile', () => {
  it('sees, finds and calls what the profile permits, and nothing else', async () => {
    const { gateway } = await openGateway(
      { plain: PLAIN, modern: MODERN },
      { tokens: TOKENS, profiles: PROFILES, mode: 'full' },
    )
    const bob = await connectClient(gateway, { token: BOB })
    const names = (await bob.listTools()).tools.map(({ name }) => name)
    expect(names).toContain('modern__add')
    expect(names.filter((name) => name.startsWith('plain') || name.includes('grow'))).toEqual([])
    for (const name of ['plain__pid', 'mcp__plain__pid', 'pid', 'modern__grow', 'grow'])
      await expect(bob.callTool({ name, arguments: {} })).rejects.toMatchObject({
        code: -32_602,
        message: expect.stringContaining(`Unknown tool: ${name}`),
      })
    const header = { authorization: `Bearer ${BOB}` }
    const elsewhere = await gateway.fetch(post(`${URL_OF_GATEWAY}/other`, INITIALIZE, header))
    expect(elsewhere.status).toBe(404)
    expect((await gateway.fetch(new Request('http://localhost/metrics', { headers: header }))).status).toBe(
      403,
    )
    const ada = await connectClient(gateway, { token: ADA, url: `${URL_OF_GATEWAY}/work` })
    expect((await ada.listTools()).tools.map(({ name }) => name)).toEqual(names)
  })
})

describe('a client that looks for many things that nobody has', () => {
  it('has servers asked for their lists a few times at most', async () => {
    const { url, seen } = await serveTools((server) => {
      server.registerResource('page', 'test://page', {}, async () => ({ contents: [] }))
    })
    const { gateway } = await openGateway({ one: { url }, other: { url } })
    const uris = Array.from({ length: 50 }, (_, at) => `nobody://knows/${at}`)
    const answers = await Promise.all(uris.map((uri) => rawRequest(gateway, 'resources/read', { uri })))
    for (const { answer } of answers) expect(answer.error).toMatchObject({ code: -32_602 })
    const listed = seen.filter((headers) => headers['mcp-method'] === 'resources/list')
    expect(listed.length).toBeGreaterThan(0)
    // Two servers, each asked when the first one looks and once more for all others.
    expect(listed.length).toBeLessThanOrEqual(4)
  })
})

describe('a profile without call_tool', () => {
  it('has no door to tools that are not listed', async () => {
    const { gateway } = await openGateway(
      { modern: MODERN },
      { mode: 'lazy', profiles: { narrow: { deny: ['call_tool'] } } },
    )
    const client = await connectClient(gateway, { url: `${URL_OF_GATEWAY}/narrow` })
    for (const name of ['call_tool', 'call_read_tool'])
      await expect(
        client.callTool({ name, arguments: { name: 'modern__add', arguments: { a: 1, b: 2 } } }),
      ).rejects.toMatchObject({ code: -32_602 })
  })
})

describe('a server that misbehaves behind the gateway', () => {
  it('fails only its own calls', async () => {
    const { gateway } = await openGateway({ plain: { ...PLAIN, timeout_ms: 500 }, modern: MODERN })
    const call = (name: string, args = {}) => rawRequest(gateway, 'tools/call', { name, arguments: args })
    const bad = ['hang', 'malformed_error', 'no_result', 'junk', 'deep', 'die', 'huge'].map((name) =>
      call(`plain__${name}`),
    )
    const good = Array.from({ length: 20 }, (_, a) => call('modern__add', { a, b: 1 }))
    for (const [a, { answer }] of (await Promise.all(good)).entries())
      expect(answer.result).toMatchObject({ structuredContent: { sum: a + 1 } })
    for (const { status } of await Promise.all(bad)) expect(status).toBeLessThan(501)
    expect(gateway.status().callsUnderWay).toBe(0)
  })
})

describe('a server that lists something malformed', () => {
  const ODD = [
    null,
    5,
    true,
    'x',
    [],
    [null],
    {},
    { type: 'object', $schema: 5 },
    [{ name: 5 }],
    [{ src: 5 }],
  ]
  const ODD_SCHEMAS = [{ properties: { a: true, b: false, c: 5 } }, { properties: 'x' }, { required: [5] }]
  const FIELDS = ['title', 'description', 'icons', 'arguments', 'execution', 'mimeType', 'size', '_meta']
  const TIMES = ['soon', '2026-02-30T00:00:00Z'].map((lastModified) => ({ annotations: { lastModified } }))
  const faults: readonly object[] = [
    ...ODD.flatMap((odd) =>
      [...FIELDS, 'annotations', 'outputSchema', 'name'].map((key) => ({ [key]: odd })),
    ),
    ...ODD.flatMap((odd) =>
      ['title', 'readOnlyHint', 'audience', 'priority'].map((key) => ({ annotations: { [key]: odd } })),
    ),
    ...TIMES,
  ]
  const schemas = [...ODD, ...ODD_SCHEMAS].map((odd) => ({ inputSchema: odd, outputSchema: odd }))
  const offered = {
    tools: [...faults, ...schemas].map((fault, at) => ({
      inputSchema: { type: 'object' },
      ...fault,
      name: `tool_${at}`,
    })),
    prompts: faults.map((fault, at) => ({ ...fault, name: `prompt_${at}` })),
    resources: [...faults, {}].map((fault, at) => ({ name: 'x', ...fault, uri: `odd://${at}` })),
    resourceTemplates: faults.map((fault, at) => ({ name: 'x', ...fault, uriTemplate: `odd://${at}/{x}` })),
  }

  it.each(['modern', 'legacy'] as const)(
    'costs no other server its place in the list of a %s client',
    async (era) => {
      const folder = mkdtempSync(join(tmpdir(), 'toolcrib-malformed-'))
      onTestFinished(() => rmSync(folder, { recursive: true }))
      const file = join(folder, 'offered.json')
      writeFileSync(file, JSON.stringify(offered))
      const odd = script(join(import.meta.dirname, 'fixtures', 'changing-server.mjs'), file)
      const { gateway } = await openGateway({ odd, modern: MODERN }, { mode: 'full' })
      const client = await connectClient(gateway, { era })
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).toContain('modern__add')
      expect(tools.length).toBeGreaterThan(faults.length)
      const { prompts } = await client.listPrompts()
      const { resources } = await client.listResources()
      const { resourceTemplates } = await client.listResourceTemplates()
      expect([prompts, resourceTemplates].map((list) => list.length)).toEqual([faults.length, faults.length])
      expect(resources.length).toBeGreaterThan(faults.length)
      // The version of the SDK that most clients have.
      if (era === 'legacy') expect(() => ListToolsResultSchema.parse({ tools })).not.toThrow()
    },
  )
})
