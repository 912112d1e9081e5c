import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MessageGuard, rawResult } from './message-guard.ts'

describe('MessageGuard', () => {
  it('lets an answer through once, and only to who asked', () => {
    const guard = waitingFor(7)
    const answer = { jsonrpc: '2.0', id: 7, result: {} }
    expect(guard.received({ ...answer, id: 8 })).toEqual({
      warning: expect.stringContaining('nobody made (id 8)'),
    })
    expect(guard.received(answer)).toEqual({ message: answer })
    expect(guard.received(answer).message).toBeUndefined()
  })

  it('drops the late answer of a cancelled request without a word', () => {
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
  ])('ends the call of an answer with %s', (_what, part) => {
    const { message } = waitingFor(7).received({ jsonrpc: '2.0', id: 7, ...part })
    expect(message).toMatchObject({ id: 7, error: { code: -32603 } })
  })

  it('ends the call of an answer whose id has another type', () => {
    expect(waitingFor(7).received({ jsonrpc: '2.0', id: '7', result: {} }).message).toMatchObject({
      id: 7,
      error: {},
    })
  })

  it('takes any JSON without throwing, and never lets through what nobody asked for', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (json) => {
        const { message } = waitingFor('only').received(json)
        if (message && 'id' in message && !('method' in message)) expect(message.id).toBe('only')
      }),
    )
  })

  it('shows the protocol code an empty answer, and keeps the real one, of a request wanted raw', () => {
    const guard = new MessageGuard()
    guard.raw(() => guard.sent({ jsonrpc: '2.0', id: 1, method: 'tools/list' }))
    const result = { tools: [{ bad: true }] }
    const { message } = guard.received({ jsonrpc: '2.0', id: 1, result })
    expect(message).toMatchObject({ result: { tools: [] } })
    expect(rawResult(message && 'result' in message ? message.result : undefined)).toBe(result)
  })

  it('leaves an answer that asks for more input as it is', () => {
    const guard = new MessageGuard()
    guard.raw(() => guard.sent({ jsonrpc: '2.0', id: 1, method: 'tools/call' }))
    const answer = { jsonrpc: '2.0', id: 1, result: { resultType: 'input_required', inputRequests: {} } }
    expect(guard.received(answer)).toEqual({ message: answer })
  })
})

function waitingFor(id: string | number): MessageGuard {
  const guard = new MessageGuard()
  guard.sent({ jsonrpc: '2.0', id, method: 'tools/call' })
  return guard
}
