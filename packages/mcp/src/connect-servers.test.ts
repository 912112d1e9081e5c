import { memoryStore, ToolRegistry } from '@toolcrib/core'
import { describe, expect, it } from 'vitest'
import { connectServers } from './connect-servers.ts'
import type { OpenConnection } from './connection/connect.ts'
import { begin, call, storeWith, World } from './server/fake-world.fixture.ts'

describe('connectServers', () => {
  it('starts a cached server with its first call, once for concurrent callers', async () => {
    const { registry, world, servers } = await begin({ isRemembered: true })
    expect(servers.status()).toEqual([{ server: 'a', state: 'cold' }])
    expect(world.opened).toBe(0)
    const answers = await Promise.all([call(registry), call(registry), call(registry)])
    expect(answers.map((answer) => answer?.ok)).toEqual([true, true, true])
    expect(world.opened).toBe(1)
  })

  it('does not call a cached server cold when somebody needed it before its cache was read', async () => {
    const world = new World({ isRemembered: true })
    const servers = connectServers(new ToolRegistry(), { servers: { a: { command: 'x' } } }, world.options)
    await servers.client('a')
    await servers.ready()
    expect(servers.status()).toEqual([{ server: 'a', state: 'ready' }])
    const states = world.events.flatMap((event) => (event.type === 'server-state' ? [event.state] : []))
    expect(states).not.toContain('cold')
  })

  it('stops an idle on-demand server, and restarts it when called', async () => {
    const { registry, world, servers } = await begin({ config: { idleMs: 1_000 } })
    expect(servers.status()).toMatchObject([{ state: 'ready' }])
    await world.pass(999)
    await call(registry)
    await world.pass(999)
    expect(servers.status()).toMatchObject([{ state: 'ready' }])
    await world.pass(1)
    expect(servers.status()).toMatchObject([{ state: 'cold' }])
    expect(await call(registry)).toMatchObject({ ok: true })
    expect(world.opened).toBe(2)
  })

  it('keeps an eager server running', async () => {
    const { world, servers } = await begin({ config: { idleMs: 1_000, start: 'eager' } })
    await world.pass(5_000)
    expect(servers.status()).toMatchObject([{ state: 'ready' }])
  })

  it('retries a failing server with growing delays, and trips after five failures', async () => {
    const { world, servers } = await begin({ failures: Number.POSITIVE_INFINITY })
    expect(servers.status()).toMatchObject([{ state: 'failed', reason: 'no such thing' }])
    for (const pauseMs of [200, 400, 800, 1_600]) {
      const before = world.opened
      await world.pass(pauseMs - 1)
      expect(world.opened).toBe(before)
      await world.pass(1)
      expect(world.opened).toBe(before + 1)
    }
    await expect(servers.client('a')).rejects.toMatchObject({
      code: 'source-unavailable',
      message: expect.stringContaining('next attempt in 30 s'),
    })
    expect(world.opened).toBe(5)
    await world.pass(30_000)
    expect(world.opened).toBe(6)
  })

  it('registers the tools as soon as a failed server recovers', async () => {
    const { registry, world, servers } = await begin({ failures: 1 })
    expect(registry.size).toBe(0)
    await world.pass(200)
    expect(servers.status()).toMatchObject([{ state: 'ready' }])
    expect(registry.has('mcp__a__echo')).toBe(true)
  })

  it('fails a call with the reason when its server cannot be started', async () => {
    const { registry, world } = await begin({ isRemembered: true, failures: Number.POSITIVE_INFINITY })
    const answer = await call(registry)
    expect(answer).toMatchObject({ ok: false, code: 'not_available' })
    expect(answer).toMatchObject({
      error: expect.stringContaining('server "a" is disconnected: no such thing'),
    })
    expect(world.opened).toBe(1)
  })

  it('restarts a server that no longer responds to pings', async () => {
    const { registry, world, servers } = await begin({})
    world.isDeaf = true
    await world.pass(30_000)
    expect(servers.status()).toMatchObject([{ state: 'failed', reason: 'it does not respond: it is deaf' }])
    world.isDeaf = false
    const answer = call(registry)
    await world.pass(200)
    expect(await answer).toMatchObject({ ok: true })
  })

  it('keeps the last good list when a refresh fails', async () => {
    const { registry, world } = await begin({})
    world.tools = 'nonsense'
    world.notify('notifications/tools/list_changed')
    await world.pass(300)
    expect(world.warnings).toContainEqual(expect.stringContaining('the last list stays in use'))
    expect(registry.has('mcp__a__echo')).toBe(true)
    world.tools = [{ name: 'other', inputSchema: { type: 'object' } }]
    world.notify('notifications/tools/list_changed')
    await world.pass(600)
    expect(registry.has('mcp__a__echo')).toBe(false)
    expect(registry.has('mcp__a__other')).toBe(true)
  })

  it('aborts connecting when it is closed', async () => {
    const world = new World({})
    world.isHanging = true
    const servers = connectServers(new ToolRegistry(), { servers: { a: { command: 'x' } } }, world.options)
    await world.settle()
    await servers.close()
    expect(world.wasGivenUp).toBe(true)
  })

  it('removes its tools from the registry on close, and detaches from it', async () => {
    const { registry, servers } = await begin({})
    await servers.close()
    expect(registry.size).toBe(0)
    expect((await registry.search('echo')).servers).toBeUndefined()
  })

  it('does not run a tool that the current config denies, even while it is still registered', async () => {
    const { registry, world, servers } = await begin({})
    world.isHanging = true
    await servers.reload({ servers: { a: { command: 'x', deny: ['echo'] } } })
    expect(registry.has('mcp__a__echo')).toBe(true)
    expect(await call(registry)).toMatchObject({
      ok: false,
      code: 'not_available',
      error: expect.stringContaining('its config excludes it'),
    })
    expect(world.calls).toBe(0)
    await servers.close()
  })

  it('removes configured values and hidden characters from the error of a server that fails', async () => {
    const { registry, world, servers } = await begin({
      config: { env: { KEY: 'hunter2hunter2' } },
      failures: 1,
      failure: 'bad\u202E key hunter2\u200Bhunter2',
    })
    expect(servers.status()).toMatchObject([{ state: 'failed', reason: 'bad key (KEY)' }])
    await world.pass(200)
    world.callError = 'no\u200Bt hunter2hunter2'
    expect(await call(registry)).toMatchObject({ ok: false, error: expect.stringContaining('not (KEY)') })
  })

  it('connects a server when its cache can be neither read nor written, and reports it', async () => {
    const world = new World({})
    const broken = () => {
      throw new Error('disk on fire')
    }
    const options = { ...world.options, store: storeWith(memoryStore(), { get: broken, set: broken }) }
    const servers = connectServers(new ToolRegistry(), { servers: { a: { command: 'x' } } }, options)
    expect(await servers.ready()).toEqual([{ server: 'a', state: 'ready' }])
    // What the server lists is saved once it has been scanned.
    await expect
      .poll(() => world.warnings)
      .toEqual([
        expect.stringMatching(/cached tools could not be loaded.*disk on fire/),
        expect.stringMatching(/tools could not be cached.*disk on fire/),
      ])
  })

  it('reports fewer warnings of a kind the more there are, and still the first of another kind', async () => {
    const world = new World({})
    let warn = (_warning: string) => {}
    const open: OpenConnection = (request, openDirectly) => {
      warn = request.onWarning
      return world.options.open?.(request, openDirectly) ?? openDirectly(request)
    }
    const config = { servers: { a: { command: 'x' } } }
    await connectServers(new ToolRegistry(), config, { ...world.options, open }).ready()
    for (let count = 1; count <= 1_000; count++) warn(`it responded to an unknown request (id ${count})`)
    expect(world.warnings).toHaveLength(50 + ['64', '128', '256', '512'].length)
    warn('it sent more than 1000 requests within a second; the rest are not answered')
    expect(world.warnings.at(-1)).toContain('requests within')
    // Even if every warning is of a kind of its own, they are bounded.
    for (let kind = 0; kind < 1_000; kind++) warn(`it said ${'x'.repeat(kind)}`)
    expect(world.warnings.length).toBeLessThan(200)
  })

  it('does not treat a server that falls silent every half minute as a crash loop', async () => {
    const { registry, world, servers } = await begin({})
    for (let round = 0; round < 7; round++) {
      world.isDeaf = true
      await world.pass(30_000)
      expect(servers.status()).toMatchObject([{ state: 'failed' }])
      world.isDeaf = false
      const answer = call(registry)
      await world.pass(200)
      expect(await answer).toMatchObject({ ok: true })
    }
  })

  it('fails only the server whose config is invalid', async () => {
    const world = new World({})
    const registry = new ToolRegistry()
    const config = { mcpServers: { good: { command: 'x' }, bad: {}, worse: 7, 'no*name': { command: 'x' } } }
    const servers = connectServers(registry, config, world.options)
    expect(await servers.ready()).toEqual([
      { server: 'good', state: 'ready' },
      {
        server: 'bad',
        state: 'failed',
        needs: 'config',
        reason: expect.stringContaining('"command" or a "url" is missing'),
      },
      {
        server: 'worse',
        state: 'failed',
        needs: 'config',
        reason: expect.stringContaining('must be a table of keys'),
      },
      { server: 'no*name', state: 'failed', needs: 'config', reason: expect.stringContaining('no*name') },
    ])
    await servers.close()
    expect(registry.size).toBe(0)
  })

  it('removes the tools of a server whose config becomes invalid', async () => {
    const { registry, world, servers } = await begin({})
    await servers.reload({ mcpServers: { a: {} } })
    expect(await servers.ready()).toMatchObject([{ server: 'a', state: 'failed' }])
    expect(registry.size).toBe(0)
    expect(world.opened).toBe(1)
  })

  it('leaves nothing attached when the config has no servers', () => {
    const registry = new ToolRegistry()
    let attached = 0
    const counting = Object.assign(Object.create(registry), {
      attachServers: () => {
        attached++
        return () => {}
      },
    })
    const config = JSON.parse('{ "mcpServers": [] }')
    expect(() => connectServers(counting, config, new World({}).options)).toThrow(
      expect.objectContaining({ code: 'config-invalid' }),
    )
    expect(attached).toBe(0)
  })

  it('connects the servers of a parsed toolcrib.toml', async () => {
    const servers = connectServers(
      new ToolRegistry(),
      { server: { a: { command: 'x', idle_ms: 5 } } },
      new World({}).options,
    )
    expect(await servers.ready()).toEqual([{ server: 'a', state: 'ready' }])
  })

  it('registers only the tools that allow and deny permit', async () => {
    const { registry } = await begin({ config: { allow: ['e*', 'add'], deny: ['add'] } })
    expect(registry.listSchemas().map(({ name }) => name)).toEqual(['mcp__a__echo'])
  })

  it('reports once per list which tools it skips because of their names, and why', async () => {
    const { registry, world } = await begin({
      tools: [{ name: 'echo' }, { name: 'Echo' }, { name: 'no\u0000name' }, { name: 'x', inputSchema: 7 }],
    })
    expect(registry.listSchemas().map(({ name }) => name)).toEqual(['mcp__a__echo'])
    const left = world.events.filter(({ type }) => type === 'tool-invalid')
    expect(left).toMatchObject([
      { server: 'a', tool: 'x', reason: 'its inputSchema is not a schema' },
      { server: 'a', tool: 'no\u0000name', reason: expect.stringContaining('name') },
      { server: 'a', tool: 'Echo', reason: expect.stringContaining('too similar to "mcp__a__echo"') },
    ])
    world.notify('notifications/tools/list_changed')
    await world.pass(300)
    expect(world.events.filter(({ type }) => type === 'tool-invalid')).toEqual(left)
  })

  it('reports missing structured content that a tool declared, and returns the rest', async () => {
    const { registry, world } = await begin({ tools: [{ name: 'echo', outputSchema: { type: 'object' } }] })
    expect(await call(registry)).toMatchObject({ ok: true, value: 'done' })
    expect(world.events).toContainEqual(
      expect.objectContaining({
        type: 'output-mismatch',
        tool: 'echo',
        faults: expect.stringContaining('structured content is missing'),
      }),
    )
  })

  it('does not require structured content from a failed call', async () => {
    const { registry, world } = await begin({ tools: [{ name: 'echo', outputSchema: { type: 'object' } }] })
    world.result = { content: [{ type: 'text', text: 'no such city' }], isError: true }
    expect(await call(registry)).toMatchObject({ ok: false, error: 'no such city' })
    expect(world.events.map(({ type }) => type)).not.toContain('output-mismatch')
  })

  it('returns structured content that cannot be validated in time, and reports it', async () => {
    // Each level doubles the work of the next.
    const levels = Object.fromEntries(
      Array.from({ length: 40 }, (_, level) => {
        const next = { $ref: `#/$defs/l${Math.min(level + 1, 39)}` }
        return [`l${level}`, { anyOf: [{ allOf: [next, next] }, { allOf: [next, next] }] }]
      }),
    )
    const outputSchema = { type: 'object', $defs: { ...levels, l39: false }, $ref: '#/$defs/l0' }
    const tools = [{ name: 'echo', inputSchema: { type: 'object' }, outputSchema }]
    const { registry, world } = await begin({ tools })
    const structuredContent = { rows: [1, 2, 3] }
    world.result = { content: [{ type: 'text', text: 'done' }], structuredContent }
    expect(await call(registry)).toEqual({
      ok: true,
      value: 'done',
      content: [{ type: 'text', text: 'done' }],
      structured: structuredContent,
    })
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: 'output-unchecked', tool: 'echo', reason: expect.any(String) }),
    )
  })

  it('rejects unknown options and suggests the nearest', () => {
    const registry = new ToolRegistry()
    const connect = (options: object) => () => connectServers(registry, { servers: {} }, options)
    expect(connect({ lockFile: {} })).toThrow('did you mean "lockfile"?')
    expect(connect({ client: { onrequest: () => {} } })).toThrow('did you mean "client.onRequest"?')
    expect(connect({ maxMessageBytes: -1 })).toThrow('maxMessageBytes')
  })
})
