import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MessageGuard } from './message-guard.ts'
import { handOn } from './requests.ts'

describe('MessageGuard', () => {
  it('forwards a response once, and only for a pending request', () => {
    const guard = waitingFor(7)
    const answer = { jsonrpc: '2.0', id: 7, result: {} }
    expect(guard.received({ ...answer, id: 8 })).toEqual({
      warning: expect.stringContaining('unknown request (id 8)'),
    })
    expect(guard.received(answer)).toEqual({ message: answer })
    expect(guard.received(answer).message).toBeUndefined()
  })

  it('drops the late response to a cancelled request without a warning', () => {
    const guard = waitingFor(7)
    guard.sent({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } })
    expect(guard.received({ jsonrpc: '2.0', id: 7, result: {} })).toEqual({})
  })

  it.each([
    ['an error that is text', { error: 'boom' }, 'its response is a malformed error: "boom"'],
    ['an error without a code', { error: { message: 'x' } }, 'is a malformed error: {"message":"x"}'],
    [
      'an error with half a code',
      { error: { code: 0.5, message: 'x' } },
      'is a malformed error: {"code":0.5,"message":"x"}',
    ],
    ['an error without a message', { error: { code: 1 } }, 'is a malformed error: {"code":1}'],
    ['an error that is null', { error: null }, 'is a malformed error: null'],
    ['an error and a result', { error: 1, result: {} }, 'is a malformed error: 1'],
    ['a long error', { error: 'x'.repeat(500) }, `is a malformed error: "${'x'.repeat(199)}`],
    ['an error too deep to show', { error: deepList(100_000) }, 'a malformed error: something unreadable'],
    ['no result', {}, 'its response has no result object: nothing'],
    ['a result that is a list', { result: [] }, 'its response has no result object: []'],
    [
      'a __proto__ key',
      { result: JSON.parse('{"n":null,"a":[null,{"__proto__":1}]}') },
      'its response has a key named __proto__',
    ],
  ])('fails the call when its response has %s', (_what, part, reason) => {
    const verdict = waitingFor(7).received({ jsonrpc: '2.0', id: 7, ...part })
    const warning = expect.stringMatching(new RegExp(`${escaped(reason)}$`))
    expect(verdict).toEqual({
      message: { jsonrpc: '2.0', id: 7, error: { code: -32603, message: warning } },
      warning,
    })
  })

  it('forwards an error that is whole', () => {
    const answer = { jsonrpc: '2.0', id: 7, error: { code: -32000, message: 'not today', data: [null] } }
    expect(waitingFor(7).received(answer)).toEqual({ message: answer })
  })

  it.each([
    ['text', 'hello', 'it sent JSON that is not a message'],
    ['null', null, 'it sent JSON that is not a message'],
    ['a list', [{}], 'it sent JSON that is not a message'],
    ['neither an id nor a method', { jsonrpc: '2.0', result: {} }, 'it sent an object that is not a message'],
    ['an id that is an object', { jsonrpc: '2.0', id: {}, result: {} }, 'unknown request (id {})'],
    ['an id without a value', { jsonrpc: '2.0', id: undefined }, 'unknown request (id undefined)'],
    ['a long id', { jsonrpc: '2.0', id: 'i'.repeat(500) }, `unknown request (id "${'i'.repeat(79)})`],
    ['an empty id', { jsonrpc: '2.0', id: ' ' }, 'unknown request (id " ")'],
  ])('drops %s with a warning', (_what, json, warning) => {
    const guard = waitingFor(0)
    expect(guard.received(json)).toEqual({ warning: expect.stringContaining(warning) })
    expect(guard.isWaiting(0)).toBe(true)
  })

  it('names a malformed request by the start of its method', () => {
    const method = 'm'.repeat(500)
    expect(new MessageGuard().received({ jsonrpc: '1.0', method })).toEqual({
      warning: `its "${'m'.repeat(80)}" is malformed`,
    })
  })

  it('warns of a failure that belongs to no pending request', () => {
    expect(waitingFor(7).fail(8, 'it was cut off')).toEqual({ warning: 'it was cut off' })
    expect(waitingFor(7).fail(undefined, 'it was cut off')).toEqual({ warning: 'it was cut off' })
  })

  it('cancels nothing because of other notifications, or without an id', () => {
    const guard = waitingFor(7)
    guard.sent({ jsonrpc: '2.0', method: 'notifications/cancelled' })
    guard.sent({ jsonrpc: '2.0', method: 'notifications/progress', params: { requestId: 7 } } as never)
    guard.sent({ jsonrpc: '2.0', id: 7, result: {} })
    guard.forget(8)
    expect(guard.isWaiting(7)).toBe(true)
    expect(guard.received({ jsonrpc: '2.0', id: 8, result: {} }).warning).toContain('unknown request')
  })

  it('fails the call when the id of its response has another type', () => {
    expect(waitingFor(7).received({ jsonrpc: '2.0', id: '7', result: {} }).message).toMatchObject({
      id: 7,
      error: { message: 'it responded with id "7" instead of 7' },
    })
    expect(waitingFor('7').received({ jsonrpc: '2.0', id: 7, result: {} }).message).toMatchObject({
      id: '7',
      error: { message: 'it responded with id 7 instead of "7"' },
    })
  })

  it('accepts any JSON without throwing, and never forwards an unrequested response', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (json) => {
        const { message } = waitingFor('only').received(json)
        if (message && 'id' in message && !('method' in message)) expect(message.id).toBe('only')
      }),
    )
  })

  it.each([
    ['a response', { id: 7, result: {} }, { message: { id: 7, error: { code: -32603 } } }],
    ['a request', { id: 1, method: 'ping' }, { warning: expect.stringContaining('its "ping" is malformed') }],
    [
      'a notification',
      { method: 'notifications/message' },
      { warning: expect.stringContaining('malformed') },
    ],
  ])('rejects %s that is not JSON-RPC 2.0', (_what, rest, verdict) => {
    for (const jsonrpc of ['1.0', '2', 2, undefined, null]) {
      const received = waitingFor(7).received({ jsonrpc, ...rest })
      expect(received).toMatchObject(verdict)
      if (!('result' in rest)) expect(received.message).toBeUndefined()
    }
  })

  it.each([
    ['an id that is an object', { id: {}, method: 'ping' }],
    ['an id that is null', { id: null, method: 'ping' }],
    ['params that are a list', { method: 'notifications/message', params: [1] }],
    ['params that are text', { id: 1, method: 'ping', params: 'x' }],
  ])('rejects a message with %s', (_what, rest) => {
    expect(new MessageGuard().received({ jsonrpc: '2.0', ...rest })).toEqual({
      warning: expect.stringContaining('is malformed'),
    })
  })

  it('forwards a burst of changed lists once, and again after it has been handled', async () => {
    const guard = new MessageGuard()
    const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }
    const passedOn = () =>
      Array.from({ length: 1_000 }, () => guard.received(changed)).filter(({ message }) => message)
    expect(passedOn()).toEqual([{ message: changed }])
    expect(guard.received({ ...changed, method: 'notifications/prompts/list_changed' }).message).toBeDefined()
    await new Promise((resolve) => setImmediate(resolve))
    expect(passedOn()).toEqual([{ message: changed }])
    // A request of that name is not an announcement.
    const asked = { ...changed, id: 1 }
    expect([guard.received(asked), guard.received(asked)]).toEqual([{ message: asked }, { message: asked }])
  })

  it('forwards every notification with its own content', () => {
    const guard = new MessageGuard()
    const logged = { jsonrpc: '2.0', method: 'notifications/message', params: { data: 'x' } }
    expect([1, 2, 3].map(() => guard.received(logged))).toEqual([1, 2, 3].map(() => ({ message: logged })))
  })

  it('is in use while a request other than upkeep is pending', () => {
    const guard = new MessageGuard()
    let uses = 0
    guard.onUse(() => uses++)
    guard.sent({ jsonrpc: '2.0', id: 1, method: 'ping' }, { isUpkeep: true })
    guard.sent({ jsonrpc: '2.0', id: 2, method: 'subscriptions/listen' })
    expect([guard.isInUse, uses]).toEqual([false, 0])
    guard.sent({ jsonrpc: '2.0', id: 3, method: 'tools/call' })
    guard.sent({ jsonrpc: '2.0', id: 4, method: 'tools/call' })
    expect([guard.isInUse, uses]).toEqual([true, 2])
    guard.received({ jsonrpc: '2.0', id: 1, result: {} })
    expect([guard.isInUse, uses]).toEqual([true, 2])
    guard.received({ jsonrpc: '2.0', id: 3, result: {} })
    expect([guard.isInUse, uses]).toEqual([true, 3])
    guard.forget(4)
    guard.forget(4)
    guard.forget(2)
    expect([guard.isInUse, uses]).toEqual([false, 3])
    guard.sent({ jsonrpc: '2.0', id: 5, method: 'tools/call' })
    expect([guard.isInUse, uses]).toEqual([true, 4])
  })

  it('returns the only pending request, and none of several', () => {
    const guard = waitingFor(7)
    expect(guard.onlyWaiting).toBe(7)
    guard.sent({ jsonrpc: '2.0', id: 8, method: 'tools/call' })
    expect(guard.onlyWaiting).toBeUndefined()
    expect([guard.isWaiting(8), guard.isWaiting('8'), guard.isWaiting({})]).toEqual([true, false, false])
  })

  it('remembers the last thousand cancelled requests', () => {
    const guard = new MessageGuard()
    for (let id = 0; id < 1_001; id++) {
      guard.sent({ jsonrpc: '2.0', id, method: 'tools/call' })
      guard.forget(id)
    }
    expect(guard.received({ jsonrpc: '2.0', id: 1, result: {} })).toEqual({})
    expect(guard.received({ jsonrpc: '2.0', id: 1_000, result: {} })).toEqual({})
    expect(guard.received({ jsonrpc: '2.0', id: 0, result: {} })).toEqual({
      warning: expect.stringContaining('unknown request (id 0)'),
    })
  })

  it('accepts at most 512 levels', () => {
    const answer = (levels: number) =>
      waitingFor(7).received({ jsonrpc: '2.0', id: 7, result: { deep: deepList(levels) } }).message
    expect(answer(511)).toHaveProperty('result')
    expect(answer(512)).toMatchObject({ error: { message: expect.stringContaining('512 levels deep') } })
  })
})

describe('handOn', () => {
  const request = { jsonrpc: '2.0', id: 1, method: 'ping' } as const
  const response = { jsonrpc: '2.0', id: 1, result: {} } as const

  it('gives a message to the interceptor first, and to the SDK only what that one leaves', async () => {
    const seen: string[] = []
    const transport = {
      intercept: (message: object) => {
        seen.push('intercepted')
        return 'result' in message
      },
      onmessage: () => void seen.push('forwarded'),
    }
    handOn(response, transport)
    await Promise.resolve()
    expect(seen).toEqual(['intercepted'])
    handOn(request, transport)
    expect(seen).toEqual(['intercepted', 'intercepted', 'forwarded'])
  })

  it('forwards a response a microtask after a notification that came before it', async () => {
    const seen: object[] = []
    const onmessage = (message: object) => void seen.push(message)
    handOn(response, { onmessage })
    handOn(request, { onmessage })
    expect(seen).toEqual([request])
    await Promise.resolve()
    expect(seen).toEqual([request, response])
  })

  it('drops messages that nobody takes', async () => {
    handOn(request, {})
    handOn(response, {})
    await Promise.resolve()
  })
})

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** A list in a list in a list …, made without recursion. */
function deepList(levels: number): unknown[] {
  let list: unknown[] = []
  for (let level = 1; level < levels; level++) list = [list]
  return list
}

function waitingFor(id: string | number): MessageGuard {
  const guard = new MessageGuard()
  guard.sent({ jsonrpc: '2.0', id, method: 'tools/call' })
  return guard
}
