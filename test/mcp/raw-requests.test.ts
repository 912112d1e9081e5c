import { afterEach, describe, expect, it } from 'vitest'
import { memoryStore } from '../../packages/core/src/store/memory-store.ts'
import type { ProgressNote } from '../../packages/core/src/tool.ts'
import { ToolRegistry } from '../../packages/core/src/tool-registry.ts'
import {
  type ConnectedServers,
  type ConnectOptions,
  connectServers,
  ServerError,
  type ServerNotification,
  type ServerRequest,
} from '../../packages/mcp/src/index.ts'
import { HOSTILE_SERVER, MODERN_SERVER, referenceServer, script } from './reference-servers.fixture.ts'

const SERVERS = {
  plain: script(HOSTILE_SERVER),
  modern: script(MODERN_SERVER),
  everything: script(referenceServer('everything')),
}

describe('raw requests', () => {
  let servers: ConnectedServers | undefined

  afterEach(() => servers?.close())

  async function connect(
    name: keyof typeof SERVERS,
    settings: object = {},
    options: ConnectOptions = {},
  ): Promise<ConnectedServers> {
    const mcpServers = { [name]: { ...SERVERS[name], ...settings } }
    servers = connectServers(new ToolRegistry(), { mcpServers }, options)
    await servers.ready()
    return servers
  }

  const call = (name: string, args: object = {}) => ({
    method: 'tools/call',
    params: { name, arguments: args },
  })

  it('keep unknown blocks and fields', async () => {
    const result = await (await connect('plain')).request('plain', call('odd_blocks'))
    expect(result).toEqual({
      content: [{ type: 'hologram', depth: 3 }, 'no block'],
      _meta: { 'x/trace': 'abc' },
    })
  })

  it('reach resources and prompts too', async () => {
    const connected = await connect('everything')
    const { resources } = await connected.request('everything', { method: 'resources/list' })
    expect(resources).toContainEqual(expect.objectContaining({ uri: expect.any(String) }))
    const { prompts } = await connected.request('everything', { method: 'prompts/list' })
    expect(prompts).not.toEqual([])
  })

  it("reject with the server's own error", async () => {
    const failing = (await connect('plain')).request('plain', call('error'))
    await expect(failing).rejects.toBeInstanceOf(ServerError)
    await expect(failing).rejects.toMatchObject({
      code: -32_000,
      message: 'out of paper',
      data: { tray: 2 },
    })
  })

  it('reject with source-unavailable for an unknown server, a timeout, and a server that died', async () => {
    const connected = await connect('plain')
    await expect(connected.request('other', call('echo'))).rejects.toMatchObject({
      code: 'source-unavailable',
      message: expect.stringContaining('unknown server "other"'),
    })
    await expect(connected.request('plain', call('hang'), { timeoutMs: 50 })).rejects.toMatchObject({
      code: 'source-unavailable',
      message: 'server "plain" did not respond to "tools/call" within 50 ms',
    })
    await expect(connected.request('plain', call('die'))).rejects.toMatchObject({
      code: 'source-unavailable',
      message: expect.stringContaining('it was killed by SIGKILL'),
    })
  })

  it('are cancelled on the server too', async () => {
    const connected = await connect('plain')
    const abort = new AbortController()
    const hanging = connected.request('plain', call('hang'), { signal: abort.signal })
    await connected.request('plain', call('echo'))
    const reason = new Error('enough')
    abort.abort(reason)
    await expect(hanging).rejects.toBe(reason)
    const { content } = await connected.request('plain', call('cancellations'))
    expect(JSON.parse((content as [{ text: string }])[0].text)).toHaveLength(1)
    await expect(connected.request('plain', call('echo'), { signal: abort.signal })).rejects.toBe(reason)
  })

  it('report all progress before the result, even when both arrive at once', async () => {
    const connected = await connect('plain')
    for (let round = 0; round < 20; round++) {
      const seen: (ProgressNote | string)[] = []
      await connected
        .request('plain', call('burst'), { onProgress: (note) => seen.push(note) })
        .then(() => seen.push('result'))
      expect(seen).toEqual([
        { progress: 1, total: 3 },
        { progress: 2, total: 3 },
        { progress: 3, total: 3 },
        'result',
      ])
    }
  })

  it('do not reach tools that the config excludes', async () => {
    const connected = await connect('plain', { deny: ['pid'] })
    await expect(connected.request('plain', call('pid'))).rejects.toMatchObject({
      code: 'source-unavailable',
      message: expect.stringContaining('its config excludes it'),
    })
  })

  it('start a cached server that is not running', async () => {
    const store = memoryStore()
    const before = await connect('everything', {}, { store })
    const info = before.info('everything')
    expect(info).toMatchObject({
      era: 'legacy',
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, prompts: {}, resources: {} },
      instructions: expect.any(String),
      serverInfo: { name: expect.stringContaining('everything') },
    })
    await before.close()

    const after = await connect('everything', {}, { store })
    expect(after.status()).toEqual([{ server: 'everything', state: 'cold' }])
    expect(after.info('everything')).toEqual(info)
    expect(after.tools('everything')?.[0]?.listed).toMatchObject({ name: expect.any(String) })
    const result = await after.request('everything', call('echo', { message: 'hi' }))
    expect(result).toMatchObject({ content: [{ text: 'Echo: hi' }] })
    expect(after.status()).toEqual([{ server: 'everything', state: 'ready' }])
  })

  it("leave a modern server's question to the caller", async () => {
    const client = { capabilities: { elicitation: { form: {} } } }
    const connected = await connect('modern', {}, { client })
    const asked = await connected.request('modern', call('ask'))
    expect(asked).toMatchObject({ resultType: 'input_required', inputRequests: { name: {} } })
    const { requestState } = asked
    const answered = await connected.request('modern', {
      method: 'tools/call',
      params: {
        name: 'ask',
        arguments: {},
        inputResponses: { name: { action: 'accept', content: { name: 'Ada' } } },
        ...(requestState === undefined ? {} : { requestState }),
      },
    })
    expect(answered).toMatchObject({ content: [{ type: 'text', text: 'hello Ada' }] })
  })

  describe('and messages that servers send', () => {
    it("reach the host's handler", async () => {
      const heard: ServerNotification[] = []
      const connected = await connect('plain', {}, { client: { onNotification: (note) => heard.push(note) } })
      await connected.request('plain', call('announce'))
      expect(heard).toEqual([
        { server: 'plain', method: 'notifications/message', params: { level: 'info', data: 'hello' } },
        { server: 'plain', method: 'notifications/resources/updated', params: { uri: 'file:///a' } },
        { server: 'plain', method: 'x/custom', params: { any: 1 } },
      ])
    })

    it('are answered by the host, or rejected with an error of the protocol', async () => {
      const asked: ServerRequest[] = []
      const client = {
        capabilities: { roots: {}, elicitation: {}, sampling: {} },
        onRequest: (request: ServerRequest) => {
          asked.push(request)
          if (request.method === 'roots/list') return { roots: [{ uri: 'file:///home/ada', name: 'ada' }] }
          throw Object.assign(new Error('not now'), { code: -32_042, data: { later: true } })
        },
      }
      const connected = await connect('everything', {}, { client })
      const roots = await connected.request('everything', call('get-roots-list'))
      expect(JSON.stringify(roots)).toContain('file:///home/ada')
      expect(asked[0]).toMatchObject({ server: 'everything', method: 'roots/list' })
      const sample = { prompt: 'why?', maxTokens: 10 }
      const refused = connected.request('everything', call('trigger-sampling-request', sample))
      // That server returns this error unchanged.
      await expect(refused).rejects.toMatchObject({
        code: -32_042,
        message: expect.stringContaining('not now'),
        data: { later: true },
      })
    })

    it('are answered during a registry call when a modern server asks in its result', async () => {
      const registry = new ToolRegistry()
      const onRequest = () => ({ action: 'accept', content: { name: 'Ada' } })
      servers = connectServers(
        registry,
        { mcpServers: { modern: SERVERS.modern } },
        { client: { capabilities: { elicitation: { form: {} } }, onRequest } },
      )
      await servers.ready()
      const [answer] = await registry.executeParallel(
        [{ toolCallId: '1', name: 'mcp__modern__ask', args: {} }],
        { sessionId: 's' },
      )
      expect(answer?.result).toMatchObject({ ok: true, value: 'hello Ada' })
    })
  })

  describe('and sessions with private connections', () => {
    const pidOf = async (connected: ConnectedServers, sessionKey?: string): Promise<number> => {
      const { content } = await connected.request('plain', call('pid'), { sessionKey })
      return Number((content as [{ text: string }])[0].text)
    }
    const isRunning = (pid: number): boolean => {
      try {
        return process.kill(pid, 0)
      } catch {
        return false
      }
    }

    it('have one process each while they are open', async () => {
      const connected = await connect('plain')
      connected.openSession('ada')
      connected.openSession('bob')
      const [shared, ada, bob] = await Promise.all([
        pidOf(connected),
        pidOf(connected, 'ada'),
        pidOf(connected, 'bob'),
      ])
      expect(new Set([shared, ada, bob]).size).toBe(3)
      expect(await pidOf(connected, 'ada')).toBe(ada)
      await connected.closeSession('ada')
      expect([shared, ada, bob].map(isRunning)).toEqual([true, false, true])
      await expect(pidOf(connected, 'ada')).rejects.toMatchObject({ code: 'config-invalid' })
      expect(() => connected.openSession('bob')).toThrow('already open')
      await connected.close()
      expect([shared, bob].map(isRunning)).toEqual([false, false])
    })

    it('receive only the requests and notifications of their own connection', async () => {
      const heard: ServerNotification[] = []
      const onNotification = (note: ServerNotification) => heard.push(note)
      const connected = await connect('plain', {}, { client: { onNotification } })
      connected.openSession('ada', { name: 'ada', onNotification })
      await connected.request('plain', call('announce'), { sessionKey: 'ada' })
      expect(heard.map(({ sessionKey }) => sessionKey)).toEqual(['ada', 'ada', 'ada'])
      const { content } = await connected.request('plain', call('client'), { sessionKey: 'ada' })
      expect(JSON.parse((content as [{ text: string }])[0].text)).toMatchObject({ name: 'ada' })
    })

    it('are closed when idle, and reopened', async () => {
      const connected = await connect('plain', { idle_ms: 200 })
      connected.openSession('ada')
      const first = await pidOf(connected, 'ada')
      await expect.poll(() => isRunning(first), { timeout: 5_000 }).toBe(false)
      expect(await pidOf(connected, 'ada')).not.toBe(first)
    })

    it('recover after their process died', async () => {
      const connected = await connect('plain')
      connected.openSession('ada')
      const dying = connected.request('plain', call('die'), { sessionKey: 'ada' })
      await expect(dying).rejects.toMatchObject({ code: 'source-unavailable' })
      expect(connected.status()).toEqual([{ server: 'plain', state: 'ready' }])
      expect(await pidOf(connected, 'ada')).toBeGreaterThan(0)
    })

    it('send notifications over an open connection', async () => {
      const connected = await connect('plain')
      connected.openSession('ada')
      const changed = { method: 'notifications/cancelled', params: { requestId: 'x' } }
      await connected.notify('plain', changed, { sessionKey: 'ada' })
      await connected.request('plain', call('echo'), { sessionKey: 'ada' })
      await connected.notify('plain', changed, { sessionKey: 'ada' })
      const { content } = await connected.request('plain', call('cancellations'), { sessionKey: 'ada' })
      expect(JSON.parse((content as [{ text: string }])[0].text)).toEqual(['x'])
    })
  })
})
