import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { responsesVoice } from '../../../../../test/dialects/wire-server/voices/openai-responses.ts'
import type { Surface } from '../../session/surface.ts'
import { readFailure } from '../read-failure.ts'
import { anthropicModel } from './anthropic.ts'
import { geminiModel } from './gemini.ts'
import { minimaxModel } from './minimax.ts'
import { openaiChatModel } from './openai-chat.ts'
import { openaiResponsesModel } from './openai-responses.ts'

const SURFACE: Surface = {
  tools: [{ name: 'ping', description: 'Answers.', parameters: { type: 'object' } }],
  deferredCount: 0,
  strategy: 'dispatch',
  fingerprint: 'x',
}
const SEND = { signal: new AbortController().signal, mayCall: true, onText: () => {} }

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

/** A server that answers every request the same way, and keeps what it was sent. */
async function serve(status: number, headers: Record<string, string>, body: string) {
  const bodies: Record<string, unknown>[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    bodies.push(JSON.parse(Buffer.concat(chunks).toString()))
    response.writeHead(status, headers)
    response.end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stops.push(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies }
}

describe('a request that fails', () => {
  it("is tried again after Gemini's retry-after, although its errors carry no headers", async () => {
    const { url } = await serve(503, { 'retry-after': '7' }, 'busy')
    const model = geminiModel({ model: 'm', apiKey: 'key', baseURL: url })
    const request = model.dialect.toRequest({ surface: SURFACE, messages: [model.dialect.userMessage('hi')] })
    const error = await model.send(request, SEND).catch((thrown: unknown) => thrown)
    expect(readFailure(error, 0)).toMatchObject({ isPassing: true, retryAfterMs: 7_000 })
  })

  it.each([
    ['gemini', (url: string) => geminiModel({ model: 'm', apiKey: 'key', baseURL: url })],
    ['openai-chat', (url: string) => openaiChatModel({ model: 'm', baseURL: `${url}/v1` })],
    ['openai-responses', (url: string) => openaiResponsesModel({ model: 'm', baseURL: `${url}/v1` })],
    ['anthropic', (url: string) => anthropicModel({ model: 'm', apiKey: 'key', baseURL: url })],
  ] as const)('is tried again where the first chunk of %s is cut short', async (_name, make) => {
    const headers = { 'content-type': 'text/event-stream' }
    const { url } = await serve(200, headers, 'event: message_start\ndata: {"type":"message_start","mess')
    const outcome = await sendHello(make(url))
    if ('thrown' in outcome) expect(readFailure(outcome.thrown, 0)).toMatchObject({ isPassing: true })
    else expect(outcome.stop).toBe('cut')
  })

  it('on Chat Completions names the Responses API where the model reasons', async () => {
    const message = 'Function tools with reasoning are not supported for this model in /v1/chat/completions.'
    const { url } = await serve(
      400,
      { 'content-type': 'application/json' },
      JSON.stringify({ error: { message } }),
    )
    const outcome = await sendHello(openaiChatModel({ model: 'gpt-5.6', baseURL: `${url}/v1` }))
    expect('thrown' in outcome && String(outcome.thrown)).toContain('use openaiResponsesModel')
  })
})

describe('a model without native deferral', () => {
  it.each([
    [
      'openai-responses',
      (url: string) => openaiResponsesModel({ model: 'm', baseURL: `${url}/v1` }),
      "Tool 'tool_search' is not supported with m.",
    ],
    [
      'anthropic',
      (url: string) => anthropicModel({ model: 'm', apiKey: 'key', baseURL: url }),
      'tools.1.defer_loading: Extra inputs are not permitted',
    ],
  ] as const)(
    'on %s is an error that names the strategy to open the session with',
    async (_name, make, message) => {
      const headers = { 'content-type': 'application/json' }
      const { url } = await serve(400, headers, JSON.stringify({ error: { message } }))
      const outcome = await sendHello(make(url))
      expect('thrown' in outcome && String(outcome.thrown)).toContain(
        'open the session with strategy "dispatch"',
      )
    },
  )
})

describe('a history whose items OpenAI no longer has', () => {
  it('is sent without their ids and reasoning', async () => {
    const message = "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."
    const headers = { 'content-type': 'application/json' }
    const { url, bodies } = await serve(404, headers, JSON.stringify({ error: { message } }))
    const model = openaiResponsesModel({ model: 'm', baseURL: `${url}/v1` })
    const said = responsesVoice.respond({ thinking: 'Hm.', text: 'Yes.' })
    const messages = [model.dialect.userMessage('hi'), ...model.dialect.toMessages(said, [], SURFACE)]
    const request = model.dialect.toRequest({ surface: SURFACE, messages })
    await expect(model.send(request, SEND)).rejects.toThrow('not found')
    const inputs = bodies.map(({ input }) => input as { type?: string; id?: string }[])
    expect(inputs.map((items) => items.map(({ type, id }) => [type, id !== undefined]))).toEqual([
      [
        [undefined, false],
        ['reasoning', true],
        ['message', true],
      ],
      [
        [undefined, false],
        ['message', false],
      ],
    ])
  })
})

describe('the options of a model', () => {
  it.each([
    ['anthropicModel', anthropicModel],
    ['geminiModel', geminiModel],
    ['minimaxModel', minimaxModel],
    ['openaiChatModel', openaiChatModel],
    ['openaiResponsesModel', openaiResponsesModel],
  ] as const)('of %s are checked: a misspelt address would send requests elsewhere', (_name, make) => {
    const options = { model: 'm', baseUrl: 'http://localhost:1' }
    expect(() => make(options)).toThrow(/baseURL/)
    expect(() => make({ apiKey: 'key' } as never)).toThrow(/model/)
  })

  it('may hold the cache key of Responses, which otherwise is the id of the session', async () => {
    const { url, bodies } = await serve(400, { 'content-type': 'application/json' }, '{}')
    const keyed = (params: object) => openaiResponsesModel({ model: 'm', baseURL: `${url}/v1`, params })
    await sendHello(keyed({}), { cacheKey: 'session' })
    await sendHello(keyed({ prompt_cache_key: 'mine' }), { cacheKey: 'session' })
    expect(bodies.map(({ prompt_cache_key }) => prompt_cache_key)).toEqual(['session', 'mine'])
  })
})

describe("the host's own tools", () => {
  it('leave less room for those that the session defers', () => {
    const tools = [{ type: 'web_search_20260318' as const, name: 'web_search' as const }]
    const model = anthropicModel({ model: 'm', apiKey: 'key', params: { tools } })
    expect(model.dialect).toMatchObject({ maxTools: 9_999 })
  })

  it('get a new container on Anthropic where that of the history has expired', async () => {
    const error = { type: 'invalid_request_error', message: 'Container container_1 has expired.' }
    const headers = { 'content-type': 'application/json' }
    const { url, bodies } = await serve(400, headers, JSON.stringify({ type: 'error', error }))
    const model = anthropicModel({ model: 'm', apiKey: 'key', baseURL: url })
    const request = model.dialect.toRequest({ surface: SURFACE, messages: [model.dialect.userMessage('hi')] })
    await expect(model.send({ ...request, container: 'container_1' }, SEND)).rejects.toThrow('has expired')
    expect(bodies.map(({ container }) => container)).toEqual(['container_1', undefined])
  })

  it('keep their settings in a turn without calls, on Gemini', async () => {
    const { url, bodies } = await serve(400, { 'content-type': 'application/json' }, '{}')
    const params = { tools: [{ googleSearch: {} }], toolConfig: { includeServerSideToolInvocations: true } }
    const model = geminiModel({ model: 'm', apiKey: 'key', baseURL: url, params })
    await sendHello(model, {}, { ...SEND, mayCall: false })
    expect(bodies[0]?.toolConfig).toEqual({
      includeServerSideToolInvocations: true,
      functionCallingConfig: { mode: 'NONE' },
    })
  })

  it.each([
    [
      'anthropic',
      (url: string) =>
        anthropicModel({
          model: 'm',
          apiKey: 'key',
          baseURL: url,
          params: { tools: [{ type: 'web_search_20260318', name: 'web_search' }] },
        }),
      ['web_search', 'ping'],
    ],
    [
      'openai-responses',
      (url: string) =>
        openaiResponsesModel({
          model: 'm',
          baseURL: `${url}/v1`,
          params: { tools: [{ type: 'web_search' }] },
        }),
      ['web_search', 'ping'],
    ],
    [
      'gemini',
      (url: string) =>
        geminiModel({ model: 'm', apiKey: 'key', baseURL: url, params: { tools: [{ googleSearch: {} }] } }),
      ['googleSearch', 'functionDeclarations'],
    ],
  ] as const)("stand before the session's on %s", async (_name, make, expected) => {
    const { url, bodies } = await serve(400, { 'content-type': 'application/json' }, '{}')
    await sendHello(make(url))
    const tools = bodies[0]?.tools as Record<string, unknown>[]
    expect(tools.map((tool) => tool.name ?? tool.type ?? Object.keys(tool)[0])).toEqual(expected)
  })
})

/** A model whose requests and responses are only passed on. */
type AnyModel = ReturnType<typeof geminiModel | typeof anthropicModel | typeof openaiChatModel>

async function sendHello(
  made: object,
  more: { cacheKey?: string } = {},
  options = SEND,
): Promise<{ thrown: unknown } | { stop: string }> {
  const model = made as AnyModel & {
    send(request: unknown, options: typeof SEND): Promise<{ response: never }>
  }
  const messages = [model.dialect.userMessage('hi')] as never[]
  const request = model.dialect.toRequest({ surface: SURFACE, messages, ...more })
  try {
    const { response } = await model.send(request, options)
    return { stop: model.dialect.toReply(response, SURFACE).stop }
  } catch (thrown) {
    return { thrown }
  }
}
