import { ToolRegistry } from 'toolcrib'
import { createInspector } from 'toolcrib/inspector'
import { memoryStore } from 'toolcrib/stores'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connectClient, openGateway, URL_OF_GATEWAY } from './gateway.fixture.ts'
import { MODERN_SERVER, script } from './mcp/reference-servers.fixture.ts'

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

  it('sends no more events to a page whose token was revoked or bound to a profile', async () => {
    const { gateway, registry, servers } = await openGateway(
      { modern: MODERN },
      { tokens: [ADA, BOB, EVE], profiles: { work: {} } },
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
    await gateway.reload({ tokens: [ADA, { ...EVE, profile: 'work' }], profiles: { work: {} } })
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
