import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { CallContext, CallProgress } from '../../packages/core/src/index.ts'
import { ToolRegistry } from '../../packages/core/src/tool-registry.ts'
import { type ConnectedServers, connectServers, type McpEvent } from '../../packages/mcp/src/index.ts'

/** A short silence, as audio. */
const SILENCE = Buffer.alloc(64).toString('base64')

const RICH_CONTENT = [
  { type: 'text', text: 'rain', annotations: { audience: ['user'], priority: 0.5 }, _meta: { 'x/part': 1 } },
  { type: 'audio', data: SILENCE, mimeType: 'audio/wav', _meta: { 'x/part': 2 } },
  {
    type: 'resource_link',
    uri: 'file:///rain.csv',
    name: 'rain',
    title: 'Rain by hour',
    mimeType: 'text/csv',
    size: 10,
    annotations: { audience: ['assistant'], lastModified: '2026-01-01T00:00:00Z' },
    _meta: { 'x/part': 3 },
  },
  {
    type: 'resource',
    resource: { uri: 'file:///map.bin', blob: SILENCE, mimeType: 'image/x-map', _meta: { 'x/part': 4 } },
    annotations: { priority: 1 },
  },
] as const

describe('a server of the stateless revision over HTTP', () => {
  let registry = new ToolRegistry()
  let servers: ConnectedServers | undefined
  let events: McpEvent[] = []
  let headers: Headers[] = []
  let cancelled = 0
  let hangUp: (() => void) | undefined

  beforeEach(async () => {
    registry = new ToolRegistry()
    events = []
    headers = []
    cancelled = 0
    hangUp = undefined
    const handler = createMcpHandler(serverWithRain)
    servers = connectServers(
      registry,
      { mcpServers: { web: { url: 'http://rain.example/mcp', timeout_ms: 600 } } },
      {
        onEvent: (event) => events.push(event),
        fetch: async (url, init) => {
          const request = new Request(url, init)
          headers.push(request.headers)
          const response = await handler.fetch(request)
          return request.headers.get('mcp-method') === 'subscriptions/listen' ? endable(response) : response
        },
      },
    )
    expect(await servers.ready()).toEqual([{ server: 'web', state: 'ready' }])
  })

  afterEach(() => servers?.close())

  /** A response that ends when the server closes it. */
  function endable(response: Response): Response {
    const stream = new TransformStream<Uint8Array, Uint8Array>({
      start: (controller) => {
        hangUp = () => controller.terminate()
      },
    })
    return new Response(response.body?.pipeThrough(stream) ?? null, response)
  }

  function serverWithRain(): McpServer {
    const server = new McpServer(
      { name: 'rain', version: '1' },
      { capabilities: { tools: { listChanged: true } } },
    )
    const mirrored = z.object({ city: z.string().meta({ 'x-mcp-header': 'City' }) })
    server.registerTool('mirrored', { description: '', inputSchema: mirrored }, async ({ city }, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken
      for (const progress of [1, 2, 3, 4]) {
        await new Promise((resolve) => setTimeout(resolve, 250))
        if (progressToken !== undefined)
          await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress } })
      }
      return { content: [{ type: 'text', text: `rain in ${city}` }] }
    })
    server.registerTool('rich', { description: '', inputSchema: z.object({}) }, async () => ({
      content: RICH_CONTENT.map((block) => structuredClone(block) as never),
      _meta: { 'x/trace': 'abc' },
    }))
    server.registerTool('wait', { description: '', inputSchema: z.object({}) }, async (_args, ctx) => {
      await new Promise((resolve) => ctx.mcpReq.signal.addEventListener('abort', resolve, { once: true }))
      cancelled++
      return { content: [] }
    })
    return server
  }

  async function call(name: string, args: unknown = {}, context: Partial<CallContext> = {}) {
    const [answer] = await registry.executeParallel([{ toolCallId: 'c', name: `mcp__web__${name}`, args }], {
      sessionId: 's',
      ...context,
    })
    if (!answer) throw new Error('no answer')
    return answer.result
  }

  it('receives arguments in headers where its schema requires that, and its progress is still reported', async () => {
    const notes: CallProgress[] = []
    const answer = await call('mirrored', { city: 'Rome' }, { onProgress: (note) => notes.push(note) })
    expect(answer).toMatchObject({ ok: true, value: 'rain in Rome' })
    expect(notes).toEqual([1, 2, 3, 4].map((progress) => ({ toolCallId: 'c', progress })))
    expect(headers.at(-1)?.get('mcp-param-city')).toBe('Rome')
    const progress = events.filter(({ type }) => type === 'call-progress')
    expect(progress).toMatchObject([{ progress: 1 }, { progress: 2 }, { progress: 3 }, { progress: 4 }])
  })

  it('has its results returned without loss', async () => {
    const result = await call('rich')
    const meta = { 'x/trace': 'abc' }
    expect(result).toEqual({ ok: true, value: 'rain', content: RICH_CONTENT, meta })
    expect(events).toContainEqual(expect.objectContaining({ type: 'result-meta', meta }))
  })

  it('may end its subscription without a warning', async () => {
    await expect.poll(() => hangUp).toBeDefined()
    await call('rich')
    hangUp?.()
    expect(await call('rich')).toMatchObject({ ok: true })
    expect(events.map(({ type }) => type)).not.toContain('server-warning')
  })

  it('is notified when a call is cancelled or times out', async () => {
    const abort = new AbortController()
    const waiting = call('wait', {}, { signal: abort.signal })
    await call('rich')
    abort.abort()
    expect(await waiting).toMatchObject({ ok: false, code: 'cancelled' })
    await expect.poll(() => cancelled).toBe(1)
    expect(await call('wait')).toMatchObject({ ok: false, code: 'timeout' })
    await expect.poll(() => cancelled).toBe(2)
  })
})
