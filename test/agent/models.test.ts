import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AgentEvent, Model } from '../../packages/core/src/agent/index.ts'
import {
  anthropicModel,
  geminiModel,
  minimaxModel,
  openaiChatModel,
  openaiResponsesModel,
  runAgent,
} from '../../packages/core/src/agent/index.ts'
import { type Session, ToolRegistry } from '../../packages/core/src/index.ts'
import { NATIVE_SEARCH } from '../dialects/wire-server/voices/openai-responses.ts'
import { type ScriptedWords, startWireServer, type WireServer } from '../dialects/wire-server/wire-server.ts'
import { registerServers } from '../helpers.ts'

const FOUND = 'mcp__weather__get_forecast'
let server: WireServer
let front: Front

beforeEach(async () => {
  server = await startWireServer()
  front = await startFront(server.url)
})
afterEach(async () => {
  await front.close()
  await server.close()
})

interface Provider {
  readonly name: string
  model(baseURL: string): Model
  /** What the search is called on this wire. */
  readonly search: string
  /** How a found tool is called, given the request that told of it. */
  call(args: string, body: Record<string, unknown>): { name: string; args: string }
}

const dispatched: Provider['call'] = (args) => ({
  name: 'call_tool',
  args: JSON.stringify({ name: FOUND, arguments: JSON.parse(args) }),
})

const PROVIDERS: readonly Provider[] = [
  {
    name: 'anthropic',
    model: (url) => anthropicModel({ model: 'm', apiKey: 'key', baseURL: url }),
    search: 'tool_search',
    call: (args) => ({ name: FOUND, args }),
  },
  {
    name: 'minimax',
    model: (url) => minimaxModel({ model: 'm', apiKey: 'key', baseURL: `${url}/minimax` }),
    search: 'tool_search',
    call: dispatched,
  },
  {
    name: 'openai-chat',
    model: (url) => openaiChatModel({ model: 'm', baseURL: `${url}/v1` }),
    search: 'tool_search',
    call: dispatched,
  },
  {
    name: 'openai-responses',
    model: (url) => openaiResponsesModel({ model: 'm', apiKey: 'key', baseURL: `${url}/v1` }),
    search: NATIVE_SEARCH,
    call: (args, body) => ({ name: `${namespaceOf(body)}::${FOUND}`, args }),
  },
  {
    name: 'gemini',
    model: (url) => geminiModel({ model: 'm', apiKey: 'key', baseURL: url }),
    search: 'tool_search',
    call: dispatched,
  },
]

describe.each(PROVIDERS)('a model of $name', ({ model: makeModel, search, call }) => {
  const open = async (model: Model): Promise<Session> => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registerServers(registry)
    return registry.openSession({ dialect: model.dialect })
  }

  it('searches, calls what it found and answers, word by word', async () => {
    const model = makeModel(server.url)
    const before = server.requests.length
    server.play(
      {
        thinking: 'Hm.',
        text: 'Let me look.',
        calls: [{ id: 'c1', name: search, args: '{"query":"weather forecast"}' }],
      },
      (body) => ({ thinking: 'Hm.', calls: [{ id: 'c2', ...call('{"city":"Bern"}', body) }] }),
      { text: 'Rain in Bern.' },
    )
    const pieces: string[] = []
    const results: string[] = []
    const onEvent = (event: AgentEvent) => {
      if (event.type === 'text') pieces.push(event.text)
      if (event.type === 'called')
        for (const { result } of event.results) results.push(JSON.stringify(result))
    }
    const result = await runAgent({
      model,
      session: await open(model),
      messages: 'Weather?',
      system: 'Be brief.',
      onEvent,
    })
    expect(server.refusals).toEqual([])
    expect(result).toMatchObject({ stop: 'done', text: 'Rain in Bern.', iterations: 3 })
    expect(pieces.join('')).toBe('Let me look.Rain in Bern.')
    expect(pieces.length).toBeGreaterThan(2)
    expect(results[1]).toContain('get_forecast')
    expect(results[1]).toContain('Bern')
    expect(result.ledger).toMatchObject({ requests: 3, cachedInputTokens: 180, outputTokens: 60 })
    expect(server.requests.length - before).toBe(3)
  })

  it('asks again when the stream is cut', async () => {
    const model = makeModel(server.url)
    server.play({ text: 'A long answer that does not end', cutAfter: 4 }, { text: 'Whole.' })
    const result = await runAgent({
      model,
      session: await open(model),
      messages: 'Hi',
      retry: { baseDelayMs: 1 },
    })
    expect(server.refusals).toEqual([])
    expect(result).toMatchObject({ stop: 'done', text: 'Whole.', iterations: 1 })
  })

  it('waits out an overload, as long as the server asks', async () => {
    const model = makeModel(front.url)
    front.failNext(2)
    server.play({ text: 'Here now.' })
    const slept: number[] = []
    const timing = {
      now: () => 0,
      random: () => 0,
      sleep: async (delayMs: number) => void slept.push(delayMs),
    }
    const result = await runAgent({ model, session: await open(model), messages: 'Hi', timing })
    expect(result).toMatchObject({ stop: 'done', text: 'Here now.' })
    expect(slept).toEqual([3000, 3000])
  })

  it('fails with the provider’s own words when the request is refused', async () => {
    const model = makeModel(front.url)
    const before = front.requests
    front.refuseNext()
    const result = await runAgent({ model, session: await open(model), messages: 'Hi' })
    expect(result.stop).toBe('failed')
    expect(String(result.error)).toContain('no such model')
    expect(result.messages).toHaveLength(1)
    expect(front.requests - before).toBe(1)
  })

  it('stops in the middle of an answer and keeps what was said', async () => {
    const model = makeModel(server.url)
    const controller = new AbortController()
    server.play({ text: 'One two three four five six seven eight' }, { text: 'Yes?' })
    const onEvent = ({ type }: AgentEvent) => {
      if (type === 'text') controller.abort()
    }
    const session = await open(model)
    const result = await runAgent({ model, session, messages: 'Count', signal: controller.signal, onEvent })
    expect(result.stop).toBe('cancelled')
    expect(result.text).toMatch(/^One/)
    expect(result.text).not.toContain('eight')
    const messages = [...result.messages, model.dialect.userMessage('Stop.')]
    expect(await runAgent({ model, session, messages })).toMatchObject({ stop: 'done', text: 'Yes?' })
    expect(server.refusals).toEqual([])
  })

  it('can be kept from calling, with the tools still in the request', async () => {
    const model = makeModel(server.url)
    const stuck = (body: Record<string, unknown>): ScriptedWords =>
      JSON.stringify(body).includes('cannot call tools in this turn')
        ? { text: 'I am stuck.' }
        : { thinking: 'Hm.', calls: [{ id: `c${server.requests.length}`, name: 'echo', args: '{}' }] }
    const registry = new ToolRegistry()
    registry.register({
      name: 'echo',
      description: 'Says the same.',
      inputSchema: { type: 'object' },
      execute: () => ({ ok: true, value: 'same' }),
    })
    server.play(stuck, stuck, stuck, stuck, stuck, stuck)
    const session = await registry.openSession({ dialect: model.dialect })
    const result = await runAgent({ model, session, messages: 'Go' })
    expect(server.refusals).toEqual([])
    expect(result).toMatchObject({ stop: 'done', text: 'I am stuck.', iterations: 6 })
    const last = JSON.stringify(server.requests.at(-1))
    expect(last).toMatch(/"tool_choice":("none"|\{"type":"none"\})|"functionCallingConfig":\{"mode":"NONE"\}/)
    expect(last).toContain('Says the same.')
  })

  it('answers malformed arguments, unknown tools and doubled ids', async () => {
    const model = makeModel(server.url)
    const session = await open(model)
    server.play(
      { thinking: 'Hm.', calls: [{ id: 'a', name: 'nothing_like_it', args: '{}' }] },
      {
        thinking: 'Hm.',
        calls: [
          { id: 'b', name: 'call_tool', args: '{"name": 7}' },
          { id: 'b', name: 'no_such_tool', args: '{"x":1}' },
        ],
      },
      { text: 'Well.' },
    )
    const result = await runAgent({ model, session, messages: 'Go' })
    expect(server.refusals).toEqual([])
    expect(result).toMatchObject({ stop: 'done', text: 'Well.', iterations: 3 })
  })
})

it.each([
  ['chat-7', /^chat-7$/],
  // The API takes 64 characters.
  ['x'.repeat(65), /^[0-9a-f]{16}$/],
])('names the conversation of %s to OpenAI’s cache, the same way in every request', async (id, key) => {
  const model = openaiResponsesModel({ model: 'm', apiKey: 'key', baseURL: `${server.url}/v1` })
  const session = await new ToolRegistry().openSession({ id, dialect: model.dialect })
  server.play({ text: 'Hi.' }, { text: 'Bye.' })
  const first = await runAgent({ model, session, messages: 'Hi' })
  await runAgent({ model, session, messages: [...first.messages, model.dialect.userMessage('Bye')] })
  expect(server.refusals).toEqual([])
  const [before, after] = server.requests.slice(-2).map(({ prompt_cache_key }) => prompt_cache_key)
  expect(before).toMatch(key)
  expect(after).toBe(before)
})

function namespaceOf(body: Record<string, unknown>): string {
  const outputs = (body.input as { type?: string; tools?: { name: string }[] }[]).filter(
    ({ type }) => type === 'tool_search_output',
  )
  return outputs.at(-1)?.tools?.[0]?.name ?? ''
}

interface Front {
  readonly url: string
  readonly requests: number
  failNext(times: number): void
  refuseNext(): void
  close(): Promise<void>
}

/** Stands before the wire server and now and then turns a request away. */
async function startFront(target: string): Promise<Front> {
  const { createServer } = await import('node:http')
  let failures = 0
  let refusals = 0
  let requests = 0
  const gate = createServer(async (request, response) => {
    requests++
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (failures > 0) {
      failures--
      response.writeHead(529, { 'content-type': 'application/json', 'retry-after': '3' })
      return response.end(JSON.stringify({ error: { message: 'busy', details: [{ retryDelay: '3s' }] } }))
    }
    if (refusals > 0) {
      refusals--
      response.writeHead(404, { 'content-type': 'application/json' })
      return response.end(JSON.stringify({ error: { message: 'no such model', code: 404 } }))
    }
    const upstream = await fetch(target + request.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.concat(chunks),
    })
    response.writeHead(upstream.status, { 'content-type': upstream.headers.get('content-type') ?? '' })
    response.end(Buffer.from(await upstream.arrayBuffer()))
  })
  await new Promise<void>((resolve) => gate.listen(0, '127.0.0.1', resolve))
  const { port } = gate.address() as import('node:net').AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    get requests() {
      return requests
    },
    failNext: (times) => {
      failures = times
    },
    refuseNext: () => {
      refusals = 1
    },
    close: () =>
      new Promise((resolve) => {
        gate.closeAllConnections()
        gate.close(() => resolve())
      }),
  }
}
