import { memoryStore, watchStore } from '@toolcrib/mcp/stores'
import { describe, expect, it } from 'vitest'
import { RequestStates } from './request-states.ts'

describe('sealed states', () => {
  it('open for what they were sealed for, and for nothing else', async () => {
    const states = new RequestStates(undefined, { limits: { askTimeoutMs: 1_000 }, now: () => 0 })
    const sealed = await states.seal({ parked: 'x' }, 'ada add')
    expect(await states.open(sealed, 'ada add')).toEqual({ parked: 'x' })
    expect(await states.open(sealed, 'bob add')).toBeUndefined()
    expect(await states.open(sealed, 'ada remove')).toBeUndefined()
  })

  it('do not open once they are changed, or too old', async () => {
    let now = 0
    const states = new RequestStates(undefined, { limits: { askTimeoutMs: 1_000 }, now: () => now })
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
    const time = { limits: { askTimeoutMs: 1_000 }, now: () => 0 }
    const store = watchStore(memoryStore())
    const sealed = await new RequestStates(store, time).seal({ parked: 'x' }, 'ada')
    expect(await new RequestStates(store, time).open(sealed, 'ada')).toEqual({ parked: 'x' })
    expect(await new RequestStates(undefined, time).open(sealed, 'ada')).toBeUndefined()
  })
  it('open after the store was away, also when it lost its key meanwhile or fails again', async () => {
    const time = { limits: { askTimeoutMs: 1_000 }, now: () => 0 }
    const inner = memoryStore()
    const store = watchStore(inner)
    const listeners: (() => void)[] = []
    store.onBack = (listener) => {
      listeners.push(listener)
      return () => {}
    }
    const states = new RequestStates(store, time)
    await states.seal({}, 'ada')
    const other = new RequestStates(store, time)
    const sealed = await other.seal({ parked: 'x' }, 'ada')
    const back = () => {
      for (const listener of listeners) listener()
    }
    const opens = async () =>
      expect(await Promise.all([states, other].map((each) => each.open(sealed, 'ada')))).toEqual([
        { parked: 'x' },
        { parked: 'x' },
      ])
    await inner.delete('gateway:state-key')
    back()
    await opens()
    // The key that the store has now is that of a replica which started in between.
    await inner.set('gateway:state-key', 'ab'.repeat(32))
    back()
    await opens()
    await inner.close()
    back()
    await opens()
  })
  it('open at another replica also when the key could not be read at first', async () => {
    const time = { limits: { askTimeoutMs: 1_000 }, now: () => 0 }
    const inner = memoryStore()
    const store = watchStore(inner)
    const { update } = inner
    inner.update = () => Promise.reject(new Error('it is slow to start'))
    const states = new RequestStates(store, time)
    await states.open('x.y', 'ada')
    inner.update = update.bind(inner)
    const sealed = await states.seal({ parked: 'x' }, 'ada')
    expect(await new RequestStates(store, time).open(sealed, 'ada')).toEqual({ parked: 'x' })
  })
})
