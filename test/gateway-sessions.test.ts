import type { Gateway } from 'toolcrib/gateway'
import { memoryStore, type Store } from 'toolcrib/stores'
import { describe, expect, it } from 'vitest'
import { connectClient, openGateway, rawRequest, URL_OF_GATEWAY } from './gateway.fixture.ts'
import { HOSTILE_SERVER, MODERN_SERVER, referenceServer, script } from './mcp/reference-servers.fixture.ts'

const PLAIN = script(HOSTILE_SERVER)
const MODERN = script(MODERN_SERVER)
const EVERYTHING = script(referenceServer('everything'))

describe('a session of an older client', () => {
  it('goes on after a restart, with what it had checked out', async () => {
    const store = memoryStore()
    const options = { store, mode: 'lazy', profiles: { growing: { activate: 'list' } } } as const
    const first = await openGateway({ modern: MODERN }, options)
    let { gateway } = first
    // The client does not notice which gateway answers it.
    const client = await connectClient(
      { fetch: (request) => gateway.fetch(request) },
      { era: 'legacy', url: `${URL_OF_GATEWAY}/growing` },
    )
    await client.callTool({ name: 'tool_search', arguments: { query: 'add two numbers' } })
    const before = (await client.listTools()).tools.map(({ name }) => name)
    expect(before).toEqual(expect.arrayContaining(['tool_search', 'modern__add']))
    await first.gateway.close()
    gateway = (await openGateway({ modern: MODERN }, options)).gateway
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(before)
    expect(gateway.status().sessions).toBe(1)
  })

  it('ends for good when its client ends it', async () => {
    const store = memoryStore()
    const { gateway } = await openGateway({ modern: MODERN }, { store })
    const client = await connectClient(gateway, { era: 'legacy' })
    await client.listTools()
    await (client.transport as { terminateSession?: () => Promise<void> }).terminateSession?.()
    expect(gateway.status().sessions).toBe(0)
    await expect(client.listTools()).rejects.toThrow()
  })

  it('leaves nothing in the store for good, and stays there while it is used', async () => {
    let now = 0
    const inner = memoryStore({ clock: { now: () => now } })
    const { store, kept } = observed(inner)
    const { gateway } = await openGateway(
      { modern: MODERN },
      { store, mode: 'lazy', now: () => now, limits: { sessionIdleMs: 1_000 } },
    )
    const url = `${URL_OF_GATEWAY}?activate=list`
    const client = await connectClient(gateway, { era: 'legacy', url })
    await client.callTool({ name: 'tool_search', arguments: { query: 'add two numbers' } })
    const ofSessions = () => [...kept].filter(([key]) => /client:|session:/.test(key))
    expect(ofSessions().map(([, ttlMs]) => ttlMs)).toEqual([1_000, 1_000])
    const [[record = ''] = []] = ofSessions()
    for (now = 300; now < 3_000; now += 300) await client.listTools()
    expect(await inner.get(record)).toBeDefined()
    await (client.transport as { terminateSession?: () => Promise<void> }).terminateSession?.()
    expect(ofSessions()).toEqual([])
  })

  it('is not opened again for another token', async () => {
    const store = memoryStore()
    const [ada, bob] = ['ada-has-a-long-token', 'bob-has-another-token']
    const tokens = [{ token: ada }, { token: bob }]
    const first = await openGateway({ modern: MODERN }, { store, tokens })
    const client = await connectClient(first.gateway, { era: 'legacy', token: ada })
    const id = (client.transport as { sessionId?: string }).sessionId ?? ''
    await first.gateway.close()
    const { gateway } = await openGateway({ modern: MODERN }, { store, tokens })
    const list = async (token: string) => {
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${token}`,
        'mcp-session-id': id,
        'mcp-protocol-version': '2025-11-25',
      }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
      return (await gateway.fetch(new Request(URL_OF_GATEWAY, { method: 'POST', headers, body }))).status
    }
    expect(await list(bob)).toBe(404)
    expect(await list(ada)).toBe(200)
  })

  it('is notified when its list of tools grows, if it asked for that', async () => {
    const { gateway } = await openGateway({ modern: MODERN }, { mode: 'lazy' })
    const url = `${URL_OF_GATEWAY}?activate=list`
    const client = await connectClient(gateway, { era: 'legacy', url })
    let changes = 0
    client.setNotificationHandler('notifications/tools/list_changed', () => void changes++)
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['tool_search'])
    const found = await client.callTool({ name: 'tool_search', arguments: { query: 'add two numbers' } })
    expect(JSON.stringify(found)).not.toContain('call_with')
    await expect.poll(() => changes).toBe(1)
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('modern__add')
  })

  it('makes room for another when there are too many', async () => {
    let now = 0
    const { gateway } = await openGateway(
      { modern: MODERN },
      { limits: { maxSessions: 2 }, now: () => ++now },
    )
    const clients = [
      await connectClient(gateway, { era: 'legacy' }),
      await connectClient(gateway, { era: 'legacy' }),
    ]
    await clients[0]?.listTools()
    clients.push(await connectClient(gateway, { era: 'legacy' }))
    expect(gateway.status().sessions).toBe(2)
    await clients[0]?.listTools()
    await expect(clients[1]?.listTools()).rejects.toThrow()
  })

  it('stays open, and can be opened again, however many sessions another token opens', async () => {
    let now = 0
    const [ada, bob] = ['ada-has-a-long-token', 'bob-has-another-token']
    const { gateway } = await openGateway(
      { modern: MODERN },
      {
        store: memoryStore(),
        tokens: [{ token: ada }, { token: bob, profile: 'few' }],
        profiles: { few: {} },
        limits: { maxSessions: 4 },
        now: () => ++now,
      },
    )
    const open = (token: string) => connectClient(gateway, { era: 'legacy', token })
    const clients = [await open(ada), await open(ada)]
    // One more than fits is closed, and kept.
    for (let count = 0; count < 20; count++) await open(bob)
    for (const client of clients) expect((await client.listTools()).tools).not.toEqual([])
    expect(gateway.status().sessions).toBe(4)
    expect(gateway.clients().filter(({ token }) => token === 'client-1')).toHaveLength(2)
    // Of its own it has as many as there is room for.
    for (let count = 0; count < 4; count++) clients.push(await open(ada))
    for (let count = 0; count < 20; count++) await open(bob)
    for (const client of clients.slice(-4)) expect((await client.listTools()).tools).not.toEqual([])
  })

  it('is forgotten when many others were opened after it was closed', async () => {
    const { store, kept } = observed(memoryStore())
    const { gateway } = await openGateway({ modern: MODERN }, { store, limits: { maxSessions: 2 } })
    const clients: Awaited<ReturnType<typeof connectClient>>[] = []
    for (let count = 0; count < 9; count++) clients.push(await connectClient(gateway, { era: 'legacy' }))
    // Two are open, and two more can be opened again.
    const records = () => [...kept.keys()].filter((key) => key.includes('client:'))
    await expect.poll(records).toHaveLength(4)
    await clients[6]?.listTools()
    await expect(clients[0]?.listTools()).rejects.toThrow()
  })
})

/** Sends one message of an older client, by hand. */
function post(gateway: Gateway, message: object, session?: string): Promise<Response> {
  return gateway.fetch(
    new Request(URL_OF_GATEWAY, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session === undefined ? {} : { 'mcp-session-id': session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
    }),
  )
}

async function openSession(gateway: Gateway): Promise<string> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'by hand', version: '1' },
  }
  const opened = await post(gateway, { method: 'initialize', params })
  return opened.headers.get('mcp-session-id') ?? ''
}

it('sessions that take turns in being open lose nothing', async () => {
  const deleted: string[] = []
  const { store } = observed(memoryStore())
  const remembering: Store = {
    ...store,
    delete: (key) => {
      deleted.push(key)
      return store.delete(key)
    },
  }
  const { gateway } = await openGateway(
    { modern: MODERN },
    { store: remembering, limits: { maxSessions: 2 } },
  )
  const sessions: string[] = []
  for (let count = 0; count < 4; count++) sessions.push(await openSession(gateway))
  for (const session of [...sessions, ...sessions])
    expect((await post(gateway, { method: 'tools/list' }, session)).status).toBe(200)
  expect(deleted).toEqual([])
})

it.each([
  ['tools/call', { name: {} }, 'tools/call needs name, a string'],
  ['resources/read', {}, 'resources/read needs uri, a string'],
  ['resources/subscribe', { uri: 1 }, 'resources/subscribe needs uri, a string'],
  ['resources/unsubscribe', {}, 'resources/unsubscribe needs uri, a string'],
  ['prompts/get', { name: ['x'] }, 'prompts/get needs name, a string'],
  ['completion/complete', { ref: null }, 'a completion needs uri, a string'],
])('a request %s with %j is refused with what it lacks', async (method, params, message) => {
  const { gateway } = await openGateway({ everything: EVERYTHING })
  const response = await post(gateway, { method, params }, await openSession(gateway))
  expect(await response.json()).toMatchObject({ error: { code: -32_602, message } })
})

describe('the log level of an older client', () => {
  const setLevel = (client: Awaited<ReturnType<typeof connectClient>>, level: string) =>
    client.request({ method: 'logging/setLevel', params: { level: level as 'info' } })

  it('reaches servers that start later, and is the least severe of all clients', async () => {
    const heard: unknown[] = []
    const { gateway, servers } = await openGateway({ everything: EVERYTHING })
    const request = servers.request.bind(servers)
    servers.request = async (server, sent, options) => {
      if (sent.method === 'logging/setLevel') heard.push(sent.params?.level)
      return request(server, sent, options)
    }
    const [one, other] = [
      await connectClient(gateway, { era: 'legacy' }),
      await connectClient(gateway, { era: 'legacy' }),
    ]
    await setLevel(one, 'info')
    await setLevel(other, 'error')
    expect(heard).toEqual(['info'])
    await servers.reload({ mcpServers: { everything: { ...EVERYTHING, env: { CHANGED: 'yes' } } } })
    await expect.poll(() => heard, { timeout: 15_000 }).toEqual(['info', 'info'])
    await expect(setLevel(one, 'loud')).rejects.toMatchObject({ code: -32_602 })
  })
})

/** A store, and the keys that it has now with the time they are kept. */
function observed(inner: Store): { store: Store; kept: ReadonlyMap<string, number | undefined> } {
  const kept = new Map<string, number | undefined>()
  const store: Store = {
    get: (key) => inner.get(key),
    set: (key, value, options) => {
      kept.set(key, options?.ttlMs)
      return inner.set(key, value, options)
    },
    update: (key, change, options) => {
      kept.set(key, options?.ttlMs)
      return inner.update(key, change, options)
    },
    delete: (key) => {
      kept.delete(key)
      return inner.delete(key)
    },
    close: () => inner.close(),
  }
  return { store, kept }
}

describe.each(['modern', 'legacy'] as const)('a %s client that listens', (era) => {
  it('is notified when the tools of a server change', async () => {
    const { gateway } = await openGateway({ plain: PLAIN }, { mode: 'full' })
    const client = await connectClient(gateway, { era })
    let changes = 0
    client.setNotificationHandler('notifications/tools/list_changed', () => void changes++)
    await client.listTools()
    if (era === 'modern') await client.listen({ toolsListChanged: true })
    await client.callTool({ name: 'plain__change_tools', arguments: {} })
    await expect.poll(() => changes, { timeout: 5_000 }).toBe(1)
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('plain__newcomer')
  })

  it('is notified when a resource changes that it subscribed to', async () => {
    const { gateway } = await openGateway({ everything: EVERYTHING })
    const client = await connectClient(gateway, { era })
    const updated: string[] = []
    client.setNotificationHandler(
      'notifications/resources/updated',
      ({ params }) => void updated.push(params.uri),
    )
    const [first] = (await client.listResources()).resources
    const uri = first?.uri ?? ''
    if (era === 'modern') await client.listen({ resourceSubscriptions: [uri] })
    else await client.subscribeResource({ uri })
    await client.callTool({ name: 'everything__toggle-subscriber-updates', arguments: {} })
    await expect.poll(() => updated, { timeout: 15_000 }).toContain(uri)
  })
})

describe('an overloaded gateway', () => {
  it('turns calls away with a hint when to try again', async () => {
    const { gateway } = await openGateway({ plain: PLAIN }, { limits: { maxCallsPerClient: 1 } })
    const abort = new AbortController()
    const client = await connectClient(gateway)
    const hanging = client.callTool({ name: 'plain__hang', arguments: {} }, { signal: abort.signal })
    await expect.poll(() => gateway.status().callsUnderWay).toBe(1)
    const headers = { 'content-type': 'application/json' }
    const request = new Request(URL_OF_GATEWAY, { method: 'POST', headers, body: '{}' })
    const response = await gateway.fetch(request)
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '1'])
    abort.abort()
    await expect(hanging).rejects.toThrow()
    await expect.poll(() => gateway.status().callsUnderWay).toBe(0)
    await expect.poll(async () => (await rawRequest(gateway, 'tools/list')).status).toBe(200)
  })

  it('lets calls under way end before it closes, and takes no others', async () => {
    const { gateway } = await openGateway({ plain: PLAIN })
    const client = await connectClient(gateway)
    const slow = client.callTool({ name: 'plain__echo', arguments: { text: 'late', afterMs: 300 } })
    await expect.poll(() => gateway.status().callsUnderWay).toBe(1)
    const closing = gateway.close()
    expect(gateway.status().state).toBe('draining')
    expect((await rawRequest(gateway, 'tools/list')).status).toBe(503)
    expect((await gateway.fetch(new Request('http://localhost/readyz'))).status).toBe(503)
    expect(await slow).toMatchObject({ content: [{ text: 'late' }] })
    await closing
    expect(gateway.status()).toEqual({ state: 'closed', sessions: 0, callsUnderWay: 0, callsParked: 0 })
  })

  it('answers requests while it says that it is about to stop', async () => {
    const { gateway } = await openGateway({ plain: PLAIN })
    const ready = async () => (await gateway.fetch(new Request('http://localhost/readyz'))).status
    expect(await ready()).toBe(200)
    gateway.markStopping()
    expect(await ready()).toBe(503)
    expect((await gateway.fetch(new Request('http://localhost/healthz'))).status).toBe(200)
    expect((await rawRequest(gateway, 'tools/list')).status).toBe(200)
    expect(gateway.status().state).toBe('serving')
  })

  it('answers requests that it took before it began to close, though their calls had not begun', async () => {
    const inner = memoryStore()
    let isHeld = false
    const asked: (() => void)[] = []
    const get: Store['get'] = async (key) => {
      if (isHeld) await new Promise<void>((resolve) => asked.push(resolve))
      return inner.get(key)
    }
    const store: Store = {
      get,
      set: (key, value, options) => inner.set(key, value, options),
      update: (key, change, options) => inner.update(key, change, options),
      delete: (key) => inner.delete(key),
      close: () => inner.close(),
    }
    const first = await openGateway({ plain: PLAIN }, { store })
    const second = await openGateway({ plain: PLAIN }, { store })
    let { gateway } = first
    const client = await connectClient({ fetch: (request) => gateway.fetch(request) }, { era: 'legacy' })
    gateway = second.gateway
    isHeld = true
    const call = client.callTool({ name: 'plain__echo', arguments: { text: 'in time' } })
    await expect.poll(() => asked.length).toBe(1)
    const closing = gateway.close()
    isHeld = false
    asked[0]?.()
    expect(await call).toMatchObject({ content: [{ text: 'in time' }] })
    await closing
  })

  it('ends calls that outlast the time it has to close, with an error', async () => {
    const { gateway } = await openGateway({ plain: PLAIN }, { limits: { drainMs: 50 } })
    const client = await connectClient(gateway)
    const slow = client.callTool({ name: 'plain__echo', arguments: { text: 'late', afterMs: 60_000 } })
    await expect.poll(() => gateway.status().callsUnderWay).toBe(1)
    const refused = expect(slow).rejects.toThrow('the gateway stopped before this call ended')
    await gateway.close()
    await refused
  })
})

describe('the metrics of the gateway', () => {
  it('count calls, searches and what lists left out, by server and profile', async () => {
    const { gateway } = await openGateway(
      { modern: MODERN },
      { mode: 'lazy', profiles: { work: { servers: ['modern'] } } },
    )
    const client = await connectClient(gateway, { url: `${URL_OF_GATEWAY}/work` })
    await client.listTools()
    await client.callTool({ name: 'tool_search', arguments: { query: 'add two numbers' } })
    await client.callTool({ name: 'modern__add', arguments: { a: 1, b: 2 } })
    const response = await gateway.fetch(new Request('http://localhost/metrics'))
    expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4')
    const text = await response.text()
    expect(text).toContain('toolcrib_calls_total{server="modern",profile="work",outcome="ok"} 1\n')
    expect(text).toContain('toolcrib_call_duration_seconds_count{server="modern"} 1\n')
    expect(text).toContain('toolcrib_searches_total{profile="work"} 1\n')
    expect(text).toMatch(/toolcrib_tokens_saved_total\{profile="work"\} [1-9]/)
    expect(text).toContain('toolcrib_server_ready{server="modern"} 1\n')
    expect(text).not.toContain('modern__add')
  })
})
