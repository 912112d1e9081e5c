import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { memoryStore } from '../../packages/core/src/store/memory-store.ts'
import type { StoredValue } from '../../packages/core/src/store/store.ts'
import type { ToolResult } from '../../packages/core/src/tool.ts'
import { ToolRegistry } from '../../packages/core/src/tool-registry.ts'
import {
  type ConnectedServers,
  type ConnectOptions,
  connectServers,
  type McpEvent,
} from '../../packages/mcp/src/index.ts'
import { fileStore } from '../../packages/mcp/src/stores/file-store.ts'
import { authorized, bodyOf, speak } from './http-server.fixture.ts'
import { referenceServer } from './reference-servers.fixture.ts'

describe('servers over HTTP', () => {
  const registry = new ToolRegistry()
  const cleanUps: (() => unknown)[] = []

  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  })

  function connect(config: object, options: ConnectOptions = {}): ConnectedServers {
    const servers = connectServers(registry, { mcpServers: { web: config } }, options)
    cleanUps.push(() => servers.close())
    return servers
  }

  async function call(name: string, args: unknown = {}): Promise<ToolResult> {
    const [answer] = await registry.executeParallel([{ toolCallId: 'c', name, args }], { sessionId: 's' })
    if (!answer) throw new Error('no answer')
    return answer.result
  }

  /** The everything server over HTTP, up and listening. */
  async function startEverything(transport: 'streamableHttp' | 'sse', port: number): Promise<ChildProcess> {
    const child = spawn(process.execPath, [referenceServer('everything'), transport], {
      env: { ...process.env, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    cleanUps.push(() => child.kill('SIGKILL'))
    let said = ''
    while (!/port \d+/.test(said)) said += String((await once(child.stderr, 'data'))[0])
    child.stderr.resume()
    return child
  }

  async function temporary(): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'toolcrib-http-'))
    cleanUps.push(() => rm(directory, { recursive: true }))
    return directory
  }

  /** A self-signed certificate. */
  async function certificate(): Promise<{ key: string; cert: string }> {
    const directory = await temporary()
    const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')]
    await promisify(execFile)('openssl', [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1'],
      ...['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert],
    ])
    return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') }
  }

  async function listen(
    handle: (request: IncomingMessage, response: ServerResponse) => unknown,
  ): Promise<string> {
    const server: Server = createServer(handle).listen(0, '127.0.0.1')
    cleanUps.push(() => {
      server.closeAllConnections()
      server.close()
    })
    await once(server, 'listening')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  it('are reached by streamable HTTP', async () => {
    const port = await freePort()
    await startEverything('streamableHttp', port)
    const statuses = await connect({ url: `http://127.0.0.1:${port}/mcp` }).ready()
    expect(statuses).toEqual([{ server: 'web', state: 'ready' }])
    expect(await call('mcp__web__echo', { message: 'hi' })).toMatchObject({ ok: true, value: 'Echo: hi' })
    const image = await call('mcp__web__get-tiny-image')
    expect(image.ok && image.content?.some(({ type }) => type === 'image')).toBe(true)
  })

  it.each([['sse'], [undefined]])('are reached by SSE, asked for by type %s', async (type) => {
    const port = await freePort()
    await startEverything('sse', port)
    await connect({ url: `http://127.0.0.1:${port}/sse`, ...(type ? { type } : {}) }).ready()
    expect(await call('mcp__web__echo', { message: 'hi' })).toMatchObject({ ok: true, value: 'Echo: hi' })
  })

  it('that lost the session are reconnected once, and the call is repeated', async () => {
    const port = await freePort()
    const first = await startEverything('streamableHttp', port)
    await connect({ url: `http://127.0.0.1:${port}/mcp` }).ready()
    first.kill('SIGKILL')
    await once(first, 'exit')
    await startForgetful(port)
    expect(await call('mcp__web__echo', { message: 'still there' })).toMatchObject({
      ok: true,
      value: 'still there',
    })
  })

  it('that are down fail with a typed error, and work again once they are back', async () => {
    const port = await freePort()
    const first = await startEverything('streamableHttp', port)
    const servers = connect({ url: `http://127.0.0.1:${port}/mcp`, timeout_ms: 2_000 })
    await servers.ready()
    first.kill('SIGKILL')
    await once(first, 'exit')
    expect(await call('mcp__web__echo', { message: 'x' })).toMatchObject({
      ok: false,
      code: 'execution_failed',
    })
    await startForgetful(port)
    expect(await call('mcp__web__echo', { message: 'back' })).toMatchObject({ ok: true, value: 'back' })
  })

  it.each([
    ['streamableHttp', '/mcp'],
    ['sse', '/sse'],
  ] as const)('that are killed during a call over %s fail it quickly', async (transport, path) => {
    const port = await freePort()
    const child = await startEverything(transport, port)
    await connect({ url: `http://127.0.0.1:${port}${path}` }).ready()
    const long = call('mcp__web__trigger-long-running-operation', { duration: 60, steps: 2 })
    await call('mcp__web__echo', { message: 'beside it' })
    child.kill('SIGKILL')
    expect(await long).toMatchObject({
      ok: false,
      code: 'execution_failed',
      error: expect.stringContaining('was cut off'),
    })
  })

  it('with endless responses are cut off, and only their call fails', async () => {
    const url = await listen(speak({ echo: (args) => (args.huge ? 'x'.repeat(200_000) : 'short') }))
    await connect({ url, timeout_ms: 3_000 }, { maxMessageBytes: 100_000 }).ready()
    const [huge, short] = await Promise.all([call('mcp__web__echo', { huge: true }), call('mcp__web__echo')])
    expect(huge).toMatchObject({ ok: false, error: expect.stringContaining('longer than 100000 bytes') })
    expect(short).toMatchObject({ ok: true, value: 'short' })
  })

  it('that require authorization use OAuth; tokens are stored readable by their owner only, and reused', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'toolcrib-tokens-'))
    cleanUps.push(() => rm(directory, { recursive: true }))
    const url = await listen(authorized(speak({ echo: () => 'authorized' })))
    const asked: string[] = []
    const store = fileStore({ directory: join(directory, 'tokens') })
    const authorize = async ({ server, url }: { server: string; url: URL }) => {
      asked.push(server)
      const response = await fetch(url, { redirect: 'manual' })
      return new URL(response.headers.get('location') ?? '').searchParams
    }
    const oauth = { store, redirectUrl: 'http://127.0.0.1:9/callback', authorize }

    const first = connect({ url: `${url}/mcp` }, { oauth })
    expect(await first.ready()).toEqual([{ server: 'web', state: 'ready' }])
    expect(await call('mcp__web__echo')).toMatchObject({ ok: true, value: 'authorized' })
    await first.close()
    const kept = await readdir(join(directory, 'tokens'), { recursive: true, withFileTypes: true })
    const files = kept.filter((entry) => entry.isFile())
    expect(files.length).toBeGreaterThan(0)
    for (const { parentPath, name } of files)
      expect((await stat(join(parentPath, name))).mode & 0o777).toBe(0o600)

    expect(await connect({ url: `${url}/mcp` }, { oauth: { store } }).ready()).toMatchObject([
      { state: 'ready' },
    ])
    expect(asked).toEqual(['web'])
  })

  it('that require authorization keep tokens in the store, and refresh them from it', async () => {
    const url = await listen(authorized(speak({ echo: () => 'authorized' })))
    const store = memoryStore()
    const first = connect({ url: `${url}/mcp` }, { store, oauth: { redirectUrl: REDIRECT, authorize } })
    expect(await first.ready()).toEqual([{ server: 'web', state: 'ready' }])
    await first.close()
    const again = { url: `${url}/mcp`, start: 'eager' }
    expect(await connect(again, { store, oauth: {} }).ready()).toEqual([{ server: 'web', state: 'ready' }])
  })

  it('that require authorization connect although the token store fails', async () => {
    const url = await listen(authorized(speak({ echo: () => 'authorized' })))
    const events: McpEvent[] = []
    const fail = () => Promise.reject(new Error('disk full'))
    const store = Object.assign(memoryStore(), { get: fail, set: fail })
    const oauth = { store, redirectUrl: REDIRECT, authorize }
    const servers = connect({ url: `${url}/mcp` }, { oauth, onEvent: (event) => events.push(event) })
    expect(await servers.ready()).toEqual([{ server: 'web', state: 'ready' }])
    expect(events).toContainEqual(
      expect.objectContaining({ warning: expect.stringContaining('tokens could not be stored: disk full') }),
    )
  })

  it.each([
    ['the user refuses', () => ({ error: 'access_denied', state: 'own' }), 'access_denied'],
    [
      'the callback belongs to another flow',
      () => ({ code: 'the-code', state: 'forged' }),
      'the OAuth callback does not match the request',
    ],
    [
      'the callback has no state',
      () => ({ code: 'the-code' }),
      'the OAuth callback does not match the request',
    ],
    ['the code is not accepted', () => ({ code: 'another', state: 'own' }), 'invalid_grant'],
    ['there is no code', () => ({ state: 'own' }), ''],
    [
      'the user does not return',
      () => {
        throw new Error('the window was closed')
      },
      'authorization failed: the window was closed',
    ],
  ])('that require authorization fail when %s, and no token is stored', async (_what, comeBack, reason) => {
    // The SDK writes to the console when a code is rejected.
    const silenced = vi.spyOn(console, 'warn').mockImplementation(() => {})
    cleanUps.push(() => silenced.mockRestore())
    const url = await listen(authorized(speak({ echo: () => 'never' })))
    const kept: StoredValue[] = []
    const store = Object.assign(memoryStore(), {
      get: async () => kept.at(-1),
      set: async (_key: string, authorization: StoredValue) => void kept.push(authorization),
    })
    const refusing = async ({ url: asked }: { url: URL }) => {
      const answer: Record<string, string> = comeBack()
      const own = asked.searchParams.get('state') ?? ''
      return new URLSearchParams({ ...answer, ...(answer.state === 'own' ? { state: own } : {}) })
    }
    const oauth = { store, redirectUrl: REDIRECT, authorize: refusing }
    const [status] = await connect({ url: `${url}/mcp` }, { oauth }).ready()
    expect(status).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining(reason),
      needs: 'sign-in',
    })
    expect(kept.length).toBeGreaterThan(0)
    expect(kept.every((authorization) => !JSON.stringify(authorization).includes('"tokens"'))).toBe(true)
    expect(registry.size).toBe(0)
  })

  it('that reject the token they issued fail without endless retries', async () => {
    let refusals = 0
    const url = await listen(
      authorized((_request, response) => {
        refusals++
        return response.writeHead(401).end()
      }),
    )
    const oauth = { store: memoryStore(), redirectUrl: REDIRECT, authorize }
    const [status] = await connect({ url: `${url}/mcp` }, { oauth }).ready()
    expect(status).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('it rejected the authorization that it has just issued'),
    })
    expect(refusals).toBeLessThan(10)
  })

  it('with an untrusted certificate fail with that reason', async () => {
    let requests = 0
    const server = createSecureServer(await certificate(), () => requests++).listen(0, '127.0.0.1')
    cleanUps.push(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const headers = { Authorization: 'Bearer secret-token' }
    const [status] = await connect({ url: `https://127.0.0.1:${port}/mcp`, headers }).ready()
    expect(status).toMatchObject({
      state: 'failed',
      reason: expect.stringMatching(/^no response from https:\S+ \(\w*SELF_SIGNED\w*\)/),
    })
    expect(requests).toBe(0)
  })

  it.each([
    ['br', brotliCompressSync],
    ['gzip', gzipSync],
  ])('may compress their responses with %s', async (encoding, compress) => {
    const handle = speak({ echo: () => 'small' })
    const url = await listen(async (request, response) => {
      const end = response.end.bind(response)
      response.end = ((body?: string) => {
        if (body === undefined) return end()
        return end(compress(body))
      }) as typeof response.end
      if (request.method === 'POST') response.setHeader('content-encoding', encoding)
      return handle(request, response)
    })
    expect(await connect({ url }).ready()).toMatchObject([{ state: 'ready' }])
    expect(await call('mcp__web__echo')).toMatchObject({ ok: true, value: 'small' })
  })

  it('that send a compression bomb are cut off', async () => {
    const handle = speak({ echo: (args) => (args.huge ? 'x'.repeat(5_000_000) : 'small') })
    const url = await listen(async (request, response) => {
      const end = response.end.bind(response)
      response.end = ((body?: string) =>
        body === undefined ? end() : end(brotliCompressSync(body))) as typeof response.end
      if (request.method === 'POST') response.setHeader('content-encoding', 'br')
      return handle(request, response)
    })
    await connect({ url, timeout_ms: 3_000 }, { maxMessageBytes: 100_000 }).ready()
    expect(await call('mcp__web__echo', { huge: true })).toMatchObject({
      ok: false,
      error: expect.stringContaining('longer than 100000 bytes'),
    })
    expect(await call('mcp__web__echo')).toMatchObject({ ok: true, value: 'small' })
  })

  it('that require authorization fail with that reason when oauth is not configured', async () => {
    const url = await listen(authorized(speak({ echo: () => 'never' })))
    const [status] = await connect({ url: `${url}/mcp` }).ready()
    expect(status).toMatchObject({ state: 'failed', reason: expect.stringContaining('authorization') })
  })

  it('that require authorization and let nobody sign in fail with what to set instead', async () => {
    const url = await listen((_request, response) => response.writeHead(401).end())
    const oauth = { store: memoryStore(), redirectUrl: REDIRECT, authorize }
    expect(await connect({ url }, { oauth }).ready()).toMatchObject([
      {
        state: 'failed',
        reason: expect.stringMatching(/^it requires authorization.*set an Authorization header/),
      },
    ])
  })

  it.each([
    [401, 'it requires authorization'],
    [403, '403'],
    [404, '404'],
    [500, '500'],
    [503, '503'],
  ])('that respond to everything with %i fail with that reason', async (status, reason) => {
    const url = await listen((_request, response) => response.writeHead(status).end('out of order'))
    const statuses = await connect({ url }).ready()
    expect(statuses).toMatchObject([{ state: 'failed', reason: expect.stringContaining(reason) }])
  })

  it('that redirect to another origin are not followed, and no header leaks', async () => {
    const seen: unknown[] = []
    const elsewhere = await listen(({ headers }, response) => {
      seen.push(headers)
      response.writeHead(200).end()
    })
    const url = await listen((_request, response) => response.writeHead(307, { location: elsewhere }).end())
    const statuses = await connect({ url, headers: { 'X-Api-Key': 'secret-key' } }).ready()
    expect(statuses).toMatchObject([{ state: 'failed', reason: expect.stringContaining('not followed') }])
    expect(seen).toEqual([])
  })

  it('that redirect within their own origin are followed', async () => {
    const handle = speak({ echo: () => 'moved' })
    const url = await listen((request, response) =>
      request.url === '/new'
        ? handle(request, response)
        : response.writeHead(308, { location: '/new' }).end(),
    )
    expect(await connect({ url }).ready()).toMatchObject([{ state: 'ready' }])
    expect(await call('mcp__web__echo')).toMatchObject({ ok: true, value: 'moved' })
  })

  it('that respond to a call with 500 fail only that call', async () => {
    const handle = speak({ echo: () => 'well' })
    const url = await listen(
      breaking(handle, ({ params }, response) => {
        if (params?.arguments?.isBroken !== true) return false
        response.writeHead(500).end('out of order')
        return true
      }),
    )
    await connect({ url }).ready()
    const [broken, well] = await Promise.all([
      call('mcp__web__echo', { isBroken: true }),
      call('mcp__web__echo'),
    ])
    expect(broken).toMatchObject({
      ok: false,
      code: 'execution_failed',
      error: expect.stringContaining('500'),
    })
    expect(well).toMatchObject({ ok: true, value: 'well' })
    expect(await call('mcp__web__echo')).toMatchObject({ ok: true, value: 'well' })
  })

  it('that start a stream and stall fail only that call, in time', async () => {
    let isLetGo = false
    const handle = speak({ echo: () => 'well' })
    const url = await listen(
      breaking(handle, ({ params }, response) => {
        if (params?.arguments?.isStalled !== true) return false
        response.once('close', () => {
          isLetGo = true
        })
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(': wait a moment\n\n')
        return true
      }),
    )
    await connect({ url, timeout_ms: 1_000 }).ready()
    const [stalled, well] = await Promise.all([
      call('mcp__web__echo', { isStalled: true }),
      call('mcp__web__echo'),
    ])
    expect(stalled).toMatchObject({ ok: false, code: 'timeout' })
    expect(well).toMatchObject({ ok: true, value: 'well' })
    // Unread streams would pile up.
    await expect.poll(() => isLetGo).toBe(true)
    expect(await call('mcp__web__echo')).toMatchObject({ ok: true, value: 'well' })
  })

  it('that end a stream without a response fail only that call', async () => {
    const handle = speak({ echo: () => 'well' })
    const url = await listen(
      breaking(handle, ({ params }, response) => {
        if (params?.arguments?.isCut !== true) return false
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.end(': that was it\n\n')
        return true
      }),
    )
    await connect({ url }).ready()
    const [cut, well] = await Promise.all([call('mcp__web__echo', { isCut: true }), call('mcp__web__echo')])
    expect(cut).toMatchObject({
      ok: false,
      code: 'execution_failed',
      error: expect.stringContaining('its response was cut off'),
    })
    expect(well).toMatchObject({ ok: true, value: 'well' })
    expect(await call('mcp__web__echo')).toMatchObject({ ok: true, value: 'well' })
  })

  const NESTED = '['.repeat(20_000) + ']'.repeat(20_000)

  describe.each(['application/json', 'text/event-stream'])('that respond with %s', (type) => {
    it.each([
      ['plain text', () => 'hello'],
      ['half a message', (id: number) => `{"jsonrpc":"2.0","id":${id},"result":{"content":[`],
      ['a malformed error', (id: number) => `{"jsonrpc":"2.0","id":${id},"error":"boom"}`],
      ['no result', (id: number) => `{"jsonrpc":"2.0","id":${id}}`],
      ['an id of another type', (id: number) => `{"jsonrpc":"2.0","id":"${id}","result":{"content":[]}}`],
      [
        'a __proto__ key',
        (id: number) =>
          `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"__proto__":{"isAdmin":true}}}}`,
      ],
      [
        'twenty thousand levels',
        (id: number) =>
          `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"deep":${NESTED}}}}`,
      ],
    ])('and %s fail only that call', async (_what, write) => {
      const handle = speak({ echo: () => 'well' })
      const url = await listen(
        breaking(handle, ({ id = 0, params }, response) => {
          if (params?.arguments?.isOdd !== true) return false
          const text = write(id)
          response.writeHead(200, { 'content-type': type })
          response.end(type === 'application/json' ? text : `event: message\ndata: ${text}\n\n`)
          return true
        }),
      )
      await connect({ url, timeout_ms: 2_000 }).ready()
      const [odd, well] = await Promise.all([call('mcp__web__echo', { isOdd: true }), call('mcp__web__echo')])
      expect(odd).toMatchObject({ ok: false, code: 'execution_failed' })
      expect(well).toMatchObject({ ok: true, value: 'well' })
      expect(await call('mcp__web__echo')).toMatchObject({ ok: true, value: 'well' })
      expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
    })
  })

  it('that lose every session are reconnected once per call, not endlessly', async () => {
    let greetings = 0
    const handle = speak({ echo: () => 'never' }, { session: 'short' })
    const url = await listen(
      breaking(handle, ({ method }, response) => {
        if (method === 'initialize') greetings++
        if (method !== 'tools/call') return false
        response.writeHead(404).end()
        return true
      }),
    )
    await connect({ url }).ready()
    expect(await call('mcp__web__echo')).toMatchObject({ ok: false, code: 'execution_failed' })
    expect(greetings).toBe(2)
  })

  it('that ignore the modern greeting are greeted in the old way, and at once the next time', async () => {
    const asked: string[] = []
    const handle = speak({ echo: () => 'well' }, { session: 'first' })
    const url = await listen(
      breaking(handle, ({ method = '' }, response) => {
        asked.push(method)
        // Kept open, never answered.
        return method === 'server/discover' && response.writable
      }),
    )
    const store = memoryStore()
    const first = connect({ url, connect_timeout_ms: 8_000 }, { store })
    expect(await first.ready()).toEqual([{ server: 'web', state: 'ready' }])
    expect(first.info('web')?.era).toBe('legacy')
    expect(await call('mcp__web__echo')).toMatchObject({ ok: true, value: 'well' })
    await first.close()
    asked.length = 0
    await connect({ url, connect_timeout_ms: 8_000 }, { store }).ready()
    expect(await call('mcp__web__echo')).toMatchObject({ ok: true, value: 'well' })
    expect(asked).toContain('initialize')
    expect(asked).not.toContain('server/discover')
  })

  it('that were upgraded since they were greeted in the old way are greeted in the modern one', async () => {
    let isUpgraded = false
    const handle = speak({ echo: () => 'well' })
    const url = await listen(
      breaking(handle, ({ method, id }, response) => {
        if (!isUpgraded || (method !== 'initialize' && method !== 'server/discover')) return false
        const outcome =
          method === 'initialize'
            ? { error: { code: -32_601, message: 'Method not found' } }
            : { result: { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ...MODERN_RESULT } }
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }))
        return true
      }),
    )
    const store = memoryStore()
    const first = connect({ url }, { store })
    await first.ready()
    expect(first.info('web')?.era).toBe('legacy')
    await first.close()
    isUpgraded = true
    const second = connect({ url, start: 'eager' }, { store })
    expect(await second.ready()).toEqual([{ server: 'web', state: 'ready' }])
    // Until its list has been read again, it is known as it was.
    await vi.waitFor(() => expect(second.info('web')?.era).toBe('modern'))
  })

  /** A server that knows only the sessions it issued itself. */
  async function startForgetful(port: number): Promise<void> {
    const server = createServer(speak({ echo: ({ message }) => String(message) }, { session: 'second' }))
    server.listen(port, '127.0.0.1')
    cleanUps.push(() => {
      server.closeAllConnections()
      server.close()
    })
    await once(server, 'listening')
  }
})

const REDIRECT = 'http://127.0.0.1:9/callback'

/** A user who consents immediately. */
async function authorize({ url }: { url: URL }): Promise<URLSearchParams> {
  const response = await fetch(url, { redirect: 'manual' })
  return new URL(response.headers.get('location') ?? '').searchParams
}

/** What every result of the modern revision has besides its own fields. */
const MODERN_RESULT = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }

interface Asked {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly arguments?: Record<string, unknown> }
}

/** Lets `misbehave` handle a request before the server does; it returns whether it did. */
function breaking(
  handle: (request: IncomingMessage, response: ServerResponse, body?: string) => unknown,
  misbehave: (asked: Asked, response: ServerResponse) => boolean,
) {
  return async (request: IncomingMessage, response: ServerResponse) => {
    const body = await bodyOf(request)
    const asked = body === '' ? {} : JSON.parse(body)
    return misbehave(asked, response) ? undefined : handle(request, response, body)
  }
}

async function freePort(): Promise<number> {
  const server = createSocketServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
