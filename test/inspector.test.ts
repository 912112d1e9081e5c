import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { defineTool, estimateTokens, exactTokenCounter, hybrid, ToolRegistry } from 'toolcrib'
import { staticEmbedder } from 'toolcrib/embedders'
import { createGateway, type GatewayOptions } from 'toolcrib/gateway'
import { createInspector, type InspectorOptions } from 'toolcrib/inspector'
import { connectServers, findConfig, lockServers, openFromConfig, writeLockfile } from 'toolcrib/mcp'
import { memoryStore } from 'toolcrib/stores'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connectClient } from './gateway.fixture.ts'
import { buildPage } from './inspector-page.fixture.ts'

const TOKEN = 'a-token-for-the-page-1234'
const ORIGIN = 'http://localhost'
const BEARER = { authorization: `Bearer ${TOKEN}` }
const FROM_PAGE = { ...BEARER, 'x-toolcrib-page': '1' }

const OF_CLIENT = 'a-token-of-some-client'

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  inputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
  execute: async () => ({ ok: true, value: '3' }),
})

function open(more: Partial<InspectorOptions> = {}, gatewayOptions: Partial<GatewayOptions> = {}) {
  const registry = more.registry ?? new ToolRegistry({ mode: 'lazy', defer: 'all' })
  if (!registry.has('add')) registry.register(add)
  const servers = connectServers(registry, { mcpServers: {} })
  const gateway = createGateway({
    registry,
    servers,
    tokens: [{ token: TOKEN, operator: true }],
    ...gatewayOptions,
  })
  const inspector = createInspector({ registry, servers, access: gateway.access, ...more })
  const close = async () => {
    await inspector.close()
    await gateway.close()
    await servers.close()
  }
  onTestFinished(close)
  const get = (path: string, headers: Record<string, string> = BEARER) =>
    inspector.fetch(new Request(`${ORIGIN}${path}`, { headers }))
  const post = (path: string, body: unknown, headers: Record<string, string> = FROM_PAGE) =>
    inspector.fetch(new Request(`${ORIGIN}${path}`, { method: 'POST', headers, body: JSON.stringify(body) }))
  return { registry, inspector, get, post, close }
}

const CLIENT = {
  id: '1',
  name: 'an editor',
  version: '7',
  token: 'default',
  profile: undefined,
  era: 'modern',
  transport: 'http',
  since: 0,
  lastSeenAt: 0,
  requests: 1,
  calls: 0,
  failedCalls: 0,
}

/** How gateways name the sessions of their clients. */
const aliasOf = (id: string) => createHash('sha256').update(id).digest('hex').slice(0, 8)

/** Short delays do not wait; long ones never end. */
const atOnce: InspectorOptions['schedule'] = (delayMs, fire) => {
  if (delayMs > 1_000) return () => {}
  // Not in a microtask: what schedules itself again would let nothing else run.
  const immediate = setImmediate(fire)
  return () => clearImmediate(immediate)
}

/** A conversation of one search that finds, one that does not, and one call. */
async function converse(registry: ToolRegistry): Promise<void> {
  const session = await registry.openSession({ id: 'a-secret-session-id', strategy: 'dispatch' })
  session.surface()
  await session.execute([{ toolCallId: '1', name: 'tool_search', args: { query: 'add numbers' } }])
  await session.execute([{ toolCallId: '2', name: 'add', args: { a: 1 } }])
  await session.execute([{ toolCallId: '3', name: 'tool_search', args: { query: 'qwxzy' } }])
}

describe('the API of the page', () => {
  it('needs the token, the host and the origin of the gateway', async () => {
    const { get } = open()
    const statuses = await Promise.all(
      [
        {},
        { authorization: 'Bearer another-token-of-mine' },
        { ...BEARER, host: 'evil.example' },
        { ...BEARER, origin: 'https://evil.example' },
        BEARER,
        { ...BEARER, origin: ORIGIN, host: 'localhost' },
      ].map(async (headers) => (await get('/api/overview', headers)).status),
    )
    expect(statuses).toEqual([401, 401, 403, 403, 200, 200])
  })

  it.each([{}, { profile: 'reader' }])('refuses the token of a client: %j', async (bound) => {
    const { get } = open({}, { tokens: [{ token: TOKEN, ...bound }], profiles: { reader: {} } })
    expect((await get('/api/tools')).status).toBe(403)
  })

  it('changes nothing without the header that only the page sends', async () => {
    const { post, get } = open()
    const body = { name: 'add', args: { a: 1 } }
    expect((await post('/api/call', body, BEARER)).status).toBe(403)
    expect((await get('/api/call')).status).toBe(405)
    expect((await post('/api/call', body)).status).toBe(200)
  })

  it.each([
    ['/api/none', 404, 'there is no /api/none'],
    ['/api/constructor', 404, 'there is no /api/constructor'],
    ['/api/tool', 400, 'name must be a text'],
    ['/api/tool?name=x', 400, 'there is no tool "x"'],
    ['/api/session?id=x', 400, 'no longer remembered'],
  ])('answers %s with %i and what to do', async (path, status, error) => {
    const response = await open().get(path)
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: expect.stringContaining(error) })
  })

  it('reads bodies up to a megabyte, and only JSON objects', async () => {
    const { post, inspector } = open()
    expect((await post('/api/call', { name: 'x'.repeat(2 ** 20) })).status).toBe(400)
    const request = new Request(`${ORIGIN}/api/call`, { method: 'POST', headers: FROM_PAGE, body: '[1' })
    expect((await inspector.fetch(request)).status).toBe(400)
  })

  it('calls a tool through every gate, and sends progress and the result line by line', async () => {
    const { post, registry } = open()
    const lines = async (body: object) =>
      (await (await post('/api/call', body)).text())
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    registry.register(
      defineTool({
        name: 'slow',
        description: 'Reports progress.',
        inputSchema: {},
        execute: async (_input, { onProgress }) => {
          onProgress?.({ progress: 1, total: 2, message: 'half' })
          return { ok: true, value: 'done' }
        },
      }),
    )
    expect(await lines({ name: 'slow', args: {} })).toMatchObject([
      { kind: 'progress', progress: 1, total: 2, message: 'half' },
      { kind: 'result', result: { result: { ok: true, value: 'done' } } },
    ])
    expect(await lines({ name: 'add', args: {} })).toMatchObject([
      { result: { result: { code: 'input_invalid' } } },
    ])
    registry.quarantine('add', 'it changed')
    expect(await lines({ name: 'add', args: { a: 1 } })).toMatchObject([
      { result: { result: { ok: false } } },
    ])
  })

  it('approves nothing and writes nothing without a config, and takes neither commands nor variables', async () => {
    const { post } = open()
    const error = async (path: string, body: object) => (await (await post(path, body)).json()).error
    expect(await error('/api/approve', { patterns: ['*'] })).toContain('without a config file')
    const edit = { kind: 'pin', server: 's', tool: 't' }
    expect(await error('/api/change-config', edit)).toContain('without a config file')
    expect(await error('/api/change-config', { ...edit, kind: 'command' })).toContain('must be one of')
    for (const leak of [
      { kind: 'add', server: 'x', url: `http://evil.example/\${AWS_SECRET_ACCESS_KEY}` },
      { kind: 'add', server: 'x', url: 'http://evil.example', header: `x: \${HOME}` },
      { kind: 'hint', server: 'x', tool: 'y', hint: `a \${HOME}` },
      { kind: 'pin', server: 'x', tool: `\${HOME}` },
      { kind: 'disable', server: `\${HOME}` },
    ])
      expect(await error('/api/change-config', leak)).toContain('a value with "${" cannot be set here')
  })
})

/** The page of a gateway with a config file, which is empty. */
async function openConfigured() {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-inspector-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'team.toml')
  writeFileSync(path, '')
  const find = { path, cwd: folder, env: {} }
  const opened = await openFromConfig({ ...find, store: false })
  onTestFinished(() => opened.close())
  const page = open({ registry: opened.registry, servers: opened.servers, config: { opened, find } })
  return { ...page, folder, path, find, opened }
}

describe('what a person has not seen', () => {
  it('is neither approved nor written to the config', async () => {
    const { post, path } = await openConfigured()
    const error = async (path: string, body: object) => (await (await post(path, body)).json()).error
    for (const pattern of ['*', 'weather', 'weather@', 'weather@0123'])
      expect(await error('/api/approve', { patterns: [pattern] })).toContain('approved by its digest')
    const edit = { kind: 'add', server: 'wiki', url: 'https://wiki.example.com/mcp', confirmed: true }
    for (const digest of ['', '0123456789abcdef'])
      expect(await error('/api/change-config', { ...edit, digest })).toContain('changed meanwhile')
    expect(readFileSync(path, 'utf8')).toBe('')
  })
})

describe('a server with an address', () => {
  it('is added with a header, and changed field by field, with the secrets masked that it had', async () => {
    const { post, path } = await openConfigured()
    const change = async (edit: object) => {
      const draft = await (await post('/api/change-config', edit)).json()
      if (draft.error) return draft.error
      await post('/api/change-config', { ...edit, confirmed: true, digest: draft.digest })
      return JSON.stringify(draft.diff)
    }
    const wiki = { server: 'wiki', url: 'http://127.0.0.1:9/mcp' }
    await change({ ...wiki, kind: 'add', header: 'Authorization: Bearer a-long-secret-1234' })
    expect(await change({ ...wiki, kind: 'change', url: 'http://127.0.0.1:9/v2' })).not.toContain(
      'a-long-secret',
    )
    const text = readFileSync(path, 'utf8')
    expect(text).toContain('http://127.0.0.1:9/v2')
    expect(text).toContain('Bearer a-long-secret-1234')
    await change({ kind: 'change', server: 'wiki', header: 'X-Team: blue' })
    expect(readFileSync(path, 'utf8')).toMatch(/9\/v2[\s\S]*secret-1234[\s\S]*blue/)
    expect(await change({ kind: 'change', server: 'wiki', header: 'no value' })).toContain(
      'a header has a name',
    )
    expect(await change({ kind: 'change', server: 'other', url: wiki.url })).toContain('has no address')
  })
})

describe('approving without a lockfile', () => {
  it('names the command that writes the one of this config', async () => {
    const { post, folder, path, find, opened } = await openConfigured()
    const answer = await post('/api/approve', { patterns: ['a@0123456789abcdef'] })
    expect(await answer.json()).toMatchObject({
      error: `there is no lockfile; write one with: toolcrib lock --config ${path}`,
    })
    const elsewhere = { ...find, lockfilePath: 'locks/team.lock' }
    const other = open({
      registry: opened.registry,
      servers: opened.servers,
      config: { opened, find: elsewhere },
    })
    const { lockCommand } = await (await other.get('/api/safety')).json()
    expect(lockCommand).toBe(`toolcrib lock --lockfile ${join(folder, 'locks/team.lock')} --config ${path}`)
  })
})

describe('what waits for a person', () => {
  it('is listed: servers that fail one by one, then together; then those that are not approved', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolcrib-inspector-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'team.toml')
    const failing = ['a', 'b', 'c', 'd', 'e']
    const unapproved = ['keyless', 'new']
    // The reason why it fails is about locks, and no approval mends it.
    const text = (name: string) =>
      `[server.${name}]\ncommand = "no-such-program"\n${name === 'keyless' ? `env = { KEY = "\${LOCK_KEY}" }\n` : ''}`
    writeFileSync(path, failing.map(text).join(''))
    const find = { path, cwd: folder, env: {} }
    const { config } = await findConfig(find)
    const observed = Object.entries(config.servers).map(
      ([name, server]) => [name, { config: server, tools: [] }] as const,
    )
    await writeLockfile(join(folder, 'toolcrib.lock'), lockServers(new Map(observed)))
    writeFileSync(path, [...failing, ...unapproved].map(text).join(''))
    const opened = await openFromConfig({ ...find, store: false })
    onTestFinished(() => opened.close())
    await opened.servers.ready()
    const { get } = open({ registry: opened.registry, servers: opened.servers, config: { opened, find } })
    const { decisions } = await (await get('/api/overview')).json()
    const missing = expect.stringMatching(/^command "no-such-program" not found/)
    const fails = (server: string, step: unknown) => ({
      kind: 'server',
      title: `${server} does not run`,
      step,
      to: `#/servers/${server}`,
    })
    expect(decisions).toEqual([
      fails('a', missing),
      fails('b', missing),
      fails('c', missing),
      { kind: 'server', title: '3 more servers do not run', step: 'Look at d, e, keyless.', to: '#/servers' },
      {
        kind: 'quarantine',
        title: '2 servers are not approved',
        step: 'Look at what they would run: keyless, new.',
        to: '#/safety',
      },
    ])
    const { servers } = await (await get('/api/servers')).json()
    const needs = servers.map((each: { server: string; needs?: string }) => [each.server, each.needs])
    expect(Object.fromEntries(needs)).toMatchObject({ a: undefined, keyless: 'config', new: 'approval' })
  })

  it('is approved in a terminal: a program by its name, an address by its digest, since it may want a sign-in', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolcrib-inspector-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'team.toml')
    writeFileSync(
      path,
      '[server.near]\ncommand = "no-such-program"\n[server.far]\nurl = "http://127.0.0.1:9/mcp"\n',
    )
    await writeLockfile(join(folder, 'toolcrib.lock'), lockServers(new Map()))
    const find = { path, cwd: folder, env: {} }
    const opened = await openFromConfig({ ...find, store: false })
    onTestFinished(() => opened.close())
    await opened.servers.ready()
    const { get } = open({ registry: opened.registry, servers: opened.servers, config: { opened, find } })
    const { changes } = await (await get('/api/safety')).json()
    const commands = changes.map((each: { server: string; command: string }) => [each.server, each.command])
    expect(Object.fromEntries(commands)).toEqual({
      near: expect.stringMatching(/ approve near /),
      far: expect.stringMatching(/ approve far@[0-9a-f]{16} /),
    })
  })
})

/** More than the search takes itself: with a few tools, nothing is saved. */
const VALVES = Array.from({ length: 40 }, (_, index) =>
  defineTool({ ...add, name: `valve_${index}`, description: `Opens or closes valve ${index}.` }),
)

describe('what the page counts', () => {
  it('takes off what a model reads instead: the search tool, and what came in its answers', async () => {
    const { registry, get } = open()
    for (const valve of VALVES) registry.register(valve)
    const rows: { tokens: number }[] = await (await get('/api/tools')).json()
    const everything = rows.reduce((sum, { tokens }) => sum + tokens, 0)
    const session = await registry.openSession({ id: 'one', strategy: 'dispatch' })
    session.surface()
    const { shown, saved } = (await (await get('/api/overview')).json()).today
    expect(saved).toBe(everything - shown)
    await session.execute([{ toolCallId: '1', name: 'tool_search', args: { query: 'add numbers' } }])
    await session.execute([{ toolCallId: '2', name: 'add', args: { a: 1 } }])
    const { today } = await (await get('/api/overview')).json()
    expect(today.turns).toBe(2)
    expect(today.saved).toBeLessThan(2 * saved)
    expect(today.saved + today.shown).toBe(2 * everything)
  })

  it('saves nothing where the search takes more than the tools', async () => {
    const { registry, get } = open()
    const session = await registry.openSession({ id: 'one', strategy: 'dispatch' })
    session.surface()
    expect((await (await get('/api/overview')).json()).today).toMatchObject({ turns: 1, saved: 0 })
  })

  it.each(['lazy', 'full'] as const)('is, for one turn, what a client is listed (%s)', async (mode) => {
    const registry = new ToolRegistry({ defer: 'all' })
    for (const valve of VALVES) registry.register(valve)
    const servers = connectServers(registry, {})
    const gateway = createGateway({
      registry,
      servers,
      tokens: [{ token: TOKEN, operator: true }, { token: OF_CLIENT }],
      mode,
    })
    onTestFinished(async () => {
      await gateway.close()
      await servers.close()
    })
    const { get } = open({ registry, servers, gateway, access: gateway.access })
    const client = await connectClient(gateway, { token: OF_CLIENT })
    const listed = (await client.listTools()).tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      parameters: inputSchema,
    }))
    const countTokens = await exactTokenCounter()
    const tokens = listed.reduce((sum, tool) => sum + countTokens(JSON.stringify(tool)), 0)
    const { turn } = await (await get('/api/overview')).json()
    expect(turn.lazy).toBe(tokens)
    expect(turn.lazy / turn.full < 0.5).toBe(mode === 'lazy')
    // And the turn of its session shows just that.
    await client.callTool({ name: 'valve_1', arguments: {} })
    const [{ id }] = await (await get('/api/sessions')).json()
    const { steps } = await (await get(`/api/session?id=${id}`)).json()
    expect(steps).toContainEqual(
      expect.objectContaining({ kind: 'surface', tokens, isExact: true, text: `${listed.length} tools` }),
    )
  })

  it('is exact in a session for what is known of its tools, and an estimate for the rest', async () => {
    const { registry, get } = open()
    for (const valve of VALVES) registry.register(valve)
    const rows: { name: string; tokens: number }[] = await (await get('/api/tools')).json()
    const exact = rows.find(({ name }) => name === 'valve_1')?.tokens ?? 0
    const session = await registry.openSession({ id: 'one', strategy: 'append' })
    session.surface()
    await session.activate(['valve_1', 'valve_2'])
    registry.unregister('valve_2')
    await session.activate(['valve_1'])
    await session.deactivate(['valve_1'])
    const [{ id }] = await (await get('/api/sessions')).json()
    const { steps } = await (await get(`/api/session?id=${id}`)).json()
    const weights = steps.map(({ kind, tokens, isExact = false }: Record<string, unknown>) => [
      kind,
      tokens,
      isExact,
    ])
    expect(weights).toEqual([
      ['opened', undefined, false],
      ['surface', expect.any(Number), false],
      ['activated', expect.any(Number), false],
      ['returned', exact, true],
    ])
  })

  it('is looked at without a trace: an open overview makes no events that make it ask again', async () => {
    const { get } = open()
    await get('/api/overview')
    await get('/api/overview')
    const reader = (await get('/api/events')).body?.pipeThrough(new TextDecoderStream()).getReader()
    const { value = '' } = (await reader?.read()) ?? {}
    const { events } = JSON.parse(value.replace('data: ', ''))
    expect(events.map(({ type }: { type: string }) => type)).toEqual([])
  })

  it('is what sessions did, not what the page itself tried', async () => {
    const { registry, get, post } = open()
    for (const valve of VALVES) registry.register(valve)
    await get('/api/tools')
    await converse(registry)
    await post('/api/search-as-model', { query: 'add numbers' })
    await (await post('/api/call', { name: 'add', args: { a: 1 } })).text()
    const { today, decisions } = await (await get('/api/overview')).json()
    expect(today).toMatchObject({ turns: 3, searches: 2, misses: 1, calls: 3, errors: 0 })
    expect(today.saved).toBeGreaterThan(0)
    expect(decisions).toMatchObject([{ kind: 'miss', title: 'A search found nothing' }])
    const [listed] = await (await get('/api/tools')).json()
    expect(listed).toMatchObject({ name: 'add', found: 1, called: 1, failed: 0 })
    const reader = (await get('/api/events')).body?.pipeThrough(new TextDecoderStream()).getReader()
    const { value = '' } = (await reader?.read()) ?? {}
    const events: { session?: string }[] = JSON.parse(value.replace('data: ', '')).events
    const [{ id }] = await (await get('/api/sessions')).json()
    expect(new Set(events.map(({ session }) => session))).toEqual(new Set([undefined, id, 'page']))
  })

  it('are exact tokens, as on the command line; an estimate for a text that takes long to count', async () => {
    const { registry, get } = open()
    const description = 'a'.repeat(60_000)
    registry.register(defineTool({ ...add, name: 'endless', description }))
    const countTokens = await exactTokenCounter()
    const rows: { name: string; tokens: number }[] = await (await get('/api/tools')).json()
    const tokensOf = (name: string) => rows.find((row) => row.name === name)?.tokens
    const textOf = (name: string) => {
      const { description, parameters } = registry.listSchemas().find((each) => each.name === name) ?? {}
      return JSON.stringify({ name, description, parameters })
    }
    expect(countTokens(textOf('add'))).not.toBe(estimateTokens(textOf('add')))
    expect(tokensOf('add')).toBe(countTokens(textOf('add')))
    expect(tokensOf('endless')).toBe(estimateTokens(textOf('endless')))
  })

  it('names sessions by a digest: their ids open something', async () => {
    const { registry, get } = open()
    await converse(registry)
    const [session] = await (await get('/api/sessions')).json()
    const { steps } = await (await get(`/api/session?id=${session.id}`)).json()
    expect(steps.map(({ kind }: { kind: string }) => kind)).toEqual([
      'opened',
      'surface',
      'search',
      'activated',
      'call',
      'call',
      'search',
      'miss',
      'call',
    ])
    const events = await get('/api/events')
    const { value } = (await events.body?.getReader().read()) ?? {}
    const everything = `${JSON.stringify([session, steps])}${new TextDecoder().decode(value)}`
    expect(everything).toContain('"type":"searched"')
    expect(everything).not.toContain('a-secret-session-id')
  })

  it('is of the day where the gateway runs', async () => {
    const { TZ } = process.env
    onTestFinished(() => {
      if (TZ === undefined) delete process.env.TZ
      else process.env.TZ = TZ
    })
    process.env.TZ = 'America/Los_Angeles'
    const day = 24 * 60 * 60 * 1_000
    // Five in the afternoon there; in Greenwich the next day has begun.
    const evening = Date.parse('2026-11-17T01:00:00Z')
    let now = evening - 2 * 60 * 60 * 1_000
    const registry = new ToolRegistry({ mode: 'lazy', defer: 'all', clock: () => now })
    const { get } = open({ registry, now: () => now })
    await converse(registry)
    now = evening
    const { today, days } = await (await get('/api/overview')).json()
    expect(today.calls).toBe(3)
    expect(days.at(-1)).toMatchObject({ day: '2026-11-16', calls: 3 })
    now += day
    expect((await (await get('/api/overview')).json()).today.calls).toBe(0)
  })

  it('adds up in the store over restarts', async () => {
    const store = memoryStore()
    for (const calls of [3, 6]) {
      const { registry, get, close } = open({ store })
      await converse(registry)
      expect((await (await get('/api/overview')).json()).total.calls).toBe(calls)
      await close()
    }
  })

  it('is of one config: another on the same store has its own', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolcrib-inspector-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const store = memoryStore()
    const openAt = async (name: string) => {
      const path = join(folder, name)
      writeFileSync(path, '')
      const find = { path, cwd: folder, env: {} }
      const opened = await openFromConfig({ ...find, store: false })
      onTestFinished(() => opened.close())
      return open({ store, config: { opened, find } })
    }
    const team = await openAt('team.toml')
    await converse(team.registry)
    await team.close()

    const own = await openAt('own.toml')
    const { total, clients } = await (await own.get('/api/overview')).json()
    expect([total.calls, clients]).toEqual([0, []])
    expect(await (await own.get('/api/misses')).json()).toEqual([])
    const again = await openAt('team.toml')
    expect((await (await again.get('/api/overview')).json()).total.calls).toBe(3)
    expect(await (await again.get('/api/misses')).json()).toMatchObject([{ text: 'qwxzy' }])
  })

  it('adds up what each client saved in all its sessions, also after it has gone and over restarts', async () => {
    const store = memoryStore()
    for (const round of [1, 2]) {
      const session = `session-${round}`
      const clients = () => [{ ...CLIENT, session: aliasOf(session) }]
      const connected = open({ store, gateway: { clients } })
      for (const valve of VALVES) connected.registry.register(valve)
      const own = await connected.registry.openSession({ id: session, strategy: 'dispatch' })
      own.surface()
      await connected.close()
    }
    const { get } = open({ store, gateway: { clients: () => [] } })
    const { clients } = await (await get('/api/overview')).json()
    expect(clients).toMatchObject([{ id: 'an editor', isNamed: true, sessions: 2, turns: 2, latest: null }])
    expect(clients[0].saved).toBeGreaterThan(0)
  })

  it('saves nothing for scripts, for the tour and for our own commands, whose calls it counts', async () => {
    const named = new Map([
      ['gateway:editor', 'an editor'],
      ['gateway:doctor', 'toolcrib-doctor'],
    ])
    const clients = () => [...named].map(([id, name]) => ({ ...CLIENT, name, session: aliasOf(id) }))
    const { registry, get } = open({ gateway: { clients } })
    for (const valve of VALVES) registry.register(valve)
    for (const id of [...named.keys(), 'gateway:script', 'demo:1']) {
      const session = await registry.openSession({ id, strategy: 'dispatch' })
      session.surface()
      await session.execute([{ toolCallId: '1', name: 'tool_search', args: { query: 'add numbers' } }])
    }
    const { today, clients: rows } = await (await get('/api/overview')).json()
    const [first, ...others] = rows
    expect(first).toMatchObject({ id: 'an editor', turns: 1, calls: 1 })
    expect(first.saved).toBeGreaterThan(0)
    expect(others).toHaveLength(3)
    for (const other of others) expect(other).toMatchObject({ turns: 0, shown: 0, saved: 0, calls: 1 })
    expect(today).toMatchObject({ turns: 1, saved: first.saved, searches: 4 })
    const sessions: { client: string; isCounted: boolean }[] = await (await get('/api/sessions')).json()
    const counted = sessions.filter(({ isCounted }) => isCounted).map(({ client }) => client)
    expect(counted).toEqual(['an editor'])
  })

  it('saves a client what the servers of its profile would cost, and not those of others', async () => {
    const { opened, find, path } = await openConfigured()
    writeFileSync(
      path,
      '[server.small]\ncommand = "x"\ndisabled = true\n[profile.small]\nservers = ["small"]\n',
    )
    const registry = new ToolRegistry({ mode: 'lazy', defer: 'all' })
    const connected = { ...CLIENT, name: 'an editor', session: aliasOf('gateway:editor'), profile: 'small' }
    const config = { opened: { ...opened, config: (await findConfig(find)).config }, find }
    const { get } = open({ registry, config, gateway: { clients: () => [connected] } })
    registry.syncMcp('small', VALVES.slice(0, 3))
    registry.syncMcp(
      'large',
      VALVES.slice(3).map((valve) => ({ ...valve, description: 'Turns something. '.repeat(500) })),
    )
    const policy = { filter: { allowedMcpServers: ['small'] } }
    const session = await registry.openSession({ id: 'gateway:editor', strategy: 'dispatch', policy })
    session.surface()
    await session.execute([{ toolCallId: '1', name: 'tool_search', args: { query: 'turn a valve' } }])
    const { clients } = await (await get('/api/overview')).json()
    // The search tool costs more than three small tools.
    expect(clients).toMatchObject([{ id: 'an editor', turns: 1, saved: 0 }])
  })

  it('tells sessions of one client apart by what they are about', async () => {
    const { registry, get } = open()
    const session = await registry.openSession({ id: 'one', strategy: 'dispatch' })
    await session.execute([{ toolCallId: '1', name: 'add', args: { a: 1 } }])
    expect(await (await get('/api/sessions')).json()).toMatchObject([{ topic: 'add', profile: null }])
    for (const query of ['add numbers', 'qwxzy'])
      await session.execute([{ toolCallId: query, name: 'tool_search', args: { query } }])
    expect(await (await get('/api/sessions')).json()).toMatchObject([{ topic: 'add numbers' }])
  })

  it('says of a search what models are told: that no tool fits well', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', searcher: hybrid({ embedder: staticEmbedder() }) })
    const { get } = open({ registry })
    const adviceOn = async (query: string) =>
      (await (await get(`/api/search?query=${encodeURIComponent(query)}`)).json()).sides[0].advice
    expect(await adviceOn('number of banana split')).toMatch(/^No tool fits/)
    expect(await adviceOn('add two numbers')).toBeNull()
  })

  it('follows events as they happen, in batches', async () => {
    const { registry, get } = open({ schedule: atOnce })
    const reader = (await get('/api/events')).body?.pipeThrough(new TextDecoderStream()).getReader()
    await reader?.read()
    registry.quarantine('add', 'it changed')
    const { value = '' } = (await reader?.read()) ?? {}
    expect(JSON.parse(value.replace('data: ', ''))).toMatchObject({
      dropped: 0,
      events: [{ type: 'tool-quarantined', details: { name: 'add', reason: 'it changed' } }],
    })
  })

  it('tells clients that are connected from those that may have left', async () => {
    const seen = (id: string, lastSeenAt: number, isOpen?: boolean) => ({
      ...CLIENT,
      id,
      session: id,
      lastSeenAt,
      isOpen,
    })
    const all = [seen('listens', 0, true), seen('asked lately', 950_000, false), seen('left', 900_000, false)]
    const { get } = open({ gateway: { clients: () => all }, now: () => 1_000_000 })
    const { connected, earlier } = await (await get('/api/clients')).json()
    expect(connected).toMatchObject([{ id: 'listens' }, { id: 'asked lately' }])
    expect(earlier).toMatchObject([{ id: 'left' }])
  })

  it('says which scores are probabilities', async () => {
    const searcher = hybrid({ embedder: staticEmbedder() })
    const { get } = open({ registry: new ToolRegistry({ mode: 'lazy', defer: 'all', searcher }) })
    const { sides } = await (await get('/api/search?query=add%20numbers')).json()
    expect(sides).toMatchObject([
      { searcher: 'hybrid', isProbable: true },
      { searcher: 'lexical', isProbable: false },
    ])
    expect(sides[0].matches[0].score).toBeLessThanOrEqual(1)
  })

  it('shows a search of the page once, though it compares two searchers', async () => {
    const { get } = open({ registry: new ToolRegistry({ mode: 'lazy', defer: 'all', searcher: 'weighted' }) })
    const { sides } = await (await get('/api/search?query=qwxzy')).json()
    expect(sides).toMatchObject([{ searcher: 'weighted' }, { searcher: 'lexical' }])
    const reader = (await get('/api/events')).body?.pipeThrough(new TextDecoderStream()).getReader()
    const { value = '' } = (await reader?.read()) ?? {}
    const events: { type: string; details: object }[] = JSON.parse(value.replace('data: ', '')).events
    expect(events.filter(({ type }) => type === 'searched' || type === 'missed')).toMatchObject([
      { type: 'searched', details: { query: 'qwxzy', searcher: 'weighted' } },
      { type: 'missed', details: { text: 'qwxzy' } },
    ])
  })

  it('ends its streams when it closes', async () => {
    const { get, inspector } = open()
    const response = await get('/api/events')
    await inspector.close()
    expect(await response.text()).toContain('data: ')
  })
})

describe('the files of the page', () => {
  it('need no token, run no inline script, and are smaller than 55 kB', async () => {
    const assets = mkdtempSync(join(tmpdir(), 'toolcrib-built-'))
    onTestFinished(() => rmSync(assets, { recursive: true }))
    await buildPage(assets)
    const { get } = open({ assets })
    const response = await get('/', {})
    expect(response.headers.get('content-security-policy')).toMatch(/script-src 'self'; style-src 'self'/)
    const html = await response.text()
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|https?:\/\//)
    for (const [, path] of html.matchAll(/(?:src|href)="\.([^"]+)"/g)) {
      expect(path).toMatch(/-[\w-]{8}\.(?:js|css|svg)$/)
      expect((await get(path ?? '', {})).headers.get('cache-control')).toContain('immutable')
    }
    const files = readdirSync(assets, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    )
    const bytes = files.map((entry) => gzipSync(readFileSync(join(entry.parentPath, entry.name))).length)
    expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(55_000)
    expect((await get('/', { host: 'evil.example' })).status).toBe(403)
    for (const path of ['/../package.json', '/%2e%2e/package.json', '/assets/../../index.js', '/nothing'])
      expect((await get(path, {})).status).toBe(404)
  })

  it('are asked for by name: a page that is not built says how to build it', async () => {
    const { get } = open({ assets: '/nowhere' })
    const response = await get('/', {})
    expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('npm run build')])
  })

  it('are served with options that exist', () => {
    const { registry } = open()
    const servers = connectServers(registry, {})
    onTestFinished(() => servers.close())
    const wrong = { registry, servers, token: 'x' } as unknown as InspectorOptions
    expect(() => createInspector(wrong)).toThrow(/no option "token"/)
    expect(() => createInspector({ registry, servers } as InspectorOptions)).toThrow(/needs access/)
  })
})
