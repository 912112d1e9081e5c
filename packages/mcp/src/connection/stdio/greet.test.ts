import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import type { Schedule } from '@toolcrib/core'
import { Deadline } from '@toolcrib/core/internal'
import { describe, expect, it } from 'vitest'
import { MessageGuard } from '../message-guard.ts'
import type { GuardedTransport, SendOptions } from '../requests.ts'
import { handOn } from '../requests.ts'
import { greet, SpeaksBothError } from './greet.ts'

const DISCOVERED = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
const INITIALIZED = { protocolVersion: '2025-11-25', capabilities: {} }

describe('greet', () => {
  it('detects a modern server by its response to the modern greeting', async () => {
    const server = new ScriptedServer({ 'server/discover': { result: DISCOVERED } })
    expect(await server.greet()).toEqual({ kind: 'modern', discover: DISCOVERED })
    expect(server.asked).toEqual(['server/discover'])
  })

  it.each([
    ['rejects the greeting', { error: { code: -32_601, message: 'Method not found' } }],
    [
      'supports no revision that we support',
      { result: { supportedVersions: ['2031-01-01'], capabilities: {} } },
    ],
    ['responds with something else', { result: {} }],
  ])('treats a server as old when it %s', async (_what, answer) => {
    const server = new ScriptedServer({ 'server/discover': answer })
    expect(await server.greet()).toEqual({ kind: 'legacy' })
    expect(server.asked).toEqual(['server/discover'])
  })

  it('greets a silent server in the old way after a second, and only once', async () => {
    const server = new ScriptedServer({ initialize: { result: INITIALIZED } })
    const greeting = server.greet()
    await server.pass(999)
    expect(server.asked).toEqual(['server/discover'])
    await server.pass(1)
    expect(await greeting).toEqual({ kind: 'legacy' })
    expect(server.asked).toEqual(['server/discover', 'initialize'])
    expect(server.greeted).toEqual(INITIALIZED)
    expect(server.guard.isInUse).toBe(false)
  })

  it('waits for a slow modern server that rejects the old greeting', async () => {
    const server = new ScriptedServer({})
    const greeting = server.greet()
    await server.pass(5_000)
    server.answer('initialize', { error: { code: -32_022, message: 'too old' } })
    await server.pass(1)
    server.answer('server/discover', { result: DISCOVERED })
    expect(await greeting).toMatchObject({ kind: 'modern' })
  })

  it('detects a modern server that ignores the old greeting', async () => {
    const server = new ScriptedServer({})
    const greeting = server.greet()
    await server.pass(2_000)
    server.answer('server/discover', { result: DISCOVERED })
    await server.pass(1_000)
    expect(await greeting).toMatchObject({ kind: 'modern' })
  })

  it('restarts a slow server that supports both eras, while there is time', async () => {
    const slow = async (bootMs: number) => {
      const server = new ScriptedServer({})
      const greeting = server.greet()
      const settled = greeting.catch((error: unknown) => error)
      await server.pass(bootMs)
      server.answer('server/discover', { result: DISCOVERED })
      server.answer('initialize', { result: INITIALIZED })
      return settled
    }
    expect(await slow(2_000)).toBeInstanceOf(SpeaksBothError)
    expect(await slow(20_000)).toEqual({ kind: 'legacy' })
  })

  it('gives a server that was modern last time as long as it needs', async () => {
    const server = new ScriptedServer({})
    const greeting = server.greet('modern')
    await server.pass(10_000)
    server.answer('server/discover', { result: DISCOVERED })
    expect(await greeting).toMatchObject({ kind: 'modern' })
    expect(server.asked).toEqual(['server/discover'])
  })

  it('reports a server that exits because of the greeting', async () => {
    const server = new ScriptedServer({})
    const greeting = server.greet()
    await server.pass(0)
    server.onclose?.()
    await expect(greeting).rejects.toMatchObject({ code: 'ERA_NEGOTIATION_FAILED' })
  })
})

type Answer = { readonly result: object } | { readonly error: { code: number; message: string } }

/** A server with scripted responses; it sends the rest on request. */
class ScriptedServer implements GuardedTransport {
  onclose?: () => void
  onmessage?: (message: JSONRPCMessage) => void
  intercept?: (message: JSONRPCMessage) => boolean
  readonly guard = new MessageGuard()
  readonly asked: string[] = []
  greeted: object | undefined
  readonly #answers: Readonly<Record<string, Answer>>
  readonly #ids = new Map<string, unknown>()
  readonly #timers = new Set<{ at: number; fire: () => void }>()
  #now = 0

  constructor(answers: Readonly<Record<string, Answer>>) {
    this.#answers = answers
  }

  greet(era?: 'modern' | 'legacy') {
    const schedule: Schedule = (delayMs, fire) => {
      const timer = { at: this.#now + delayMs, fire }
      this.#timers.add(timer)
      return () => this.#timers.delete(timer)
    }
    const now = () => this.#now
    const client = { name: 'test', version: '1' }
    return greet(this, { client, deadline: new Deadline(now, 30_000), era }, { now, schedule })
  }

  async pass(ms: number): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    this.#now += ms
    for (const timer of this.#timers) {
      if (timer.at > this.#now || !this.#timers.delete(timer)) continue
      timer.fire()
    }
    await new Promise((resolve) => setImmediate(resolve))
  }

  answer(method: string, answer: Answer): void {
    const { message } = this.guard.received({ jsonrpc: '2.0', id: this.#ids.get(method), ...answer })
    if (message) handOn(message, this)
  }

  answerGreeting(result: object): void {
    this.greeted = result
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage, options?: SendOptions): Promise<void> {
    this.guard.sent(message, options)
    if (!('method' in message) || !('id' in message)) return
    this.asked.push(message.method)
    this.#ids.set(message.method, message.id)
    const answer = this.#answers[message.method]
    if (answer) queueMicrotask(() => this.answer(message.method, answer))
  }

  async close(): Promise<void> {}
}
