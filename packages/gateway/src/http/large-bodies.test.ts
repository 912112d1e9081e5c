import { expect, it } from 'vitest'
import type { Exchange } from './exchange.ts'
import { LargeBodies } from './large-bodies.ts'

it('large bodies of one token leave room for those of others', () => {
  const bodies = new LargeBodies()
  const exchange = { header: () => '1000000' } as unknown as Exchange
  const rooms = Array.from({ length: 64 }, () => bodies.admit(exchange, 'ada'))
  expect(rooms.filter((room) => room !== undefined)).toHaveLength(48)
  expect(bodies.admit(exchange, 'bob')).toBeDefined()
  rooms[0]?.leave()
  expect(bodies.admit(exchange, 'ada')).toBeDefined()
})
