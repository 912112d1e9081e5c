import { createServer } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { ToolRegistry } from 'toolcrib'
import { createGateway, type GatewayOptions } from 'toolcrib/gateway'
import { createInspector, type InspectorOptions } from 'toolcrib/inspector'
import { connectServers } from 'toolcrib/mcp'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listening } from './gateway.fixture.ts'

const TOKEN = 'a-token-for-the-page-1234'
const HOST = '127.0.0.1:7117'
const ORIGIN = `http://${HOST}`
/** What a browser adds to a request of the page itself. */
const FROM_PAGE = { host: HOST, 'x-toolcrib-page': '1', 'sec-fetch-site': 'same-origin' }

type Sent = Readonly<Record<string, string>>

function open(options: Partial<GatewayOptions> = {}, more: Partial<InspectorOptions> = {}) {
  const registry = new ToolRegistry()
  const servers = connectServers(registry, {})
  const gateway = createGateway({ registry, servers, tokens: [{ token: TOKEN, operator: true }], ...options })
  const inspector = createInspector({ registry, servers, access: gateway.access, ...more })
  onTestFinished(async () => {
    await inspector.close()
    await gateway.close()
    await servers.close()
  })
  const get = (path: string, headers: Sent) =>
    inspector.fetch(new Request(`${ORIGIN}${path}`, { headers: { host: HOST, ...headers } }))
  const post = (path: string, headers: Sent) =>
    inspector.fetch(
      new Request(`${ORIGIN}${path}`, {
        method: 'POST',
        headers: { origin: ORIGIN, ...headers },
        body: '{}',
      }),
    )
  return { registry, gateway, get, post }
}

type Page = ReturnType<typeof open>

const trySignIn = ({ post }: Page, token: string) =>
  post('/api/page-sign-in', { ...FROM_PAGE, authorization: `Bearer ${token}` })

/** The headers of a page that has signed in. */
async function signIn(page: Page, token = TOKEN) {
  const response = await trySignIn(page, token)
  expect(response.status).toBe(200)
  const { sealed } = await response.json()
  const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';')
  return { ...FROM_PAGE, authorization: `Sealed ${sealed}`, cookie }
}

describe('a page that is signed in', () => {
  it('reads and changes things, with nothing in its headers that contains the token', async () => {
    const page = open()
    const headers = await signIn(page)
    expect(JSON.stringify(headers)).not.toContain(TOKEN)
    expect((await page.get('/api/tools', headers)).status).toBe(200)
    expect((await page.post('/api/reset-search', headers)).status).toBe(200)
  })

  it('needs both halves: neither the cookie nor what it has stored opens anything alone', async () => {
    const page = open()
    const { cookie, authorization, ...rest } = await signIn(page)
    const other = await signIn(page)
    const statuses = [
      { ...rest, cookie },
      { ...rest, authorization },
      { ...rest, authorization, cookie: other.cookie },
    ].map(async (headers) => (await page.get('/api/tools', headers)).status)
    expect(await Promise.all(statuses)).toEqual([401, 401, 401])
  })

  it('is refused as soon as the host, the origin or the sender is another', async () => {
    const page = open()
    const headers = await signIn(page)
    const status = async (changed: Sent) => (await page.get('/api/tools', { ...headers, ...changed })).status
    expect(await status({ host: 'evil.example:7117' })).toBe(403)
    expect(await status({ origin: 'http://127.0.0.1:3000' })).toBe(403)
    expect(await status({ 'sec-fetch-site': 'same-site' })).toBe(401)
    expect(await status({ 'sec-fetch-site': 'cross-site' })).toBe(401)
    expect(await status({})).toBe(200)
  })

  it('changes nothing without the header that only the page sends', async () => {
    const page = open()
    const { 'x-toolcrib-page': _header, ...headers } = await signIn(page)
    expect((await page.post('/api/reset-search', headers)).status).toBe(403)
    expect((await page.post('/api/page-sign-out', headers)).status).toBe(403)
  })

  it('is signed in to the page alone: a client needs the token', async () => {
    const page = open()
    const headers = await signIn(page)
    for (const path of ['/mcp', '/metrics']) {
      const ask = async (sent: Sent) => {
        const method = path === '/mcp' ? 'POST' : 'GET'
        const response = await page.gateway.fetch(new Request(`${ORIGIN}${path}`, { method, headers: sent }))
        return response.status
      }
      expect(await ask(headers)).toBe(401)
      expect(await ask({ host: HOST, authorization: `Bearer ${TOKEN}` })).not.toBe(401)
    }
  })

  it('stays so at a gateway that was started again, and at another replica', async () => {
    const headers = await signIn(open())
    expect((await open().get('/api/tools', headers)).status).toBe(200)
    const changed = open({ tokens: [{ token: 'another-token-of-mine' }] })
    expect((await changed.get('/api/tools', headers)).status).toBe(401)
  })

  it('is signed out at once when its token is revoked, and its stream ends', async () => {
    // Time stands still but for what the test lets pass.
    const timers: (() => void)[] = []
    const schedule: InspectorOptions['schedule'] = (_delayMs, fire) => {
      timers.push(fire)
      return () => {}
    }
    const page = open(
      { tokens: [{ token: TOKEN, operator: true }, { token: 'a-token-that-stays-1234' }] },
      { schedule },
    )
    const headers = await signIn(page)
    const stream = (await page.get('/api/events', headers)).body?.getReader()
    expect((await stream?.read())?.done).toBe(false)
    await page.gateway.reload({ tokens: [{ token: 'a-token-that-stays-1234' }] })
    expect((await page.get('/api/tools', headers)).status).toBe(401)
    for (const fire of timers.splice(0)) fire()
    expect((await stream?.read())?.done).toBe(true)
  })

  it('can sign out: the browser forgets the key', async () => {
    const page = open()
    const response = await page.post('/api/page-sign-out', await signIn(page))
    expect(response.headers.get('set-cookie')).toBe(
      'toolcrib-7117=; Path=/api; HttpOnly; SameSite=Strict; Max-Age=0',
    )
  })
})

describe('signing in to the page', () => {
  it('sets no cookie for a token that is wrong, missing, or of a client', async () => {
    const client = 'a-token-of-a-client-1'
    const page = open({
      tokens: [{ token: TOKEN, operator: true }, { token: client }],
    })
    const responses = [
      await trySignIn(page, 'another-token-of-mine'),
      await page.post('/api/page-sign-in', FROM_PAGE),
      await trySignIn(page, client),
    ]
    expect(responses.map(({ status }) => status)).toEqual([401, 401, 403])
    for (const { headers } of responses) expect(headers.get('set-cookie')).toBeNull()
    expect(await responses[2]?.json()).toEqual({ error: expect.stringContaining('the token of a client') })
  })

  it('takes a token, and no sealed one', async () => {
    const page = open()
    const response = await page.post('/api/page-sign-in', await signIn(page))
    expect([response.status, response.headers.get('set-cookie')]).toEqual([400, null])
  })

  it('is not needed where no token is asked for; but other pages cannot make it do anything', async () => {
    const page = open({ tokens: [] })
    expect((await page.get('/api/tools', FROM_PAGE)).status).toBe(200)
    // As an image of another page would ask.
    expect((await page.get('/api/search?query=x', { host: HOST })).status).toBe(403)
    expect((await page.get('/api/events', { host: HOST })).status).toBe(403)
  })

  it('takes tokens of an OAuth issuer that open every profile, until they expire', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256')
    const keys = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] }
    const listener = createServer((_request, response) => void response.end(JSON.stringify(keys)))
    const issuer = await listening(listener)
    onTestFinished(() => void listener.close())
    const tokenFor = (scope: string) =>
      new SignJWT({ scope, groups: 'g'.repeat(4_000) })
        .setProtectedHeader({ alg: 'ES256' })
        .setIssuer(issuer)
        .setAudience(`${ORIGIN}/mcp`)
        .setSubject('ada')
        .setExpirationTime('5m')
        .sign(privateKey)
    let now = Date.now()
    const page = open({
      tokens: [],
      profiles: { work: {} },
      oauth: {
        resource: `${ORIGIN}/mcp`,
        issuer,
        jwksUri: `${issuer}/keys`,
        scopes: { all: null, work: 'work' },
        operatorScope: 'operate',
      },
      now: () => now,
    })
    for (const scope of ['work', 'all'])
      expect((await trySignIn(page, await tokenFor(scope))).status).toBe(403)
    const headers = await signIn(page, await tokenFor('operate'))
    expect((await page.get('/api/tools', headers)).status).toBe(200)
    now += 10 * 60_000
    const refused = await page.get('/api/tools', headers)
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toContain('resource_metadata')
  })
})
