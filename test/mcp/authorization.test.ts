import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json, text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from 'vitest'
import { memoryStore } from '../../packages/core/src/store/memory-store.ts'
import type { ToolResult } from '../../packages/core/src/tool.ts'
import { ToolRegistry } from '../../packages/core/src/tool-registry.ts'
import { connectServers, type OAuthOptions } from '../../packages/mcp/src/index.ts'

describe('a connected server that wants another authorization', () => {
  const cleanUps: (() => unknown)[] = []

  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  })

  async function listen(
    handle: (request: IncomingMessage, response: ServerResponse) => unknown,
  ): Promise<string> {
    const server = createServer(handle).listen(0, '127.0.0.1')
    cleanUps.push(() => {
      server.closeAllConnections()
      server.close()
    })
    await once(server, 'listening')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  /** A server with the tools `read` and `write`, its authorization server, and a connection to it. */
  async function start({
    authorize = consent,
    timeoutMs = 10_000,
    issuer = new Issuer(),
    credentials,
    greetsAnybody = false,
  }: {
    authorize?: NonNullable<OAuthOptions['authorize']>
    timeoutMs?: number
    issuer?: Issuer
    credentials?: { client_id: string; client_secret: string }
    greetsAnybody?: boolean
  } = {}) {
    issuer.url = await listen((request, response) => issuer.handle(request, response))
    const resource = new Resource(issuer, { greetsAnybody })
    resource.url = await listen((request, response) => resource.handle(request, response))
    const registry = new ToolRegistry()
    const asked: string[] = []
    const oauth: OAuthOptions = {
      redirectUrl: 'http://127.0.0.1:9/callback',
      clientMetadataUrl: DOCUMENT,
      authorize: (request) => {
        asked.push(request.url.searchParams.get('scope') ?? '')
        if (asked.length === 1) return consent(request)
        return authorize(request)
      },
    }
    const config = {
      url: `${resource.url}/mcp`,
      timeout_ms: timeoutMs,
      ...(credentials ? { oauth: credentials } : {}),
    }
    const store = memoryStore()
    const first = connectServers(registry, { mcpServers: { web: config } }, { store, oauth })
    cleanUps.push(() => first.close())
    expect(await first.ready()).toEqual([{ server: 'web', state: 'ready' }])
    const call = async (tool: string, signal?: AbortSignal): Promise<ToolResult> => {
      const calls = [{ toolCallId: 'c', name: `mcp__web__${tool}`, args: {} }]
      const context = { sessionId: 's', ...(signal ? { signal } : {}) }
      const [answer] = await registry.executeParallel(calls, context)
      if (!answer) throw new Error('no answer')
      return answer.result
    }
    return { issuer, resource, asked, call, store, config, first, registry }
  }

  it('for more scopes gets it once, with the scopes granted before, and the call is sent again', async () => {
    const { asked, call, resource } = await start()
    expect(asked).toEqual(['read'])
    expect(await call('write')).toMatchObject({ ok: true, value: 'write done' })
    expect(asked).toEqual(['read', 'read write'])
    expect(await call('write')).toMatchObject({ ok: true })
    expect(await call('read')).toMatchObject({ ok: true })
    expect(asked).toHaveLength(2)
    expect(resource.done).toEqual(['write', 'write', 'read'])
  })

  it('gets it for its first list, where it greets anybody', async () => {
    const { asked, call, registry } = await start({ greetsAnybody: true })
    expect(asked).toEqual(['read'])
    expect(registry.has('mcp__web__read')).toBe(true)
    expect(await call('read')).toMatchObject({ ok: true, value: 'read done' })
  })

  it('gets it once for all calls that are refused meanwhile', async () => {
    const { asked, call } = await start()
    const results = await Promise.all(Array.from({ length: 8 }, () => call('write')))
    expect(results.every(({ ok }) => ok)).toBe(true)
    expect(asked).toEqual(['read', 'read write'])
  })

  it.each([
    ['its issuer grants', ''],
    ['its issuer withholds', 'write'],
  ])('does not ask for consent again when it demands what %s', async (_what, withheld) => {
    const { asked, call, resource, issuer } = await start()
    issuer.withheld = withheld
    resource.isNeverContent = true
    const refusal = {
      ok: false,
      error: expect.stringContaining('demands scopes that its authorization server does not grant (write)'),
    }
    expect(await call('write')).toMatchObject(refusal)
    expect(await call('write')).toMatchObject(refusal)
    expect(asked).toEqual(['read', 'read write'])
    expect(resource.refusals).toBeLessThan(6)
  })

  it('fails the call that waits too long, and the consent that comes later serves the next one', async () => {
    const late = openLater()
    const { asked, call, resource } = await start({
      timeoutMs: 300,
      authorize: async (request) => {
        await late.opened
        return consent(request)
      },
    })
    const waiting = { ok: false, error: expect.stringMatching(/waits for the user's consent; consent/) }
    expect(await call('write')).toMatchObject(waiting)
    expect(await call('write')).toMatchObject(waiting)
    late.open()
    await expect.poll(() => call('write')).toMatchObject({ ok: true })
    expect(asked).toHaveLength(2)
    // Those that failed were not sent after all.
    expect(resource.done).toEqual(['write'])
  })

  it('fails the call when the user refuses, and asks again with the next one', async () => {
    let isWilling = false
    const { asked, call } = await start({
      authorize: async (request) => {
        if (isWilling) return consent(request)
        const state = request.url.searchParams.get('state') ?? ''
        return new URLSearchParams({ error: 'access_denied', state })
      },
    })
    const refused = { ok: false, error: expect.stringContaining('authorization failed: access_denied') }
    expect(await call('write')).toMatchObject(refused)
    expect(await call('read')).toMatchObject({ ok: true })
    isWilling = true
    expect(await call('write')).toMatchObject({ ok: true })
    expect(asked).toHaveLength(3)
  })

  it('fails the call with the next step when nobody can be asked', async () => {
    const { call, first, store, config, registry, resource } = await start()
    await first.close()
    const options = { store, oauth: {} }
    const servers = connectServers(registry, { mcpServers: { web: config } }, options)
    cleanUps.push(() => servers.close())
    await servers.ready()
    expect(await call('write')).toMatchObject({
      ok: false,
      error: expect.stringContaining('more scopes (write) by a user; pass oauth.authorize'),
    })
    expect(resource.done).toEqual([])
  })

  it('does not get a call that was cancelled before the user consented', async () => {
    const asking = openLater()
    const late = openLater()
    const { call, resource } = await start({
      authorize: async (request) => {
        asking.open()
        await late.opened
        return consent(request)
      },
    })
    const controller = new AbortController()
    const cancelled = call('write', controller.signal)
    await asking.opened
    controller.abort()
    expect(await cancelled).toMatchObject({ ok: false, code: 'cancelled' })
    late.open()
    expect(await call('write')).toMatchObject({ ok: true })
    expect(resource.done).toEqual(['write'])
  })

  it('because its token expired gets a refreshed one, without the user', async () => {
    const { asked, call, issuer } = await start()
    await call('write')
    issuer.expireTokens()
    expect(await call('write')).toMatchObject({ ok: true })
    expect(asked).toHaveLength(2)
    expect(issuer.refreshes).toBe(1)
  })

  it.each([
    ['registered credentials', undefined],
    ['credentials of the config', { client_id: 'client-of-config', client_secret: 'secret-of-config' }],
  ])(
    'from another issuer registers there; the %s of the old one are not sent to it',
    async (_what, credentials) => {
      const issuer = new Issuer()
      if (credentials) issuer.clients.push(credentials.client_id)
      const { asked, call, resource } = await start({ issuer, ...(credentials ? { credentials } : {}) })
      const next = new Issuer()
      next.url = await listen((request, response) => next.handle(request, response))
      resource.issuer = next
      expect(await call('read')).toMatchObject({ ok: true, value: 'read done' })
      expect(asked).toEqual(['read', 'read'])
      expect(next.clients).toHaveLength(1)
      const secrets = [...issuer.secrets, 'secret-of-config']
      expect(next.seen.filter((sent) => secrets.some((secret) => sent.includes(secret)))).toEqual([])
      expect(issuer.refreshes).toBe(0)
      next.expireTokens()
      expect(await call('read')).toMatchObject({ ok: true })
      expect(next.refreshes).toBe(1)
    },
  )

  it('knows the client by its document where the issuer reads such documents', async () => {
    const issuer = new Issuer()
    issuer.readsDocuments = true
    const { call } = await start({ issuer })
    expect(await call('write')).toMatchObject({ ok: true })
    expect(issuer.clients).toEqual([])
  })

  it('is not connected with a document that has no https address', () => {
    const oauth = { clientMetadataUrl: 'http://example.com/toolcrib.json' }
    const options = { store: memoryStore(), oauth }
    expect(() => connectServers(new ToolRegistry(), { mcpServers: {} }, options)).toThrow(/an https URL/)
  })
})

/** A user who consents at once. */
async function consent({ url }: { readonly url: URL }): Promise<URLSearchParams> {
  const response = await fetch(url, { redirect: 'manual' })
  return new URL(response.headers.get('location') ?? '').searchParams
}

function openLater(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

const DOCUMENT = 'https://example.com/toolcrib.json'

let lastNumber = 0
const numbered = (name: string) => `${name}-${++lastNumber}`

/** An authorization server: it registers clients, checks the proof of each code, and grants every scope. */
class Issuer {
  url = ''
  refreshes = 0
  /** A scope that is never granted. */
  withheld = ''
  /** true: the address of a document is a client id. */
  readsDocuments = false
  readonly clients: string[] = []
  /** Bodies and queries that clients sent. */
  readonly seen: string[] = []
  readonly #codes = new Map<string, { scope: string; challenge: string }>()
  readonly #tokens = new Map<string, string>()
  readonly #refreshTokens = new Map<string, string>()

  get secrets(): string[] {
    return [...this.clients, ...this.#refreshTokens.keys()]
  }

  scopesOf(token: string): readonly string[] | undefined {
    return this.#tokens.get(token)?.split(' ')
  }

  expireTokens(): void {
    this.#tokens.clear()
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const { pathname, searchParams, search } = new URL(request.url ?? '/', this.url)
    const body = await text(request)
    this.seen.push(search + body)
    if (pathname.startsWith('/.well-known/oauth-authorization-server'))
      return reply(response, {
        issuer: this.url,
        authorization_endpoint: `${this.url}/authorize`,
        token_endpoint: `${this.url}/token`,
        registration_endpoint: `${this.url}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none', 'client_secret_post'],
        client_id_metadata_document_supported: this.readsDocuments,
      })
    if (pathname === '/register') {
      const client = numbered('client')
      this.clients.push(client)
      return reply(response, { ...JSON.parse(body), client_id: client }, 201)
    }
    if (pathname === '/authorize') {
      const code = numbered('code')
      const [scope, challenge] = [searchParams.get('scope') ?? '', searchParams.get('code_challenge') ?? '']
      this.#codes.set(code, { scope, challenge })
      const back = new URL(searchParams.get('redirect_uri') ?? '')
      back.search = String(new URLSearchParams({ code, state: searchParams.get('state') ?? '' }))
      return response.writeHead(302, { location: back.href }).end()
    }
    if (pathname === '/token') return this.#issue(new URLSearchParams(body), response)
    return response.writeHead(404).end()
  }

  #issue(form: URLSearchParams, response: ServerResponse): unknown {
    const scope = form.get('grant_type') === 'refresh_token' ? this.#refreshed(form) : this.#redeemed(form)
    if (scope === undefined || !this.#knows(form.get('client_id') ?? ''))
      return reply(response, { error: 'invalid_grant' }, 400)
    const [access, refresh] = [numbered('token'), numbered('refresh')]
    const granted = this.withheld === '' ? scope : scope.replace(` ${this.withheld}`, '')
    this.#tokens.set(access, granted)
    this.#refreshTokens.set(refresh, granted)
    return reply(response, {
      access_token: access,
      refresh_token: refresh,
      token_type: 'Bearer',
      expires_in: 3600,
      // It may be left out when it is the requested one.
      ...(granted === scope ? {} : { scope: granted }),
    })
  }

  #knows(client: string): boolean {
    return this.clients.includes(client) || (this.readsDocuments && client === DOCUMENT)
  }

  #refreshed(form: URLSearchParams): string | undefined {
    this.refreshes++
    return this.#refreshTokens.get(form.get('refresh_token') ?? '')
  }

  #redeemed(form: URLSearchParams): string | undefined {
    const code = this.#codes.get(form.get('code') ?? '')
    this.#codes.delete(form.get('code') ?? '')
    const proof = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    return code?.challenge === proof ? code.scope : undefined
  }
}

/** An MCP server of an older revision: the tool `write` needs the scope `write`, everything else `read`. */
class Resource {
  url = ''
  issuer: Issuer
  /** true: no scope is enough for `write`. */
  isNeverContent = false
  refusals = 0
  readonly #greetsAnybody: boolean
  /** The tools that were called. */
  readonly done: string[] = []

  constructor(issuer: Issuer, { greetsAnybody = false } = {}) {
    this.issuer = issuer
    this.#greetsAnybody = greetsAnybody
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    if (request.url?.startsWith('/.well-known/oauth-protected-resource'))
      return reply(response, { resource: `${this.url}/mcp`, authorization_servers: [this.issuer.url] })
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method, params } = (await json(request)) as {
      id?: number
      method: string
      params?: { name?: string; protocolVersion?: string }
    }
    const isGreeting = /^(?:server\/discover|initialize|notifications\/.*)$/.test(method)
    const granted = this.issuer.scopesOf(request.headers.authorization?.replace('Bearer ', '') ?? '')
    const scopes = granted ?? (this.#greetsAnybody && isGreeting ? [] : undefined)
    if (!scopes) return this.#refuse(response, 401, 'scope="read"')
    const isWriting = params?.name === 'write'
    if (isWriting && (this.isNeverContent || !scopes.includes('write')))
      return this.#refuse(response, 403, 'error="insufficient_scope", scope="write"')
    if (id === undefined) return response.writeHead(202).end()
    if (method === 'tools/call') this.done.push(String(params?.name))
    const tool = (name: string) => ({ name, inputSchema: { type: 'object' } })
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'resource', version: '1' },
      },
      'tools/list': { tools: [tool('read'), tool('write')] },
      'tools/call': { content: [{ type: 'text', text: `${params?.name} done` }] },
      ping: {},
    }
    const result = results[method]
    const error = { code: -32_601, message: 'Method not found' }
    return reply(response, { jsonrpc: '2.0', id, ...(result ? { result } : { error }) })
  }

  #refuse(response: ServerResponse, status: 401 | 403, reason: string): unknown {
    this.refusals++
    const metadata = `resource_metadata="${this.url}/.well-known/oauth-protected-resource/mcp"`
    return response.writeHead(status, { 'www-authenticate': `Bearer ${reason}, ${metadata}` }).end()
  }
}

function reply(response: ServerResponse, data: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(data))
}
