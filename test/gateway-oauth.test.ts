import { createServer, type Server } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import type { GatewayOptions } from 'toolcrib/gateway'
import { createGateway } from 'toolcrib/gateway'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { listening, openGateway, rawRequest, serveTools } from './gateway.fixture.ts'
import { MODERN_SERVER, script } from './mcp/reference-servers.fixture.ts'

const RESOURCE = 'http://localhost/mcp'
const METADATA = 'http://localhost/.well-known/oauth-protected-resource/mcp'
const ACCEPT = 'application/json, text/event-stream'
const MODERN_HEADERS = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' }
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'slow', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const PROFILES = { work: { servers: ['modern'] }, home: { servers: ['modern'] } }

describe('the gateway as an OAuth resource server', () => {
  let issuer = ''
  let listener: Server
  let isIssuerUp = true
  /** Answers what was asked of `/slow-keys`. */
  let answerSlowly: (() => void) | undefined
  let keys: Awaited<ReturnType<typeof generateKeyPair>>
  let foreign: Awaited<ReturnType<typeof generateKeyPair>>

  beforeAll(async () => {
    keys = await generateKeyPair('ES256')
    foreign = await generateKeyPair('ES256')
    const jwks = { keys: [{ ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'ES256' }] }
    listener = createServer((request, response) => {
      if (request.url === '/slow-keys') {
        answerSlowly = () => void response.end(JSON.stringify(jwks))
        return
      }
      const answers: Record<string, object> = {
        '/.well-known/oauth-authorization-server': { issuer, jwks_uri: `${issuer}/keys` },
        '/keys': jwks,
      }
      const answer = isIssuerUp ? answers[request.url ?? ''] : undefined
      response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer ?? {}))
    })
    issuer = await listening(listener)
  })
  afterAll(() => void listener.close())
  beforeEach(() => {
    answerSlowly = undefined
  })

  const oauth = () => ({ resource: RESOURCE, issuer, scopes: { 'mcp:all': null, 'mcp:work': 'work' } })
  const open = (options: Partial<GatewayOptions> = {}) =>
    openGateway(
      { modern: script(MODERN_SERVER) },
      { oauth: oauth(), profiles: PROFILES, mode: 'full', ...options },
    )
  const token = (claims: object = {}, { key = keys.privateKey, audience = RESOURCE, from = issuer } = {}) =>
    new SignJWT({ scope: 'mcp:all', client_id: 'editor', ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .setIssuer(from)
      .setAudience(audience)
      .setSubject('ada')
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(key)

  it('publishes where tokens are from, and refuses requests without one', async () => {
    const { gateway } = await open()
    const metadata = await gateway.fetch(new Request(METADATA))
    expect([metadata.status, await metadata.json()]).toEqual([
      200,
      {
        resource: RESOURCE,
        authorization_servers: [issuer],
        scopes_supported: ['mcp:all', 'mcp:work'],
        bearer_methods_supported: ['header'],
        resource_name: 'toolcrib',
      },
    ])
    const work = await gateway.fetch(new Request(`${METADATA}/work`))
    expect(await work.json()).toMatchObject({
      resource: `${RESOURCE}/work`,
      scopes_supported: ['mcp:all', 'mcp:work'],
    })
    const refused = await gateway.fetch(new Request(RESOURCE, { method: 'POST', body: '{}' }))
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toBe(
      `Bearer scope="mcp:all mcp:work", resource_metadata="${METADATA}"`,
    )
  })

  it('takes tokens of its issuer that are for it, and no others', async () => {
    const { gateway } = await open()
    const status = async (authorization: string, query = '') => {
      const request = new Request(`${RESOURCE}${query}`, { method: 'POST', body: '{}' })
      request.headers.set('authorization', authorization)
      const response = await gateway.fetch(request)
      await response.text()
      return response.status
    }
    const good = await token()
    // Past the token, the type of the body is refused.
    expect(await status(`Bearer ${good}`)).toBe(415)
    expect(await status(`Bearer ${good}`)).toBe(415)
    const [head, claims, signature] = good.split('.')
    const unsigned = Buffer.from('{"alg":"none"}').toString('base64url')
    const shared = await new SignJWT({ scope: 'mcp:all' })
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .setIssuer(issuer)
      .setAudience(RESOURCE)
      .setSubject('ada')
      .setExpirationTime('5m')
      .sign(new TextEncoder().encode('a shared secret of sufficient length'))
    const bad = [
      await token({}, { audience: 'https://elsewhere.example/mcp' }),
      await token({}, { from: 'https://elsewhere.example' }),
      await token({}, { key: foreign.privateKey }),
      `${unsigned}.${claims}.`,
      `${head}.${claims}.${signature?.split('').reverse().join('')}`,
      shared,
      'x'.repeat(20_000),
    ]
    for (const each of bad) expect(await status(`Bearer ${each}`)).toBe(401)
    expect(await status(`Basic ${good}`)).toBe(401)
    expect(await status('', `?access_token=${good}`)).toBe(401)
  })

  it('takes tokens for another audience, and those alone, where the issuer names one', async () => {
    const { gateway } = await open({ oauth: { ...oauth(), audience: 'api://crib' } })
    const status = async (audience: string) => {
      const request = new Request(`${RESOURCE}/work`, { method: 'POST', body: '{}' })
      request.headers.set('authorization', `Bearer ${await token({}, { audience })}`)
      return (await gateway.fetch(request)).status
    }
    expect(await status('api://crib')).toBe(415)
    expect(await status(RESOURCE)).toBe(401)
    expect(await status(`${RESOURCE}/work`)).toBe(401)
  })

  it('refuses a token that has expired', async () => {
    const { gateway } = await open({ now: () => Date.now() + 3_600_000 })
    const request = new Request(RESOURCE, { method: 'POST', body: '{}' })
    request.headers.set('authorization', `Bearer ${await token()}`)
    const response = await gateway.fetch(request)
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"')
  })

  it('opens the profiles of the scopes, and no others', async () => {
    const { gateway } = await open()
    const call = async (path: string, claims: object, audience = RESOURCE) => {
      const request = new Request(`${RESOURCE}${path}`, { method: 'POST', body: '{}' })
      request.headers.set('authorization', `Bearer ${await token(claims, { audience })}`)
      const response = await gateway.fetch(request)
      return [response.status, response.headers.get('www-authenticate') ?? ''] as const
    }
    expect((await call('/work', { scope: 'mcp:work other' }))[0]).toBe(415)
    expect((await call('', { scope: 'mcp:work' }))[0]).toBe(415)
    expect((await call('/home', { scope: 'mcp:all' }))[0]).toBe(415)
    const [status, challenge] = await call('/home', { scope: 'mcp:work' })
    expect(status).toBe(403)
    expect(challenge).toContain('error="insufficient_scope", scope="mcp:all"')
    expect((await call('', { scope: 'other' }))[0]).toBe(403)
    expect((await call('', {}, `${RESOURCE}/work`))[0]).toBe(401)
    expect((await call('/work', {}, `${RESOURCE}/work`))[0]).toBe(415)
  })

  it('never sends the token of a client to a server', async () => {
    const { url, seen } = await serveTools((server) =>
      server.registerTool('hello', {}, async () => ({ content: [{ type: 'text', text: 'hello' }] })),
    )
    const { gateway } = await openGateway(
      { listener: { type: 'http', url } },
      { oauth: oauth(), profiles: PROFILES },
    )
    const authorization = `Bearer ${await token()}`
    const { answer } = await rawRequest(
      gateway,
      'tools/call',
      { name: 'listener__hello', arguments: {} },
      { authorization, 'x-secret': authorization, cookie: authorization },
    )
    expect(answer.result).toMatchObject({ content: [{ text: 'hello' }] })
    expect(seen.length).toBeGreaterThan(0)
    expect(JSON.stringify(seen)).not.toContain('Bearer')
  })

  it('answers that it cannot check tokens while the issuer is away', async () => {
    const { gateway } = await open({ oauth: { ...oauth(), jwksUri: 'http://127.0.0.1:9/keys' } })
    const request = new Request(RESOURCE, { method: 'POST', body: '{}' })
    request.headers.set('authorization', `Bearer ${await token()}`)
    const response = await gateway.fetch(request)
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
  })

  it('refuses settings that would leave a door open', async () => {
    const { gateway, ...rest } = await open()
    const make = (options: object) => () => createGateway({ ...rest, profiles: PROFILES, ...options })
    expect(make({ oauth: oauth(), tokens: [{ token: 'a-token-of-some-length' }] })).toThrow(
      'give either tokens of clients or oauth',
    )
    expect(make({ oauth: { ...oauth(), issuer: 'http://issuer.example' } })).toThrow('must be an https URL')
    expect(make({ oauth: { ...oauth(), scopes: {} } })).toThrow('at least one scope')
    expect(make({ oauth: { ...oauth(), scopes: { a: 'nobody' } } })).toThrow('profile "nobody"')
    expect(make({ oauth: { ...oauth(), isuer: 'x' } })).toThrow(
      'a gateway has no option "oauth.isuer"; did you mean "oauth.issuer"?',
    )
  })

  it('needs nothing of the issuer when a reload changes something else', async () => {
    const { gateway } = await open()
    const list = async (claims = {}) =>
      (await rawRequest(gateway, 'tools/list', {}, { authorization: `Bearer ${await token(claims)}` })).status
    expect(await list()).toBe(200)
    isIssuerUp = false
    try {
      await gateway.reload({ profiles: { ...PROFILES, more: {} }, oauth: oauth(), hosts: ['localhost'] })
      expect(await list({ client_id: 'another' })).toBe(200)
      const scopes = { 'mcp:new': null }
      await gateway.reload({ profiles: PROFILES, oauth: { ...oauth(), scopes } })
      expect([await list({ scope: 'mcp:new' }), await list()]).toEqual([200, 403])
    } finally {
      isIssuerUp = true
    }
  })

  it('takes over other settings while it runs, and ends the sessions of another issuer', async () => {
    const { gateway } = await open()
    const headers = async (claims = {}) => ({ authorization: `Bearer ${await token(claims)}` })
    const list = async (claims = {}) =>
      (await rawRequest(gateway, 'tools/list', {}, await headers(claims))).status
    expect(await list({ scope: 'mcp:new' })).toBe(403)
    const initialize = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    }
    const opened = await gateway.fetch(
      new Request(RESOURCE, {
        method: 'POST',
        headers: { ...(await headers()), accept: ACCEPT, 'content-type': 'application/json' },
        body: JSON.stringify(initialize),
      }),
    )
    expect(opened.status).toBe(200)
    await gateway.reload({ profiles: PROFILES, oauth: { ...oauth(), scopes: { 'mcp:new': null } } })
    expect([await list({ scope: 'mcp:new' }), await list()]).toEqual([200, 403])
    expect(gateway.status().sessions).toBe(1)
    await gateway.reload({ profiles: PROFILES, oauth: { ...oauth(), issuer: 'http://localhost:9' } })
    expect(gateway.status().sessions).toBe(0)
    expect(await list({ scope: 'mcp:new' })).not.toBe(200)
  })

  it('checks a token again whose check began before the settings changed', async () => {
    const slow = { ...oauth(), jwksUri: `${issuer}/slow-keys` }
    const { gateway } = await open({ oauth: slow })
    const headers = { authorization: `Bearer ${await token()}` }
    const listed = rawRequest(gateway, 'tools/list', {}, headers)
    await expect.poll(() => answerSlowly).toBeDefined()
    await gateway.reload({ profiles: PROFILES, oauth: { ...slow, scopes: { 'mcp:new': null } } })
    answerSlowly?.()
    expect((await listed).status).toBe(403)
  })

  it('refuses a request whose token is not checked before the gateway has stopped', async () => {
    const { gateway } = await open({ limits: { drainMs: 10 } })
    const headers = { authorization: `Bearer ${await token()}` }
    expect((await rawRequest(gateway, 'tools/list', {}, headers)).status).toBe(200)
    // Its token was accepted; while it arrives, the settings change, so that the token is checked again.
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: META } })
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          await gateway.reload({ profiles: PROFILES, oauth: { ...oauth(), jwksUri: `${issuer}/slow-keys` } })
          controller.enqueue(new TextEncoder().encode(text))
          controller.close()
        },
      },
      { highWaterMark: 0 },
    )
    const sent = { ...headers, accept: ACCEPT, 'content-type': 'application/json', ...MODERN_HEADERS }
    const answered = gateway.fetch(
      new Request(RESOURCE, { method: 'POST', headers: sent, body, ...{ duplex: 'half' } }),
    )
    await expect.poll(() => answerSlowly).toBeDefined()
    await gateway.close()
    answerSlowly?.()
    expect((await answered).status).toBe(503)
  })
})
