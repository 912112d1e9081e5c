import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { MessageGuard } from './message-guard.ts'
import type { ServerNotification } from './server-messages.ts'
import { type ClientOptions, ServerListeners, ServerMessages, type ServerRequest } from './server-messages.ts'

describe('ServerMessages', () => {
  it('answers up to a thousand pings a second, and warns once about more', () => {
    const { messages, sent, warnings, pass } = begin()
    const flood = () => {
      for (let id = 0; id < 3_000; id++) messages.take({ jsonrpc: '2.0', id, method: 'ping' })
    }
    flood()
    expect(sent).toHaveLength(1_000)
    expect(sent[0]).toEqual({ jsonrpc: '2.0', id: 0, result: {} })
    expect(warnings).toEqual([expect.stringContaining('more than 1000 requests within a second')])
    pass(999)
    messages.take({ jsonrpc: '2.0', id: 'late', method: 'ping' })
    expect(sent).toHaveLength(1_000)
    pass(1)
    messages.take({ jsonrpc: '2.0', id: 'later', method: 'ping' })
    expect(sent.at(-1)).toMatchObject({ id: 'later' })
    expect(warnings).toHaveLength(1)
  })

  it('responds with "method not found" without a handler', async () => {
    const { messages, sent, settle } = begin()
    expect(messages.take({ jsonrpc: '2.0', id: 1, method: 'roots/list' })).toBe(true)
    await settle()
    expect(sent).toEqual([{ jsonrpc: '2.0', id: 1, error: { code: -32_601, message: 'Method not found' } }])
  })

  it("sends the handler's return value as the result, and what it throws as the error", async () => {
    const onRequest = ({ method }: ServerRequest) => {
      if (method === 'good') return { roots: [] }
      throw method === 'coded' ? Object.assign(new Error('no'), { code: -7, data: 1 }) : new Error('oops')
    }
    const { messages, sent, settle } = begin({ onRequest })
    for (const [id, method] of ['good', 'coded', 'bad'].entries())
      messages.take({ jsonrpc: '2.0', id, method })
    await settle()
    const byId = sent.toSorted((a, b) => Number('id' in a && a.id) - Number('id' in b && b.id))
    expect(byId).toEqual([
      { jsonrpc: '2.0', id: 0, result: { roots: [] } },
      { jsonrpc: '2.0', id: 1, error: { code: -7, message: 'no', data: 1 } },
      { jsonrpc: '2.0', id: 2, error: { code: -32_603, message: 'oops' } },
    ])
  })

  it('handles at most a hundred requests at once', async () => {
    let asked = 0
    const onRequest = () => new Promise(() => asked++)
    const { messages, sent, settle } = begin({ onRequest })
    for (let id = 0; id < 101; id++) messages.take({ jsonrpc: '2.0', id, method: 'roots/list' })
    await settle()
    expect(asked).toBe(100)
    expect(sent).toMatchObject([{ id: 100, error: { code: -32_603 } }])
  })

  it('does not respond to a cancelled request, or after the connection closed', async () => {
    const signals: AbortSignal[] = []
    const onRequest = ({ signal }: ServerRequest) => {
      signals.push(signal)
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve({})))
    }
    const { messages, sent, settle } = begin({ onRequest })
    messages.take({ jsonrpc: '2.0', id: 1, method: 'x' })
    messages.take({ jsonrpc: '2.0', id: 2, method: 'x' })
    messages.take({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
    messages.close()
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
    await settle()
    expect(sent).toEqual([])
  })

  it('drops requests from a modern server, which must not send any', async () => {
    const { messages, sent, warnings, settle } = begin({ onRequest: () => ({}) })
    messages.isModern = true
    expect(messages.take({ jsonrpc: '2.0', id: 1, method: 'roots/list' })).toBe(true)
    await settle()
    expect(sent).toEqual([])
    expect(warnings).toEqual([expect.stringContaining('"roots/list"')])
  })

  it('forwards notifications to a listener that may fail, and all but log messages to the SDK', () => {
    const heard: unknown[] = []
    const onNotification = (note: unknown) => {
      heard.push(note)
      throw new Error('fails')
    }
    const { messages } = begin({ onNotification })
    let changes = 0
    messages.on('notifications/tools/list_changed', () => changes++)
    const params = { data: 1 }
    expect(messages.take({ jsonrpc: '2.0', method: 'notifications/message', params })).toBe(true)
    expect(messages.take({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })).toBe(false)
    expect(heard).toMatchObject([
      { server: 'a', sessionKey: 'key', method: 'notifications/message', params },
      { method: 'notifications/tools/list_changed' },
    ])
    expect(changes).toBe(1)
    expect(messages.take({ jsonrpc: '2.0', id: 1, result: {} })).toBe(false)
  })
})

function begin(client: Partial<ClientOptions> = {}) {
  const sent: JSONRPCMessage[] = []
  const warnings: string[] = []
  let now = 0
  const messages = new ServerMessages({
    server: 'a',
    sessionKey: 'key',
    client: { name: 'test', version: '1', ...client },
    transport: {
      guard: new MessageGuard(),
      start: async () => {},
      close: async () => {},
      send: async (message) => void sent.push(message),
    },
    now: () => now,
    onWarning: (warning) => warnings.push(warning),
  })
  const pass = (ms: number) => {
    now += ms
  }
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return { messages, sent, warnings, pass, settle }
}

const NAMED = { name: 'toolcrib', version: '1' }
const NOTE: ServerNotification = { server: 's', method: 'notifications/message' }
const request = { ...NOTE, signal: new AbortController().signal }

describe('listeners of the shared connections', () => {
  it('all get notifications, whichever of them fails', () => {
    const heard: string[] = []
    const listeners = new ServerListeners({ onNotification: () => heard.push('own') })
    listeners.attach({
      onNotification: () => {
        throw new Error('broken')
      },
    })
    const detach = listeners.attach({ onNotification: () => heard.push('attached') })
    const client = listeners.asClient(NAMED)
    client.onNotification?.(NOTE)
    detach()
    client.onNotification?.(NOTE)
    expect(heard).toEqual(['own', 'attached', 'own'])
  })

  it('answer requests, the last one attached first, and nobody does when there is none', () => {
    const listeners = new ServerListeners()
    const client = listeners.asClient(NAMED)
    expect(client.onRequest).toBeUndefined()
    const detach = listeners.attach({ onRequest: () => 'first' })
    listeners.attach({ onNotification: () => {} })
    expect(client.onRequest?.(request)).toBe('first')
    listeners.attach({ onRequest: () => 'second' })
    expect(client.onRequest?.(request)).toBe('second')
    detach()
    expect(client.onRequest?.(request)).toBe('second')
  })
})
