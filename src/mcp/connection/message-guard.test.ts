import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MessageGuard } from './message-guard.ts'

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
    ['an error that is text', { error: 'boom' }],
    ['an error without a code', { error: { message: 'x' } }],
    ['an error that is null', { error: null }],
    ['no result', {}],
    ['a result that is a list', { result: [] }],
    ['a __proto__ key', { result: JSON.parse('{"a":[{"__proto__":1}]}') }],
  ])('fails the call when its response has %s', (_what, part) => {
    const { message } = waitingFor(7).received({ jsonrpc: '2.0', id: 7, ...part })
    expect(message).toMatchObject({ id: 7, error: { code: -32603 } })
  })

  it('fails the call when the id of its response has another type', () => {
    expect(waitingFor(7).received({ jsonrpc: '2.0', id: '7', result: {} }).message).toMatchObject({
      id: 7,
      error: {},
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
    guard.received({ jsonrpc: '2.0', id: 3, result: {} })
    guard.forget(4)
    guard.received({ jsonrpc: '2.0', id: 1, result: {} })
    expect([guard.isInUse, uses]).toEqual([false, 3])
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
    expect(guard.received({ jsonrpc: '2.0', id: 1_000, result: {} })).toEqual({})
    expect(guard.received({ jsonrpc: '2.0', id: 0, result: {} })).toEqual({
      warning: expect.stringContaining('unknown request (id 0)'),
    })
  })

  it('accepts at most 512 levels', () => {
    const nested = (levels: number) => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`)
    const answer = (levels: number) =>
      waitingFor(7).received({ jsonrpc: '2.0', id: 7, result: { deep: nested(levels) } }).message
    expect(answer(511)).toHaveProperty('result')
    expect(answer(512)).toMatchObject({ error: { message: expect.stringContaining('512 levels deep') } })
  })
})

function waitingFor(id: string | number): MessageGuard {
  const guard = new MessageGuard()
  guard.sent({ jsonrpc: '2.0', id, method: 'tools/call' })
  return guard
}
