import { PassThrough } from 'node:stream'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Gateway } from 'toolcrib/gateway'
import { memoryStore } from 'toolcrib/stores'
import { describe, expect, it } from 'vitest'
import { openGateway, rawRequest, URL_OF_GATEWAY } from './gateway.fixture.ts'
import { HOSTILE_SERVER, MODERN_SERVER, referenceServer, script } from './mcp/reference-servers.fixture.ts'

const PLAIN = script(HOSTILE_SERVER)
const MODERN = script(MODERN_SERVER)
const EVERYTHING = script(referenceServer('everything'))

describe('a client of the older SDK', () => {
  it('lists, calls and is asked, as at any server', async () => {
    const { gateway } = await openGateway({ everything: EVERYTHING, modern: MODERN }, { mode: 'full' })
    const client = new OldClient({ name: 'old', version: '1' }, { capabilities: { sampling: {} } })
    const { CreateMessageRequestSchema } = await import('@modelcontextprotocol/sdk/types.js')
    client.setRequestHandler(CreateMessageRequestSchema, async () => ({
      model: 'm',
      role: 'assistant',
      content: { type: 'text', text: 'an old hello' },
    }))
    const transport = new OldTransport(new URL(URL_OF_GATEWAY), {
      fetch: (input, init) => gateway.fetch(new Request(input, init)),
    })
    // Its types are older than those of this project's settings.
    await client.connect(transport as Parameters<OldClient['connect']>[0])
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['everything__echo', 'modern__add']))
    expect(await client.callTool({ name: 'modern__add', arguments: { a: 2, b: 2 } })).toMatchObject({
      structuredContent: { sum: 4 },
    })
    const sample = { name: 'everything__trigger-sampling-request', arguments: { prompt: 'hi', maxTokens: 9 } }
    expect(JSON.stringify(await client.callTool(sample))).toContain('an old hello')
    await client.close()
  })
})

describe('many clients at once', () => {
  it('get the answers to their own calls, though all of them use the same ids', async () => {
    const { gateway } = await openGateway({ plain: PLAIN })
    const clients = 50
    const rounds = 10
    const answers = await Promise.all(
      Array.from({ length: clients }, async (_, client) => {
        const texts: unknown[] = []
        for (let round = 0; round < rounds; round++) {
          const text = `${client}/${round}`
          const params = { name: 'plain__echo', arguments: { text, afterMs: (client * 7 + round * 13) % 20 } }
          const { answer } = await rawRequest(gateway, 'tools/call', params)
          texts.push((answer.result as { content: [{ text: string }] }).content[0].text)
        }
        return texts
      }),
    )
    for (const [client, texts] of answers.entries())
      expect(texts).toEqual(Array.from({ length: rounds }, (_, round) => `${client}/${round}`))
    expect(gateway.status().callsUnderWay).toBe(0)
  })
})

describe('a client over stdio', () => {
  it('is served until it goes away', async () => {
    const { gateway } = await openGateway({ modern: MODERN }, { mode: 'full' })
    const input = new PassThrough()
    const output = new PassThrough()
    const door = gateway.serveStdio({ input, output })
    const answers: Record<string, unknown>[] = []
    output.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.split('\n').filter(Boolean)) answers.push(JSON.parse(line))
    })
    const send = (message: object) => input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const clientInfo = { name: 'x', version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    send({ id: 1, method: 'initialize', params })
    await expect.poll(() => answers.length).toBe(1)
    send({ method: 'notifications/initialized' })
    send({ id: 2, method: 'tools/call', params: { name: 'modern__add', arguments: { a: 1, b: 2 } } })
    await expect.poll(() => answers.length).toBe(2)
    expect(answers[1]).toMatchObject({ id: 2, result: { structuredContent: { sum: 3 } } })
    input.end()
    await door.closed
    expect(() => gateway.serveStdio({ profile: 'nobody' })).toThrow('there is no profile "nobody"')
  })
})

describe('a modern client over stdio', () => {
  it('is notified of resources that it listens to', async () => {
    const { gateway } = await openGateway({ everything: EVERYTHING })
    const input = new PassThrough()
    const output = new PassThrough()
    const door = gateway.serveStdio({ input, output })
    const received: Record<string, unknown>[] = []
    output.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.split('\n').filter(Boolean)) received.push(JSON.parse(line))
    })
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const send = (id: number, method: string, params = {}) =>
      input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } })}\n`)
    const answer = (wanted: number) => received.find(({ id }) => id === wanted)
    const named = (wanted: string) => received.filter(({ method }) => method === wanted)
    send(1, 'resources/list')
    await expect.poll(() => answer(1)).toBeDefined()
    const [{ uri }] = (answer(1) as { result: { resources: [{ uri: string }] } }).result.resources
    send(2, 'subscriptions/listen', { notifications: { resourceSubscriptions: [uri] } })
    await expect.poll(() => named('notifications/subscriptions/acknowledged')).toHaveLength(1)
    send(3, 'tools/call', { name: 'everything__toggle-subscriber-updates', arguments: {} })
    await expect
      .poll(() => named('notifications/resources/updated'), { timeout: 15_000 })
      .toMatchObject([{ params: { uri } }])
    input.end()
    await door.closed
  })
})

describe('a call that waits for its client', () => {
  const ASK = { name: 'everything__trigger-sampling-request', arguments: { prompt: 'hi', maxTokens: 9 } }
  const ANSWER = { model: 'm', role: 'assistant', content: { type: 'text', text: 'hello' } }
  const askable = { 'io.modelcontextprotocol/clientCapabilities': { sampling: {} } }

  it('goes on with the answer, once, and for the same tool alone', async () => {
    const { gateway } = await openGateway({ everything: EVERYTHING })
    const call = (more: object) => rawRequest(gateway, 'tools/call', { ...ASK, ...more, _meta: askable })
    const { result } = (await call({})).answer as {
      result: { resultType: string; requestState: string; inputRequests: Record<string, unknown> }
    }
    expect(result.resultType).toBe('input_required')
    expect(gateway.status().callsParked).toBe(1)
    const [key = ''] = Object.keys(result.inputRequests)
    const { requestState } = result
    const inputResponses = { [key]: ANSWER }
    const elsewhere = { name: 'everything__echo', arguments: { message: 'hi' }, inputResponses, requestState }
    expect((await rawRequest(gateway, 'tools/call', elsewhere)).answer).toMatchObject({
      error: { code: -32_602 },
    })
    const forged = await call({ inputResponses, requestState: `${requestState}x` })
    expect(forged.answer).toMatchObject({ error: { code: -32_602 } })
    expect(gateway.status().callsParked).toBe(1)
    expect(JSON.stringify((await call({ inputResponses, requestState })).answer)).toContain('hello')
    expect((await call({ inputResponses, requestState })).answer).toMatchObject({ error: { code: -32_602 } })
    expect(gateway.status()).toMatchObject({ callsParked: 0, callsUnderWay: 0 })
  })

  it('is answered with an error that does not call it safe to repeat, when a restart ended it', async () => {
    const store = memoryStore()
    const ask = (gateway: Gateway, more: object) =>
      rawRequest(gateway, 'tools/call', { ...ASK, ...more, _meta: askable })
    const first = await openGateway({ everything: EVERYTHING }, { store })
    const { result } = (await ask(first.gateway, {})).answer as {
      result: { requestState: string; inputRequests: Record<string, unknown> }
    }
    await first.gateway.close()
    const { gateway } = await openGateway({ everything: EVERYTHING }, { store })
    const [key = ''] = Object.keys(result.inputRequests)
    const answer = { inputResponses: { [key]: ANSWER }, requestState: result.requestState }
    const lost = (await ask(gateway, answer)).answer
    expect(lost).toMatchObject({
      error: { code: -32_603, message: expect.stringContaining('may have done part of its work') },
    })
    expect(lost.error).not.toHaveProperty('data')
    expect((await ask(gateway, answer)).answer).toMatchObject({ error: { code: -32_602 } })
  })

  it('is cancelled when too many wait already, and not described as safe to repeat', async () => {
    const { gateway } = await openGateway({ everything: EVERYTHING }, { limits: { maxParked: 1 } })
    const ask = () => rawRequest(gateway, 'tools/call', { ...ASK, _meta: askable })
    expect((await ask()).answer).toMatchObject({ result: { resultType: 'input_required' } })
    const crowded = (await ask()).answer
    expect(crowded).toMatchObject({
      error: { code: -32_000, message: expect.stringContaining('may have done part of its work') },
    })
    expect(crowded.error).not.toHaveProperty('data')
    expect(gateway.status()).toMatchObject({ callsParked: 1 })
  })

  it('is given up at its deadline', async () => {
    const timers: { readonly delayMs: number; readonly fire: () => void }[] = []
    const schedule = (delayMs: number, fire: () => void) => {
      if (delayMs < 50) setImmediate(fire)
      timers.push({ delayMs, fire })
      return () => {}
    }
    const { gateway } = await openGateway(
      { everything: EVERYTHING },
      { schedule, limits: { askTimeoutMs: 1_234 } },
    )
    await rawRequest(gateway, 'tools/call', { ...ASK, _meta: askable })
    expect(gateway.status().callsParked).toBe(1)
    timers.find(({ delayMs }) => delayMs === 1_234)?.fire()
    expect(gateway.status().callsParked).toBe(0)
    await expect.poll(() => gateway.status().callsUnderWay).toBe(0)
  })
})
