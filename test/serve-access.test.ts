import { once } from 'node:events'
import { createServer, get, type Server } from 'node:http'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { RAIN, useCommandLine } from './cli-folder.fixture.ts'
import { listening } from './gateway.fixture.ts'
import { authorized, speak } from './mcp/http-server.fixture.ts'
import { operatorTokenOf, useServe } from './serve.fixture.ts'

// Every gateway is a process of its own, with servers as processes behind it.
vi.setConfig({ testTimeout: 60_000 })

const { environment, toolcrib, toolcribWith, start, write, list, server } = useCommandLine()
const serveWith = useServe({ start })
const RESOURCE = 'https://crib.example.com/mcp'

describe('the [gateway] table of the config', () => {
  beforeEach(() => list(RAIN))

  function configure(table: string, host = 'service') {
    const { command, args } = server()
    write(
      'toolcrib.toml',
      `[server.weather]
      command = ${JSON.stringify(command)}
      args = ${JSON.stringify(args)}
      [profile.work]
      mode = "full"
      servers = ["weather"]
      [profile.home]
      [gateway]
      hosts = ["${host}"]
      [gateway.limits]
      list_wait_ms = 30000
      ${table}`,
    )
  }

  const serve = (env: Record<string, string>) => serveWith([], { env: environment(env) })

  async function connect(url: string, token: string) {
    const client = new Client({ name: 'test', version: '1' })
    const headers = { Authorization: `Bearer ${token}` }
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
    return client
  }

  const rain = (client: Client) => client.callTool({ name: 'weather__get_rain', arguments: { city: 'Oslo' } })

  describe('with an OAuth issuer', () => {
    let issuer: Server
    let address = ''
    let keys: Awaited<ReturnType<typeof generateKeyPair>>
    beforeEach(async () => {
      keys = await generateKeyPair('ES256')
      const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'ES256' }
      issuer = createServer(({ url }, response) => {
        const metadata = { issuer: address, jwks_uri: `${address}/keys` }
        const answer = url === '/keys' ? { keys: [jwk] } : metadata
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
      })
      address = await listening(issuer)
      configure(`[gateway.oauth]
        resource = "${RESOURCE}"
        issuer = "\${ISSUER}"
        scopes = { "crib:work" = "work", "crib:all" = "*" }`)
    })
    afterEach(() => void issuer.close())

    const token = (scope: string, audience = RESOURCE) =>
      new SignJWT({ scope, client_id: 'editor' })
        .setProtectedHeader({ alg: 'ES256', kid: 'one' })
        .setIssuer(address)
        .setAudience(audience)
        .setSubject('ada')
        .setExpirationTime('5m')
        .sign(keys.privateKey)

    it('lets in its users, to the profiles of their scopes', async () => {
      const { url, token: own, page } = await serve({ ISSUER: address })
      const { origin } = new URL(url)
      expect(own).toBeNull()
      expect(page.startsWith(`${origin}/#token=`)).toBe(true)
      const metadata = await fetch(`${origin}/.well-known/oauth-protected-resource/mcp`)
      expect(await metadata.json()).toMatchObject({ resource: RESOURCE, authorization_servers: [address] })

      const refused = await fetch(url, { method: 'POST', body: '{}' })
      expect(refused.status).toBe(401)
      expect(refused.headers.get('www-authenticate')).toContain(
        'resource_metadata="https://crib.example.com/.well-known/oauth-protected-resource/mcp"',
      )
      const worker = await token('crib:work')
      const client = await connect(url, worker)
      expect((await rain(client)).content).toEqual([{ type: 'text', text: 'get_rain ran' }])
      await client.close()
      const status = async (path: string, jwt: string) => {
        const headers = { authorization: `Bearer ${jwt}` }
        return (await fetch(`${origin}${path}`, { method: 'POST', body: '{}', headers })).status
      }
      expect(await status('/mcp/home', worker)).toBe(403)
      expect(await status('/mcp/home', await token('crib:all'))).toBe(415)
      expect(await status('/mcp', await token('crib:all', 'https://elsewhere.example/mcp'))).toBe(401)
      expect((await fetch(`${origin}/api/tools`, { headers: { authorization: 'Bearer x' } })).status).toBe(
        401,
      )

      // A proxy before the gateway keeps the host name that clients use.
      expect(await stateFor(`${origin}/healthz`, 'crib.example.com')).toBe(200)
      expect(await stateFor(`${origin}/healthz`, 'service')).toBe(200)
      expect(await stateFor(`${origin}/healthz`, 'elsewhere.example')).toBe(403)

      const { stdout } = await toolcribWith({ ISSUER: address }, 'logs', '--json')
      const messages = stdout.split('\n').map((line) => (line === '' ? '' : JSON.parse(line).message))
      expect(messages).toContainEqual(expect.stringMatching(/^request POST \/mcp: 401, \d+ ms$/))
      expect(stdout).not.toContain('eyJ')
    })

    it('takes no other tokens beside them', async () => {
      const refusal = async (...flags: string[]) => {
        const { status, stderr } = await toolcribWith({ ISSUER: address }, 'serve', '--port', '0', ...flags)
        expect(status).toBe(2)
        return stderr
      }
      expect(await refusal('--no-token')).toContain('leave out --token, --token-file and --no-token')
      expect(await refusal('--token', 'a-token-of-some-length')).toContain('leave out --token')
      expect(await refusal('--profile', 'work')).toContain('leave out --profile')
      expect((await toolcrib('serve', '--port', '0')).stderr).toContain('ISSUER has no value')
    })
  })

  it('opens the page that it prints, also where its own token is bound to a profile', async () => {
    configure('')
    const { url, token, page } = await serveWith(['--profile', 'work'])
    const asked = (path: string, bearer: string) =>
      fetch(new URL(path, url), { headers: { authorization: `Bearer ${bearer}` } })
    const opensPage = operatorTokenOf(page)
    expect((await asked('/api/tools', opensPage)).status).toBe(200)
    expect((await asked('/api/tools', token)).status).toBe(403)
    expect((await asked('/mcp/home', token)).status).toBe(404)
    expect((await asked('/metrics', token)).status).toBe(403)
    expect((await asked('/metrics', opensPage)).status).toBe(200)
    for (const path of ['/mcp', '/mcp/work']) expect((await asked(path, opensPage)).status).toBe(403)
  })

  it('gives other clients tokens and limits of their own', async () => {
    configure(`calls_per_minute = 1
      [gateway.token.laptop]
      token = "\${LAPTOP_TOKEN}"
      profile = "work"`)
    const { url, token, child } = await serve({ LAPTOP_TOKEN: 'a-token-of-the-laptop' })
    let printed = ''
    child.stderr?.on('data', (chunk: Buffer) => (printed += chunk))
    const laptop = await connect(url, 'a-token-of-the-laptop')
    expect((await rain(laptop)).content).toEqual([{ type: 'text', text: 'get_rain ran' }])
    await expect(rain(laptop)).rejects.toMatchObject({
      code: -32_000,
      data: { retryAfterMs: expect.any(Number) },
    })
    // The limit is that of one client.
    const own = await connect(url, token)
    expect((await rain(own)).content).toEqual([{ type: 'text', text: 'get_rain ran' }])
    await Promise.all([laptop.close(), own.close()])
    const headers = { authorization: 'Bearer a-token-of-the-laptop' }
    expect((await fetch(`${url}/home`, { method: 'POST', body: '{}', headers })).status).toBe(404)
    const { stderr } = await toolcribWith({ LAPTOP_TOKEN: 'x' }, 'serve', '--port', '0', '--no-token')
    expect(stderr).toContain('leave out --no-token')

    // A changed config applies at once: a token that is taken out, the limits, the hosts. The gateway says what does not.
    const known = await connect(url, 'a-token-of-the-laptop')
    const before = await connect(url, token)
    await expect(rain(before)).rejects.toMatchObject({ code: -32_000 })
    const health = new URL('/healthz', url).href
    expect(await stateFor(health, 'other')).toBe(403)
    configure('calls_per_minute = 0\n[tools]\ntool_threshold = 3', 'other')
    await vi.waitUntil(() => printed.includes('restart the gateway'), { timeout: 30_000 })
    const warning = '[tools] changed; restart the gateway to apply this'
    expect(printed).toContain(warning)
    expect((await toolcrib('logs')).stdout).toContain(`warn  ${warning}`)
    await expect(rain(known)).rejects.toThrow()
    expect((await fetch(url, { method: 'POST', body: '{}', headers })).status).toBe(401)
    for (let calls = 0; calls < 3; calls++)
      expect((await rain(before)).content).toEqual([{ type: 'text', text: 'get_rain ran' }])
    expect(await stateFor(health, 'other')).toBe(200)
    await before.close()
  })
})

/** The status of a request that names this host. */
async function stateFor(url: string, host: string): Promise<number | undefined> {
  const [response] = await once(get(url, { headers: { host } }), 'response')
  response.resume()
  return response.statusCode
}

describe('a server that wants a sign-in', () => {
  it('is signed in to over the page, and stays so when the gateway starts again', async () => {
    const vault = createServer(authorized(speak({ open: () => 'inside' })))
    onTestFinished(() => {
      vault.closeAllConnections()
      vault.close()
    })
    write('toolcrib.toml', `[server.vault]\nurl = "${await listening(vault)}/mcp"\n`)
    const first = await serveWith()
    const signIn = await api(first, 'sign-in', { server: 'vault' })
    const { headers } = await fetch(signIn.url, { redirect: 'manual' })
    const back = new URL(headers.get('location') ?? '')
    expect(back.origin + back.pathname).toBe(`${new URL(first.page).origin}/oauth/callback`)
    expect((await fetch(back)).status).toBe(200)
    await expect
      .poll(() => api(first, 'servers'), { timeout: 20_000 })
      .toMatchObject({ servers: [{ state: 'ready' }] })
    first.child.kill('SIGTERM')
    await first.ended
    const second = await serveWith()
    await expect
      .poll(() => api(second, 'servers'), { timeout: 20_000 })
      .toMatchObject({ servers: [{ tools: 1 }] })
    const call = await api(second, 'call', { name: 'mcp__vault__open', args: {} })
    expect(call).toMatchObject({ result: { result: { ok: true, value: 'inside' } } })
  })

  /** Asks the page's API; a body makes it a POST. */
  async function api({ page }: { page: string }, route: string, body?: object) {
    const headers = { Authorization: `Bearer ${operatorTokenOf(page)}`, 'x-toolcrib-page': '1' }
    const response = await fetch(new URL(`/api/${route}`, page), {
      headers,
      ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    })
    return response.json()
  }
})
