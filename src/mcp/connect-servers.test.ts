import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { ToolRegistry } from '../tool-registry.ts'
import type { CachedCatalogue } from './catalogue-cache.ts'
import { type ConnectOptions, connectServers } from './connect-servers.ts'
import { Connection } from './connection.ts'
import { MessageGuard } from './message-guard.ts'
import type { OpenConnection } from './open-connection.ts'
import type { Schedule } from './schedule.ts'

describe('connectServers', () => {
  it('starts a remembered server with its first call, once for all who call', async () => {
    const { registry, world, servers } = await begin({ isRemembered: true })
    expect(servers.status()).toEqual([{ server: 'a', state: 'cold' }])
    expect(world.opened).toBe(0)
    const answers = await Promise.all([call(registry), call(registry), call(registry)])
    expect(answers.map((answer) => answer?.ok)).toEqual([true, true, true])
    expect(world.opened).toBe(1)
  })

  it('stops an on-demand server that rests, and starts it again', async () => {
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

  it('keeps an eager server up', async () => {
    const { world, servers } = await begin({ config: { idleMs: 1_000, start: 'eager' } })
    await world.pass(5_000)
    expect(servers.status()).toMatchObject([{ state: 'ready' }])
  })

  it('tries a server that does not start again and again, ever more seldom, and holds it back after five', async () => {
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
      message: expect.stringContaining('tried again in 30 s'),
    })
    expect(world.opened).toBe(5)
    await world.pass(30_000)
    expect(world.opened).toBe(6)
  })

  it('is there as soon as a server that failed comes up', async () => {
    const { registry, world, servers } = await begin({ failures: 1 })
    expect(registry.size).toBe(0)
    await world.pass(200)
    expect(servers.status()).toMatchObject([{ state: 'ready' }])
    expect(registry.has('mcp__a__echo')).toBe(true)
  })

  it('answers a call with the reason when its server cannot be started', async () => {
    const { registry, world } = await begin({ isRemembered: true, failures: Number.POSITIVE_INFINITY })
    const answer = await call(registry)
    expect(answer).toMatchObject({ ok: false, code: 'not_available' })
    expect(answer).toMatchObject({
      error: expect.stringContaining('server "a" is disconnected: no such thing'),
    })
    expect(world.opened).toBe(1)
  })

  it('starts a server anew that a ping no longer reaches', async () => {
    const { registry, world, servers } = await begin({})
    world.isDeaf = true
    await world.pass(30_000)
    expect(servers.status()).toMatchObject([{ state: 'failed', reason: 'it does not answer: it is deaf' }])
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
    expect(world.warnings).toContainEqual(expect.stringContaining('the last list stays'))
    expect(registry.has('mcp__a__echo')).toBe(true)
    world.tools = [{ name: 'other', inputSchema: { type: 'object' } }]
    world.notify('notifications/tools/list_changed')
    await world.pass(300)
    expect(registry.has('mcp__a__echo')).toBe(false)
    expect(registry.has('mcp__a__other')).toBe(true)
  })

  it('gives up connecting when it is closed', async () => {
    const world = new World({})
    world.isHanging = true
    const servers = connectServers(new ToolRegistry(), { servers: { a: { command: 'x' } } }, world.options)
    await world.settle()
    await servers.close()
    expect(world.wasGivenUp).toBe(true)
  })

  it('takes the tools out of the registry on close, and lets go of it', async () => {
    const { registry, servers } = await begin({})
    await servers.close()
    expect(registry.size).toBe(0)
    expect((await registry.search('echo')).servers).toBeUndefined()
  })

  it('runs no tool that the config in force denies, though it is still registered from before', async () => {
    const { registry, world, servers } = await begin({})
    world.isHanging = true
    await servers.reload({ servers: { a: { command: 'x', deny: ['echo'] } } })
    expect(registry.has('mcp__a__echo')).toBe(true)
    expect(await call(registry)).toMatchObject({
      ok: false,
      code: 'not_available',
      error: expect.stringContaining('its config leaves it out'),
    })
    expect(world.calls).toBe(0)
    await servers.close()
  })

  it('tells no configured value and no hidden character of what a server says of its failure', async () => {
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

  it('connects a server whose tools cannot be recalled or remembered, and says so', async () => {
    const world = new World({})
    const broken = () => {
      throw new Error('disk on fire')
    }
    const cache = { load: async () => broken(), save: broken }
    const options = { ...world.options, cache }
    const servers = connectServers(new ToolRegistry(), { servers: { a: { command: 'x' } } }, options)
    expect(await servers.ready()).toEqual([{ server: 'a', state: 'ready' }])
    expect(world.warnings).toEqual([
      expect.stringMatching(/could not be recalled.*disk on fire/),
      expect.stringMatching(/could not be remembered.*disk on fire/),
    ])
  })

  it('takes one that falls silent every half minute for no crash loop', async () => {
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

  it('fails a server whose config makes no sense, and no other', async () => {
    const world = new World({})
    const registry = new ToolRegistry()
    const config = { mcpServers: { good: { command: 'x' }, bad: {}, worse: 7, 'no*name': { command: 'x' } } }
    const servers = connectServers(registry, config, world.options)
    expect(await servers.ready()).toEqual([
      { server: 'good', state: 'ready' },
      { server: 'bad', state: 'failed', reason: expect.stringContaining('"command" or a "url" is missing') },
      { server: 'worse', state: 'failed', reason: expect.stringContaining('must be a table of keys') },
      { server: 'no*name', state: 'failed', reason: expect.stringContaining('no*name') },
    ])
    await servers.close()
    expect(registry.size).toBe(0)
  })

  it('takes the tools of a server away whose config stops making sense', async () => {
    const { registry, world, servers } = await begin({})
    await servers.reload({ mcpServers: { a: {} } })
    expect(await servers.ready()).toMatchObject([{ server: 'a', state: 'failed' }])
    expect(registry.size).toBe(0)
    expect(world.opened).toBe(1)
  })

  it('leaves nothing attached when there are no servers where they should be', () => {
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

  it('takes only the tools that allow and deny let pass', async () => {
    const { registry } = await begin({ config: { allow: ['e*', 'add'], deny: ['add'] } })
    expect(registry.listSchemas().map(({ name }) => name)).toEqual(['mcp__a__echo'])
  })
})

interface WorldOptions {
  readonly isRemembered?: boolean
  readonly failures?: number
  readonly failure?: string
  readonly config?: object
}

async function begin(options: WorldOptions) {
  const world = new World(options)
  const registry = new ToolRegistry()
  const servers = connectServers(
    registry,
    { servers: { a: { command: 'x', ...options.config } } },
    world.options,
  )
  await servers.ready()
  return { world, registry, servers }
}

async function call(registry: ToolRegistry) {
  const [answer] = await registry.executeParallel([{ toolCallId: '1', name: 'mcp__a__echo', args: {} }], {
    sessionId: 's',
  })
  return answer?.result
}

const TOOLS = ['echo', 'add'].map((name) => ({ name, description: '', inputSchema: { type: 'object' } }))

/** A world with a clock of its own and servers that do as told. */
class World {
  opened = 0
  isDeaf = false
  isHanging = false
  wasGivenUp = false
  calls = 0
  callError: string | undefined
  tools: unknown = TOOLS
  readonly warnings: string[] = []
  readonly options: ConnectOptions
  readonly #timers = new Set<{ at: number; fire: () => void }>()
  #now = 1_000
  readonly #failure: string
  #failures: number
  #transport: FakeTransport | undefined

  constructor({ isRemembered, failures = 0, failure = 'no such thing' }: WorldOptions) {
    this.#failure = failure
    this.#failures = failures
    const catalogue: CachedCatalogue = { tools: TOOLS, era: 'legacy' }
    this.options = {
      open: this.#open,
      schedule: this.#schedule,
      clock: () => this.#now,
      random: () => 1,
      onEvent: (event) => event.type === 'server-warning' && this.warnings.push(event.warning),
      ...(isRemembered ? { cache: { load: async () => catalogue, save: async () => {} } } : {}),
    }
  }

  /** Lets time pass, and whatever is due happen. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms
    for (;;) {
      await this.settle()
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      if (!next) break
      this.#timers.delete(next)
      this.#now = Math.max(this.#now, next.at)
      next.fire()
    }
    this.#now = end
    await this.settle()
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
  }

  notify(method: string): void {
    this.#transport?.onmessage?.({ jsonrpc: '2.0', method })
  }

  readonly #schedule: Schedule = (delayMs, fire) => {
    const timer = { at: this.#now + delayMs, fire }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  readonly #open: OpenConnection = async ({ server, signal }) => {
    this.opened++
    if (this.isHanging) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      this.wasGivenUp = true
    }
    signal.throwIfAborted()
    if (this.#failures-- > 0) throw new Error(this.#failure)
    this.#transport = new FakeTransport((method) => this.#answer(method))
    const client = { name: 'test', version: '1' }
    return Connection.open(server, this.#transport, {
      client,
      era: 'legacy',
      timeoutMs: 5_000,
      schedule: this.#schedule,
    })
  }

  #answer(method: string): object {
    if (this.isDeaf) throw new Error('it is deaf')
    if (method === 'tools/list') return { tools: this.tools }
    if (method === 'tools/call') {
      this.calls++
      if (this.callError !== undefined) throw new Error(this.callError)
      return { content: [{ type: 'text', text: 'done' }] }
    }
    if (method !== 'initialize') return {}
    const capabilities = { tools: { listChanged: true } }
    return { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'fake', version: '1' } }
  }
}

class FakeTransport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly guard = new MessageGuard()
  readonly #answer: (method: string) => object

  constructor(answer: (method: string) => object) {
    this.#answer = answer
  }

  async start(): Promise<void> {}

  async send(sent: JSONRPCMessage): Promise<void> {
    this.guard.sent(sent)
    if (!('method' in sent) || !('id' in sent)) return
    const result = this.#answer(sent.method)
    const { message } = this.guard.received({ jsonrpc: '2.0', id: sent.id, result })
    if (message) queueMicrotask(() => this.onmessage?.(message))
  }

  async close(): Promise<void> {
    const { onclose } = this
    delete this.onclose
    onclose?.()
  }
}
