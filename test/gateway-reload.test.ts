import { ToolRegistry } from 'toolcrib'
import type { Gateway, GatewayOptions } from 'toolcrib/gateway'
import { createInspector } from 'toolcrib/inspector'
import { memoryStore } from 'toolcrib/stores'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connectClient, openGateway, rawRequest, serveTools, URL_OF_GATEWAY } from './gateway.fixture.ts'
import { MODERN_SERVER, referenceServer, script } from './mcp/reference-servers.fixture.ts'

const MODERN = script(MODERN_SERVER)
const ADA = { token: 'ada-has-a-long-token' }
const BOB = { token: 'bob-has-another-token' }
const EVE = { token: 'eve-has-a-third-token' }

describe('a gateway that gets other tokens', () => {
  it('ends the sessions of a revoked token, and cancels what is under way for it', async () => {
    const registry = new ToolRegistry({ mode: 'full' })
    const store = memoryStore()
    const { gateway } = await openGateway({ modern: MODERN }, { registry, store, tokens: [ADA, BOB] })
    const [ada, old, modern] = await Promise.all([
      connectClient(gateway, { era: 'legacy', token: ADA.token }),
      connectClient(gateway, { era: 'legacy', token: BOB.token }),
      connectClient(gateway, { token: BOB.token }),
    ])
    const started = new Promise<void>((resolve) => {
      let calls = 0
      registry.subscribe(({ type }) => {
        if (type === 'call-started' && ++calls === 2) resolve()
      })
    })
    const waiting = [old, modern].map((client) => client.callTool({ name: 'modern__wait', arguments: {} }))
    const outcomes = Promise.all(
      waiting.map((call) =>
        call.then(
          ({ isError }) => isError === true,
          () => true,
        ),
      ),
    )
    await started
    await gateway.reload({ tokens: [ADA] })
    expect(await outcomes).toEqual([true, true])
    expect(gateway.status()).toMatchObject({ sessions: 1, callsUnderWay: 0 })
    await expect(old.listTools()).rejects.toThrow()
    await expect(modern.listTools()).rejects.toThrow()
    expect((await ada.listTools()).tools.length).toBeGreaterThan(0)

    // Nothing is left that would go on if the same token came back.
    await gateway.reload({ tokens: [ADA, BOB] })
    await expect(old.listTools()).rejects.toThrow('Session not found')
    expect((await modern.listTools()).tools.length).toBeGreaterThan(0)
  })

  it('applies a changed profile to sessions that go on', async () => {
    const profiles = { work: { mode: 'full' } } as const
    const { gateway } = await openGateway(
      { modern: MODERN },
      { store: memoryStore(), tokens: [ADA], profiles: { ...profiles, home: {} } },
    )
    const url = `${URL_OF_GATEWAY}/work`
    const clients = [
      await connectClient(gateway, { era: 'legacy', url, token: ADA.token }),
      await connectClient(gateway, { url, token: ADA.token }),
    ]
    const names = async () =>
      Promise.all(clients.map(async (client) => (await client.listTools()).tools.map(({ name }) => name)))
    for (const listed of await names()) expect(listed).toContain('modern__add')
    await gateway.reload({ tokens: [ADA], profiles: { work: { mode: 'full', deny: ['*__add'] } } })
    for (const listed of await names()) {
      expect(listed).not.toContain('modern__add')
      expect(listed).toContain('modern__wait')
    }
    const home = { era: 'legacy', url: `${URL_OF_GATEWAY}/home`, token: ADA.token } as const
    await expect(connectClient(gateway, home)).rejects.toThrow('there is no such profile')
  })

  it.each([true, false])(
    'lets the calls of a changed profile end as they began (store: %s)',
    async (isKept) => {
      const { gateway, started, release } = await openSlow(isKept ? { store: memoryStore() } : {})
      const url = `${URL_OF_GATEWAY}/work`
      const clients = [
        await connectClient(gateway, { era: 'legacy', url, token: ADA.token }),
        await connectClient(gateway, { url, token: ADA.token }),
      ]
      const calls = clients.map((client) => client.callTool({ name: 'slow__finish', arguments: {} }))
      await started(2)
      await gateway.reload({ tokens: [ADA, BOB], profiles: { work: { mode: 'full', deny: ['*__finish'] } } })
      // Requests that come meanwhile see the changed profile.
      for (const client of clients) {
        const names = (await client.listTools()).tools.map(({ name }) => name)
        expect(names).toContain('slow__other')
        expect(names).not.toContain('slow__finish')
      }
      release()
      for (const call of calls) expect((await call).content).toEqual([{ type: 'text', text: 'finished' }])
      for (const client of clients) expect((await client.listTools()).tools.length).toBeGreaterThan(0)
      expect(gateway.status()).toMatchObject({ sessions: 1, callsUnderWay: 0 })
    },
  )

  it('cancels the calls of a revoked token whose profile changed before', async () => {
    const { gateway, started } = await openSlow()
    const url = `${URL_OF_GATEWAY}/work`
    const clients = [
      await connectClient(gateway, { era: 'legacy', url, token: BOB.token }),
      await connectClient(gateway, { url, token: BOB.token }),
    ]
    const calls = clients.map((client) =>
      client.callTool({ name: 'slow__finish', arguments: {} }).then(
        ({ isError }) => isError === true,
        () => true,
      ),
    )
    await started(2)
    const profiles = { work: { mode: 'full', deny: ['*__other'] } } as const
    await gateway.reload({ tokens: [ADA, BOB], profiles })
    expect(gateway.status()).toMatchObject({ sessions: 1, callsUnderWay: 2 })
    await gateway.reload({ tokens: [ADA], profiles })
    expect(await Promise.all(calls)).toEqual([true, true])
    expect(gateway.status()).toMatchObject({ sessions: 0, callsUnderWay: 0 })
  })

  it('gives up the calls of a revoked token that wait for its client', async () => {
    const { gateway } = await openGateway(
      { everything: script(referenceServer('everything')) },
      { tokens: [ADA, BOB] },
    )
    const call = {
      name: 'everything__trigger-sampling-request',
      arguments: { prompt: 'hi', maxTokens: 9 },
      _meta: { 'io.modelcontextprotocol/clientCapabilities': { sampling: {} } },
    }
    for (const { token } of [ADA, BOB])
      await rawRequest(gateway, 'tools/call', call, { authorization: `Bearer ${token}` })
    expect(gateway.status().callsParked).toBe(2)
    await gateway.reload({ tokens: [ADA] })
    expect(gateway.status().callsParked).toBe(1)
  })

  it('refuses a request of a token that was revoked while it arrived', async () => {
    const { gateway } = await openSlow()
    const held = holdRequest(gateway, BOB.token)
    await held.arriving
    await gateway.reload({ tokens: [ADA], profiles: { work: { mode: 'full' } } })
    held.finish()
    expect((await held.response).status).toBe(401)
  })

  it('serves a request that arrived during a change of its profile, and all later ones, with the changed profile', async () => {
    const { gateway } = await openSlow()
    const held = holdRequest(gateway, ADA.token)
    await held.arriving
    const work = { mode: 'full', deny: ['*__finish'] } as const
    await gateway.reload({ tokens: [ADA, BOB], profiles: { work } })
    held.finish()
    const listed = await (await held.response).text()
    expect(listed).toContain('slow__other')
    expect(listed).not.toContain('slow__finish')
    const later = holdRequest(gateway, ADA.token)
    later.finish()
    expect(await (await later.response).text()).not.toContain('slow__finish')
  })

  it('sends no more events to a page whose token was revoked or bound to a profile', async () => {
    const { gateway, registry, servers } = await openGateway(
      { modern: MODERN },
      { tokens: [ADA, BOB, EVE].map((token) => ({ ...token, operator: true })), profiles: { work: {} } },
    )
    const inspector = createInspector({ registry, servers, access: gateway.access })
    onTestFinished(() => inspector.close())
    const open = async ({ token }: { token: string }) => {
      const headers = { authorization: `Bearer ${token}` }
      const { body } = await inspector.fetch(new Request('http://localhost/api/events', { headers }))
      const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
      expect((await reader?.read())?.value).toContain('data: ')
      return reader
    }
    const [ada, bob, eve] = [await open(ADA), await open(BOB), await open(EVE)]
    await gateway.reload({
      tokens: [
        { ...ADA, operator: true },
        { ...EVE, profile: 'work' },
      ],
      profiles: { work: {} },
    })
    registry.quarantine('mcp__modern__add', 'it changed')
    expect((await ada?.read())?.value).toContain('it changed')
    for (const reader of [bob, eve]) expect(await reader?.read()).toEqual({ done: true, value: undefined })
  })

  it('changes nothing when a token is not valid, or when nobody would be asked for one any more', async () => {
    const { gateway } = await openGateway({ modern: MODERN }, { tokens: [ADA] })
    for (const tokens of [[], undefined, [{ token: 'short' }], [{ ...BOB, profile: 'none' }]])
      await expect(gateway.reload({ tokens })).rejects.toMatchObject({ code: 'config-invalid' })
    await connectClient(gateway, { token: ADA.token })
    await expect(connectClient(gateway)).rejects.toThrow()
  })
})

/** A gateway before a server whose tool `finish` returns once it is released. */
async function openSlow(options: Partial<GatewayOptions> = {}) {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  onTestFinished(() => release())
  const { url } = await serveTools((server) => {
    const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] })
    server.registerTool('finish', {}, async () => {
      await released
      return text('finished')
    })
    server.registerTool('other', {}, () => text('other'))
  })
  const { gateway, registry } = await openGateway(
    { slow: { url } },
    { tokens: [ADA, BOB], profiles: { work: { mode: 'full' } }, ...options },
  )
  let calls = 0
  let wake = () => {}
  registry.subscribe(({ type }) => {
    if (type === 'call-started') calls++
    wake()
  })
  const started = async (count: number) => {
    while (calls < count)
      await new Promise<void>((resolve) => {
        wake = resolve
      })
  }
  return { gateway, started, release: () => release() }
}

/** A request of a modern client for the tools of a profile, whose body arrives when `finish()` is called. */
function holdRequest(gateway: Gateway, token: string) {
  let finish = () => {}
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  let arrive = () => {}
  const arriving = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } }
  // It is pulled when the gateway reads it, after its first check of the token.
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        arrive()
        await finished
        controller.enqueue(Buffer.from(JSON.stringify(message)))
        controller.close()
      },
    },
    { highWaterMark: 0 },
  )
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/list',
  }
  const init: RequestInit & { duplex: 'half' } = { method: 'POST', headers, body, duplex: 'half' }
  return { arriving, finish, response: gateway.fetch(new Request(`${URL_OF_GATEWAY}/work`, init)) }
}

describe('a gateway that gets other hosts and limits', () => {
  it('applies them from the next request on, and keeps those that are not given', async () => {
    const { gateway } = await openGateway({ modern: MODERN }, { mode: 'full' })
    const health = async (host: string) =>
      (await gateway.fetch(new Request('http://localhost/healthz', { headers: { host } }))).status
    const add = { name: 'modern__add', arguments: { a: 1, b: 2 } }
    const calls = async () => {
      const answers = [
        await rawRequest(gateway, 'tools/call', add),
        await rawRequest(gateway, 'tools/call', add),
      ]
      return answers.map(({ answer }) => 'result' in answer)
    }
    expect(await calls()).toEqual([true, true])
    await gateway.reload({ hosts: ['crib.example'], limits: { callsPerMinute: 1 } })
    expect([await health('localhost'), await health('crib.example')]).toEqual([403, 200])
    await gateway.reload({ hosts: ['localhost'] })
    expect([await health('localhost'), await health('crib.example')]).toEqual([200, 403])
    // What was called before there was a limit does not count.
    expect(await calls()).toEqual([true, false])
    await expect(gateway.reload({ limits: { callsPerMinute: -1 } })).rejects.toMatchObject({
      code: 'config-invalid',
    })
    await gateway.reload({ limits: {} })
    expect(await calls()).toEqual([true, true])
  })
})
