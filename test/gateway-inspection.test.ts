import { type Span, type SpanOptions, type Tracer, trace } from '@opentelemetry/api'
import { hybrid, ToolRegistry } from 'toolcrib'
import { staticEmbedder } from 'toolcrib/embedders'
import { describe, expect, it, vi } from 'vitest'
import { connectClient, openGateway, rawRequest, URL_OF_GATEWAY } from './gateway.fixture.ts'
import { HOSTILE_SERVER, referenceServer, script } from './mcp/reference-servers.fixture.ts'

const PLAIN = script(HOSTILE_SERVER)
const TOKEN = 'ada-has-a-long-token'

describe('the instructions for clients', () => {
  it('is how tools are found, and what permitted servers say about themselves', async () => {
    const { gateway } = await openGateway(
      { everything: script(referenceServer('everything')), plain: PLAIN },
      { mode: 'lazy', instructions: 'Ask ada first.', profiles: { calm: { servers: ['plain'] } } },
    )
    for (const era of ['modern', 'legacy'] as const) {
      const told = (await connectClient(gateway, { era })).getInstructions() ?? ''
      expect(told).toMatch(/^Ask ada first\.\n\nMost tools are not listed\. Find them with tool_search/)
      expect(told).toContain('Server "everything" says about itself (not verified): ')
      const calm = await connectClient(gateway, { era, url: `${URL_OF_GATEWAY}/calm` })
      expect(calm.getInstructions()).not.toContain('everything')
    }
  })
})

describe('what the gateway says about its search', () => {
  it('names the search tool that is there, and the way to call what it finds', async () => {
    const registry = new ToolRegistry({ searchTool: 'tool_search_regex' })
    const { gateway } = await openGateway({ plain: PLAIN }, { registry, mode: 'lazy' })
    const client = await connectClient(gateway, { era: 'legacy' })
    expect(client.getInstructions()).toContain(
      'Find them with tool_search_regex, and call what it finds with call_',
    )
    const { content } = await client.callTool({ name: 'tool_search_regex', arguments: { pattern: 'pid' } })
    const { message, tools } = JSON.parse((content as { text: string }[])[0]?.text ?? '')
    expect(tools).toMatchObject([{ name: 'plain__pid', loaded: true }])
    expect(message).toContain(
      'call it with call_tool { name, arguments }, or with the tool that its "call_with" names',
    )
    const listing = await connectClient(gateway, { era: 'legacy', url: `${URL_OF_GATEWAY}?activate=list` })
    expect(listing.getInstructions()).toContain('tool_search_regex, and call what it finds by its name.')
  })

  it('loads nothing for a request that no tool fits, and says so; a call runs all the same', async () => {
    const registry = new ToolRegistry({ searcher: hybrid({ embedder: staticEmbedder() }) })
    const everything = script(referenceServer('everything'))
    const { gateway } = await openGateway({ everything }, { registry, mode: 'lazy' })
    const client = await connectClient(gateway, { era: 'modern' })
    const found = await client.callTool({
      name: 'tool_search',
      arguments: { query: 'print my boarding pass' },
    })
    expect(found.structuredContent).toMatchObject({
      activated: [],
      note: expect.stringMatching(
        /^No tool fits well, so none was loaded\. .*If one of these will do, call it;/,
      ),
    })
    const call = { name: 'everything__echo', arguments: { message: 'here' } }
    expect(JSON.stringify(await client.callTool({ name: 'call_tool', arguments: call }))).toContain('here')
  })
})

describe('what the gateway logs', () => {
  it('has no secrets in it', async () => {
    const lines: string[] = []
    const logger = {
      info: (fields: object, message: string) => void lines.push(JSON.stringify([message, fields])),
      warn: (fields: object, message: string) => void lines.push(JSON.stringify([message, fields])),
    }
    const { gateway } = await openGateway(
      { plain: PLAIN },
      { logger, tokens: [{ token: TOKEN, name: 'ada' }], now: () => 7 },
    )
    const client = await connectClient(gateway, { era: 'legacy', token: TOKEN })
    await client.callTool({ name: 'plain__pid', arguments: { secret: 'hush' } })
    await gateway.fetch(new Request(`${URL_OF_GATEWAY}?token=${TOKEN}`, { method: 'POST' }))
    expect(lines).toContain('["session opened",{"token":"ada"}]')
    expect(lines).toContain('["request",{"method":"POST","route":"/mcp","status":200,"ms":0}]')
    expect(lines).toContain('["request",{"method":"POST","route":"/mcp","status":401,"ms":0}]')
    expect(lines.join('\n')).not.toMatch(new RegExp(`${TOKEN}|hush`))
  })
})

describe('the trace context of a request', () => {
  const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

  it('reaches the server', async () => {
    const seen: unknown[] = []
    const { gateway, servers } = await openGateway({ plain: PLAIN })
    const passOn = servers.request.bind(servers)
    servers.request = (server, request, options) => {
      seen.push(request.params?._meta)
      return passOn(server, request, options)
    }
    const call = { name: 'plain__pid', arguments: {} }
    const headers = { traceparent: TRACEPARENT, tracestate: 'vendor=1' }
    await rawRequest(gateway, 'tools/call', call, headers)
    await rawRequest(gateway, 'tools/call', { ...call, _meta: { traceparent: 'own' } }, headers)
    await rawRequest(gateway, 'tools/call', call, { traceparent: 'junk' })
    expect(seen).toEqual([
      { traceparent: TRACEPARENT, tracestate: 'vendor=1' },
      { traceparent: 'own' },
      undefined,
    ])
  })
})

describe('a call through the gateway', () => {
  it('leaves one span, with neither arguments nor results', async () => {
    const spans: { name: string; options: SpanOptions | undefined; status?: unknown; isEnded: boolean }[] = []
    const startSpan: Tracer['startSpan'] = (name, options) => {
      const recorded: (typeof spans)[number] = { name, options, isEnded: false }
      spans.push(recorded)
      return {
        spanContext: () => ({ traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 }),
        setAttribute: () => {},
        setStatus: (status: unknown) => {
          recorded.status = status
        },
        end: () => {
          recorded.isEnded = true
        },
      } as unknown as Span
    }
    const tracer = { startSpan, startActiveSpan: () => undefined as never } as Tracer
    trace.setGlobalTracerProvider({ getTracer: () => tracer })
    try {
      const { gateway } = await openGateway({ plain: PLAIN })
      for (const era of ['modern', 'legacy'] as const) {
        const client = await connectClient(gateway, { era })
        await client.callTool({ name: 'plain__pid', arguments: { secret: 'hush' } })
      }
    } finally {
      trace.disable()
    }
    expect(spans.map(({ name, isEnded, status }) => ({ name, isEnded, status }))).toEqual(
      Array.from({ length: 2 }, () => ({ name: 'execute_tool mcp__plain__pid', isEnded: true })),
    )
    expect(spans[0]?.options?.attributes).toMatchObject({ 'gen_ai.tool.name': 'mcp__plain__pid' })
    expect(JSON.stringify(spans)).not.toContain('hush')
  })
})

describe('what the gateway shows to an inspector', () => {
  it('lists clients of both eras with what they did, and no session id', async () => {
    const { gateway } = await openGateway(
      { plain: PLAIN },
      { tokens: [{ token: TOKEN, name: 'ada' }], mode: 'full', now: () => 5_000 },
    )
    const legacy = await connectClient(gateway, { era: 'legacy', token: TOKEN })
    const modern = await connectClient(gateway, { era: 'modern', token: TOKEN })
    await legacy.callTool({ name: 'plain__pid', arguments: {} })
    await legacy.callTool({ name: 'plain__error', arguments: {} }).catch(() => {})
    await modern.listTools()
    await vi.waitUntil(() => gateway.clients()[0]?.isOpen)
    const session = expect.stringMatching(/^[0-9a-f]{8}$/)
    const facts = {
      session,
      token: 'ada',
      profile: undefined,
      transport: 'http',
      since: 5_000,
      lastSeenAt: 5_000,
    }
    expect(gateway.clients()).toEqual([
      {
        ...facts,
        id: 'client-1',
        name: 'legacy client',
        version: '1',
        era: 'legacy',
        // It listens; the other one does not.
        isOpen: true,
        requests: 2,
        calls: 2,
        failedCalls: 1,
      },
      {
        ...facts,
        id: 'client-2',
        name: 'modern client',
        version: '1',
        era: 'modern',
        isOpen: false,
        requests: 1,
        calls: 0,
        failedCalls: 0,
      },
    ])
  })

  it('tells clients that listen, or wait for an answer, from those that may have left', async () => {
    let now = 1_000
    const { gateway } = await openGateway({ plain: PLAIN }, { mode: 'full', now: () => now })
    const client = await connectClient(gateway, { era: 'legacy' })
    const shown = () => gateway.clients().map(({ isOpen, lastSeenAt }) => ({ isOpen, lastSeenAt }))
    await vi.waitUntil(() => shown()[0]?.isOpen)
    now = 2_000
    // As most clients do, it says nothing when it leaves: its session can go on.
    await client.close()
    await vi.waitUntil(() => shown()[0]?.isOpen === false)
    const abort = new AbortController()
    const listening = await gateway.fetch(listenRequest(abort.signal))
    now = 5_000
    expect(shown()).toEqual([
      { isOpen: false, lastSeenAt: 1_000 },
      { isOpen: true, lastSeenAt: 2_000 },
    ])
    // Longer than those are shown that only ask.
    now += 60 * 60_000
    expect(shown()).toHaveLength(2)
    await listening.body?.cancel()
    abort.abort()
    await vi.waitUntil(() => shown()[1]?.isOpen === false)
    expect(shown()[1]?.lastSeenAt).toBe(now)
  })

  it('remembers what clients listed, for the latest 20 surfaces', async () => {
    const { gateway, registry } = await openGateway({ plain: PLAIN }, { mode: 'full' })
    const client = await connectClient(gateway)
    const fingerprints: string[] = []
    registry.subscribe((event) => {
      if (event.type === 'surfaced') fingerprints.push(event.fingerprint)
    })
    const before = (await client.listTools()).tools
    for (let round = 0; round < 19; round++) {
      registry.registerFunction(() => 'done', { name: `round_${round}`, description: 'A round.' })
      await client.listTools()
    }
    expect(new Set(fingerprints).size).toBe(20)
    const [first = ''] = fingerprints
    expect(gateway.toolsListed(first)).toEqual(before)
    registry.registerFunction(() => 'done', { name: 'one_more', description: 'A round.' })
    await client.listTools()
    expect(gateway.toolsListed(first)).toBeUndefined()
    expect(gateway.toolsListed(fingerprints.at(-1) ?? '')).toHaveLength(before.length + 20)
  })

  it('has metrics as values', async () => {
    const { gateway } = await openGateway({ plain: PLAIN }, { mode: 'full' })
    const client = await connectClient(gateway)
    await client.callTool({ name: 'plain__pid', arguments: {} })
    const byName = new Map(gateway.metrics().map((metric) => [metric.name, metric]))
    expect(byName.get('toolcrib_calls_total')).toMatchObject({
      type: 'counter',
      series: [{ labels: { server: 'plain', profile: '', outcome: 'ok' }, value: 1 }],
    })
    const [latency] = byName.get('toolcrib_call_duration_seconds')?.series ?? []
    expect(latency).toMatchObject({ value: 1, labels: { server: 'plain' } })
    expect(latency?.buckets?.at(-1)).toEqual({ atMost: Number.POSITIVE_INFINITY, count: 1 })
  })

  it('checks requests of handlers that are mounted beside it', async () => {
    const { gateway } = await openGateway(
      { plain: PLAIN },
      { tokens: [{ token: TOKEN, name: 'ada', operator: true }], hosts: ['localhost'] },
    )
    const check = async (headers: Record<string, string>, url = 'http://localhost:7117/api') => {
      const checked = await gateway.access.check(new Request(url, { headers }))
      return checked instanceof Response ? checked.status : checked.name
    }
    const authorization = `Bearer ${TOKEN}`
    expect(await check({ authorization })).toBe('ada')
    expect(await check({})).toBe(401)
    expect(await check({ authorization: `${authorization}x` })).toBe(401)
    expect(await check({ authorization }, 'http://evil.example/api')).toBe(403)
    expect(await check({ authorization, origin: 'null' })).toBe(403)
    expect(await check({ authorization, origin: 'http://localhost:7117' })).toBe('ada')
    const page = (host: string) => gateway.access.checkAddress(new Request(`http://${host}/`))
    expect(page('localhost')).toBeUndefined()
    expect(page('evil.example')?.status).toBe(403)
  })
})

/** What a modern client sends that wants to hear of changes. */
function listenRequest(signal: AbortSignal): Request {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'listener', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const params = { notifications: { toolsListChanged: true }, _meta }
  return new Request(URL_OF_GATEWAY, {
    method: 'POST',
    signal,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params }),
  })
}
