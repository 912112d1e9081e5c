import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, expect, it, vi } from 'vitest'
import { RAIN, useCommandLine } from './cli-folder.fixture.ts'
import { referenceServer } from './mcp/reference-servers.fixture.ts'
import { childrenOf, isRunning, useServe } from './serve.fixture.ts'

// A real gateway, with real servers behind it, is killed and started again.
vi.setConfig({ testTimeout: 120_000 })

const { path, start, list, server, write } = useCommandLine()
const serve = useServe({ start })

describe('a gateway that was killed', () => {
  it('goes on with the sessions it had, and says which calls were lost', async () => {
    list(RAIN)
    const everything = { command: process.execPath, args: [referenceServer('everything'), 'stdio'] }
    // However long the servers take to start.
    const gateway = { limits: { listWaitMs: 30_000 } }
    write('.mcp.json', JSON.stringify({ mcpServers: { weather: server(), everything }, gateway }))
    const flags = ['--port', await freePort(), '--mode', 'lazy', '--token-file', path('token')]
    const { child, ended, url, token, pid } = await serve(flags)
    const older = new OlderClient(`${url}?activate=list`, token)
    await older.open()
    expect(await older.names()).not.toContain('weather__get_rain')
    await older.request('tools/call', { name: 'tool_search', arguments: { query: 'how much rain fell' } })
    const before = await older.names()
    expect(before).toContain('weather__get_rain')

    const modern = new ModernClient(url, token)
    const { requestState, inputRequests } = (await modern.ask()).result ?? {}
    const [key = ''] = Object.keys(inputRequests ?? {})
    expect([typeof requestState, key]).not.toContain(undefined)

    const servers = childrenOf(pid)
    expect(servers.length).toBeGreaterThan(1)
    child.kill('SIGKILL')
    await ended
    await vi.waitUntil(() => servers.every((child) => !isRunning(child)), { timeout: 30_000 })

    const next = await serve(flags)
    expect(await older.names()).toEqual(before)
    const called = await older.request('tools/call', {
      name: 'weather__get_rain',
      arguments: { city: 'Oslo' },
    })
    expect(called).toMatchObject({ result: { content: [{ text: 'get_rain ran' }] } })

    const answer = { inputResponses: { [key]: ANSWER }, requestState }
    const lost = await modern.ask(answer)
    expect(lost.error).not.toHaveProperty('data')
    expect(lost.error?.message).toContain('may have done part of its work')
    const again = (await modern.ask()).result
    const [newKey = ''] = Object.keys(again?.inputRequests ?? {})
    const done = await modern.ask({
      inputResponses: { [newKey]: ANSWER },
      requestState: again?.requestState,
    })
    expect(JSON.stringify(done.result)).toContain('hello')

    // SIGTERM lets a call under way end, for which its client need not do anything.
    const slow = await older.send('tools/call', {
      name: 'everything__trigger-long-running-operation',
      arguments: { duration: 2, steps: 2 },
      // The headers of the response come with the first progress.
      _meta: { progressToken: 1 },
    })
    const left = childrenOf(next.pid)
    next.child.kill('SIGTERM')
    expect(JSON.stringify((await lastMessage(slow)).result)).toContain('Long running operation completed')
    expect((await next.ended).status).toBe(0)
    expect(left.filter(isRunning)).toEqual([])
  })
})

const ANSWER = { model: 'm', role: 'assistant', content: { type: 'text', text: 'hello' } }

interface Response {
  readonly result?: {
    readonly tools?: readonly { readonly name: string }[]
    readonly requestState?: string
    readonly inputRequests?: Readonly<Record<string, unknown>>
  }
  readonly error?: { readonly message: string; readonly data?: unknown }
}

/** A client of an older revision that knows nothing of restarts. */
class OlderClient {
  readonly #url: string
  readonly #headers: Record<string, string>
  #nextId = 1

  constructor(url: string, token: string) {
    this.#url = url
    this.#headers = { authorization: `Bearer ${token}` }
  }

  async open(): Promise<void> {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'older', version: '1' },
    }
    const response = await this.#post({ id: 0, method: 'initialize', params })
    await response.text()
    this.#headers['mcp-session-id'] = response.headers.get('mcp-session-id') ?? ''
    await (await this.#post({ method: 'notifications/initialized' })).text()
  }

  async names(): Promise<readonly string[]> {
    const { result } = await this.request('tools/list', {})
    return result?.tools?.map(({ name }) => name) ?? []
  }

  async request(method: string, params: object): Promise<Response> {
    return lastMessage(await this.send(method, params))
  }

  send(method: string, params: object): Promise<globalThis.Response> {
    return this.#post({ id: this.#nextId++, method, params })
  }

  #post(message: object): Promise<globalThis.Response> {
    return post(this.#url, this.#headers, message)
  }
}

class ModernClient {
  readonly #url: string
  readonly #token: string

  constructor(url: string, token: string) {
    this.#url = url
    this.#token = token
  }

  /** Calls a tool that asks its client for something, over and over. */
  async ask(more: object = {}): Promise<Response> {
    const name = 'everything__trigger-sampling-request'
    const headers = {
      authorization: `Bearer ${this.#token}`,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
    }
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'modern', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': { sampling: {} },
    }
    const params = { name, arguments: { prompt: 'hi', maxTokens: 9 }, ...more, _meta }
    return lastMessage(await post(this.#url, headers, { id: 1, method: 'tools/call', params }))
  }
}

function post(url: string, headers: Record<string, string>, message: object): Promise<globalThis.Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  })
}

async function lastMessage(response: globalThis.Response): Promise<Response> {
  const body = await response.text()
  const events = [...body.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => data)
  return JSON.parse(events.at(-1) ?? body)
}

async function freePort(): Promise<string> {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const address = listener.address()
  listener.close()
  await once(listener, 'close')
  return String(typeof address === 'object' ? address?.port : '')
}
