import { memoryStore, watchStore } from 'toolcrib/stores'
import { describe, expect, it } from 'vitest'
import { RequestStates } from './request-states.ts'

describe('sealed states', () => {
  it('open for what they were sealed for, and for nothing else', async () => {
    const states = new RequestStates(undefined, { ttlMs: 1_000, now: () => 0 })
    const sealed = await states.seal({ parked: 'x' }, 'ada add')
    expect(await states.open(sealed, 'ada add')).toEqual({ parked: 'x' })
    expect(await states.open(sealed, 'bob add')).toBeUndefined()
    expect(await states.open(sealed, 'ada remove')).toBeUndefined()
  })

  it('do not open once they are changed, or too old', async () => {
    let now = 0
    const states = new RequestStates(undefined, { ttlMs: 1_000, now: () => now })
    const sealed = await states.seal({ parked: 'x' }, 'ada')
    const [content = '', signature = ''] = sealed.split('.')
    const other = Buffer.from(JSON.stringify({ content: { parked: 'y' }, until: 9e9 })).toString('base64url')
    for (const forged of [
      `${other}.${signature}`,
      content,
      `${content}.`,
      `.${signature}`,
      '',
      'x.y',
      `${sealed}A`,
    ])
      expect(await states.open(forged, 'ada')).toBeUndefined()
    now = 1_001
    expect(await states.open(sealed, 'ada')).toBeUndefined()
  })

  it('open after a restart when there is a store, and not without one', async () => {
    const time = { ttlMs: 1_000, now: () => 0 }
    const store = watchStore(memoryStore())
    const sealed = await new RequestStates(store, time).seal({ parked: 'x' }, 'ada')
    expect(await new RequestStates(store, time).open(sealed, 'ada')).toEqual({ parked: 'x' })
    expect(await new RequestStates(undefined, time).open(sealed, 'ada')).toBeUndefined()
  })
})
