import { expect, it } from 'vitest'
import { DEFAULT_LIMITS } from '../gateway-options.ts'
import type { Json } from '../json-rpc.ts'
import { CAPABILITIES_KEY } from '../protocol.ts'
import { ModernCalls } from './modern-calls.ts'
import { ParkedRecords } from './parked-records.ts'
import type { ModernRequest } from './pending-call.ts'
import { RequestStates } from './request-states.ts'

it('a client with many calls that wait for answers does not keep others from waiting', async () => {
  const limits = { ...DEFAULT_LIMITS, maxParked: 3 }
  let ids = 0
  const schedule = (delayMs: number, fire: () => void) => {
    if (delayMs < 1_000) setImmediate(fire)
    return () => {}
  }
  const services = { limits, schedule, newId: () => `id-${++ids}`, now: () => 0, warn: () => {} }
  const records = new ParkedRecords(undefined, limits)
  const calls = new ModernCalls(new RequestStates(undefined, services), records, services, undefined)
  const cancelled: string[] = []
  const ask = (principal: string, call: string): Promise<Json> =>
    calls.run({ params: {}, request, principal, boundTo: () => principal }, async (_params, line) => {
      line.signal.addEventListener('abort', () => cancelled.push(call))
      return line.ask('sampling/createMessage', {}, line.signal)
    })
  for (const call of ['ada 1', 'ada 2', 'ada 3'])
    expect(await ask('ada', call)).toMatchObject({ resultType: 'input_required' })
  await expect(ask('ada', 'ada 4')).rejects.toMatchObject({ code: -32_000 })
  expect(await ask('bob', 'bob 1')).toMatchObject({ resultType: 'input_required' })
  await expect(ask('bob', 'bob 2')).rejects.toMatchObject({ code: -32_000 })
  expect(cancelled).toEqual(['ada 4', 'ada 1', 'bob 2'])
  expect(calls.parked).toBe(3)
})

const request: ModernRequest = {
  signal: new AbortController().signal,
  meta: {},
  envelope: { [CAPABILITIES_KEY]: { sampling: {} } },
  inputResponses: {},
  requestState: undefined,
  notify: () => {},
  ask: () => Promise.reject(new Error('modern clients are not asked')),
  flushed: async () => {},
}
