import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import type { Schedule } from '@toolcrib/core'
import { describe, expect, it } from 'vitest'
import { MessageGuard } from './message-guard.ts'
import { type GuardedTransport, handOn, Requests, type SendOptions, ServerError } from './requests.ts'

const LIMITS = { timeoutMs: 1_000 }

describe('Requests', () => {
  it('resolve with the received object itself', async () => {
    const wire = new Wire()
    const result = { tools: [{ bad: true }], resultType: 'input_required', unknown: 1 }
    const answered = wire.requests.send('tools/list', undefined, LIMITS)
    wire.answer({ result })
    expect(await answered).toBe(result)
    expect(wire.sent).toEqual([{ jsonrpc: '2.0', id: expect.any(Number), method: 'tools/list' }])
  })

  it("reject with the server's own error", async () => {
    const wire = new Wire()
    const answered = wire.requests.send('x', undefined, LIMITS)
    wire.answer({ error: { code: -5, message: 'no', data: [1] } })
    await expect(answered).rejects.toBeInstanceOf(ServerError)
    await expect(answered).rejects.toMatchObject({ code: -5, message: 'no', data: [1] })
  })

  it('request progress only with a listener, and ignore its exceptions', async () => {
    const wire = new Wire()
    void wire.requests.send('x', { _meta: { progressToken: 'mine' } }, LIMITS)
    expect(wire.sent[0]).toMatchObject({ params: { _meta: { progressToken: 'mine' } } })
    const notes: unknown[] = []
    const onProgress = (note: unknown) => {
      notes.push(note)
      throw new Error('fails')
    }
    const answered = wire.requests.send('x', { a: 1, _meta: { own: 2 } }, { ...LIMITS, onProgress })
    const progressToken = wire.lastId
    expect(wire.sent[1]).toMatchObject({ params: { a: 1, _meta: { own: 2, progressToken } } })
    wire.receive({ method: 'notifications/progress', params: { progressToken, progress: 1, message: 'm' } })
    wire.receive({ method: 'notifications/progress', params: { progressToken, progress: 'odd' } })
    wire.answer({ result: {} })
    await answered
    expect(notes).toEqual([{ progress: 1, message: 'm' }])
  })

  it('time out and are cancelled on the server, unless progress restarts the timeout', async () => {
    const wire = new Wire()
    const options = { timeoutMs: 1_000, maxTotalMs: 2_500, onProgress: () => {} }
    const answered = wire.requests.send('x', undefined, options)
    const settled = answered.catch((error: unknown) => error)
    const progressToken = wire.lastId
    for (let step = 0; step < 2; step++) {
      wire.pass(900)
      wire.receive({ method: 'notifications/progress', params: { progressToken, progress: step } })
    }
    wire.pass(699)
    expect(wire.sent).toHaveLength(1)
    wire.pass(1)
    expect(await settled).toMatchObject({ name: 'TooLateError', afterMs: 2_500 })
    expect(wire.sent[1]).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: progressToken },
    })
    expect(wire.guard.isInUse).toBe(false)
  })

  it('time out after silence', async () => {
    const wire = new Wire()
    const settled = wire.requests.send('x', undefined, LIMITS).catch((error: unknown) => error)
    wire.pass(1_000)
    expect(await settled).toMatchObject({ message: 'no response within 1000 ms', afterMs: 1_000 })
  })

  it('wait indefinitely without a limit', () => {
    const wire = new Wire()
    void wire.requests.send('x', undefined, { timeoutMs: 0 })
    wire.pass(10 ** 9)
    expect(wire.sent).toHaveLength(1)
  })

  it("carry the connection's envelope, overridden by the caller's fields", async () => {
    const wire = new Wire()
    wire.requests.envelope = { version: 'a', client: 'b' }
    void wire.requests.send('x', { _meta: { client: 'own' } }, LIMITS)
    await wire.requests.notify('y', undefined)
    expect(wire.sent).toMatchObject([
      { params: { _meta: { version: 'a', client: 'own' } } },
      { params: { _meta: { version: 'a', client: 'b' } } },
    ])
  })

  it('are cancelled on a modern HTTP server by closing their stream', async () => {
    const wire = new Wire({ hasPerRequestStream: true })
    wire.requests.envelope = {}
    const abort = new AbortController()
    const settled = wire.requests
      .send('x', undefined, { ...LIMITS, signal: abort.signal })
      .catch((error: unknown) => error)
    abort.abort('enough')
    expect(await settled).toBe('enough')
    expect(wire.sent).toHaveLength(1)
    expect(wire.options[0]?.requestSignal?.aborted).toBe(true)
  })

  it('all fail when the connection fails, and late responses are dropped', async () => {
    const wire = new Wire()
    const settled = wire.requests.send('x', undefined, LIMITS).catch((error: unknown) => error)
    const failure = new Error('gone')
    wire.requests.failAll(failure)
    expect(await settled).toBe(failure)
    expect(wire.guard.received({ jsonrpc: '2.0', id: wire.lastId, result: {} })).toEqual({})
  })

  it('fail when they cannot be sent', async () => {
    const wire = new Wire({ sendFails: true })
    await expect(wire.requests.send('x', undefined, LIMITS)).rejects.toThrow('cannot send')
  })
})

class Wire implements GuardedTransport {
  onmessage?: (message: JSONRPCMessage) => void
  intercept = (message: JSONRPCMessage) => this.requests.take(message)
  readonly guard = new MessageGuard()
  readonly sent: JSONRPCMessage[] = []
  readonly options: (SendOptions | undefined)[] = []
  readonly hasPerRequestStream: boolean
  readonly requests: Requests
  readonly #sendFails: boolean
  readonly #timers = new Set<{ at: number; fire: () => void }>()
  #now = 0

  constructor({ hasPerRequestStream = false, sendFails = false } = {}) {
    this.hasPerRequestStream = hasPerRequestStream
    this.#sendFails = sendFails
    const schedule: Schedule = (delayMs, fire) => {
      const timer = { at: this.#now + delayMs, fire }
      this.#timers.add(timer)
      return () => this.#timers.delete(timer)
    }
    this.requests = new Requests(this, { now: () => this.#now, schedule })
  }

  get lastId(): unknown {
    const request = this.sent.findLast((message) => 'id' in message)
    return request && 'id' in request ? request.id : undefined
  }

  pass(ms: number): void {
    this.#now += ms
    for (const timer of [...this.#timers])
      if (timer.at <= this.#now && this.#timers.delete(timer)) timer.fire()
  }

  answer(answer: object): void {
    this.receive({ id: this.lastId, ...answer })
  }

  receive(message: object): void {
    const verdict = this.guard.received({ jsonrpc: '2.0', ...message })
    if (verdict.message) handOn(verdict.message, this)
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage, options?: SendOptions): Promise<void> {
    if (this.#sendFails) throw new Error('cannot send')
    this.guard.sent(message, options)
    this.sent.push(message)
    this.options.push(options)
  }

  async close(): Promise<void> {}
}
