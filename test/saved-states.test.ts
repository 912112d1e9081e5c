import type { SessionState } from 'toolcrib'
import { memoryStore } from 'toolcrib/stores'
import { describe, expect, it } from 'vitest'
import { call, faultOf, lazyRegistry, shown } from './helpers.ts'

describe('the saved state of a fork', () => {
  const forked = async () => {
    const registry = lazyRegistry()
    const child = (await registry.openSession({ id: 'chat' })).fork({ tools: ['mcp__slack__*'] })
    await child.activate(['mcp__slack__send_message'])
    const state: SessionState = JSON.parse(JSON.stringify(child))
    return { registry, state }
  }

  it('is taken as it was saved, with its limits, under any id', async () => {
    const { registry, state } = await forked()
    for (const options of [{ state }, { id: 'other', state }]) {
      const restored = await registry.openSession(options)
      expect(restored.deferred()).toHaveLength(4)
      expect(await call(restored, 'mcp__github__get_file')).toMatchObject({ code: 'not_available' })
      const again = await registry.openSession({ state: JSON.parse(JSON.stringify(restored)) })
      expect(await call(again, 'mcp__github__get_file')).toMatchObject({ code: 'not_available' })
    }
  })

  it.each<[string, (state: SessionState) => object]>([
    ['a wider list', (state) => ({ ...state, allowlists: [['*']] })],
    ['one more name', (state) => ({ ...state, allowlists: [['mcp__slack__*', 'mcp__github__get_file']] })],
    ['no list', ({ allowlists: _, ...state }) => state],
    ['an empty list of lists', (state) => ({ ...state, allowlists: [] })],
    ['neither list nor seal', ({ allowlists: _, seal: __, ...state }) => state],
    ['no seal', ({ seal: _, ...state }) => state],
    ['the id of its parent', (state) => ({ ...state, id: 'chat' })],
    ['another fork’s id', (state) => ({ ...state, id: 'chat/2' })],
    ['invalid lists', (state) => ({ ...state, allowlists: 'mcp__slack__*' })],
    ['invalid names', (state) => ({ ...state, allowlists: [[7]] })],
  ])('is refused with %s', async (_, edit) => {
    const { registry, state } = await forked()
    expect(await faultOf(() => registry.openSession({ state: edit(state) as never }))).toMatchObject({
      code: 'config-invalid',
      message: expect.stringMatching(/its allowlists (were changed|are damaged).*open a new session instead/),
    })
  })

  it.each<[string, object]>([
    ['no name', { name: 7 }],
    ['no fingerprint', { fingerprint: null }],
    ['tokens below zero', { tokens: -1 }],
    ['endless tokens', { tokens: Number.POSITIVE_INFINITY }],
    ['a use that is not a number', { lastUse: '9' }],
    ['isKept in words', { isKept: 'yes' }],
  ])('is refused with an activation with %s', async (_, edit) => {
    const { registry, state } = await forked()
    const activations = state.activations.map((activation) => ({ ...activation, ...edit }))
    const options = { state: { ...state, activations } as never }
    expect(await faultOf(() => registry.openSession(options))).toMatchObject({ code: 'config-invalid' })
  })

  it('keeps the limits of a session that was opened with tools, once, however often it is opened', async () => {
    const registry = lazyRegistry()
    const store = memoryStore()
    const open = () => registry.openSession({ id: 'limited', store, tools: ['mcp__slack__*'] })
    for (let n = 0; n < 3; n++) await (await open()).activate(['mcp__slack__send_message'])
    const session = await registry.openSession({ id: 'limited', store })
    expect(session.toJSON().allowlists).toEqual([['mcp__slack__*']])
    expect(await call(session, 'mcp__github__get_file')).toMatchObject({ code: 'not_available' })
  })
})

describe('two writers on one store', () => {
  it('keep all that either activates', async () => {
    const registry = lazyRegistry()
    const store = memoryStore()
    const names = registry.stats().tool_names
    const replicas = await Promise.all([
      registry.openSession({ id: 'chat', store }),
      registry.openSession({ id: 'chat', store }),
    ])
    await Promise.all(names.map((name, index) => replicas[index % 2]?.activate([name])))
    await Promise.all(replicas.map((session) => session.close()))
    const reopened = await registry.openSession({ id: 'chat', store })
    expect(shown(reopened).slice(1).sort()).toEqual([...names].sort())
  })
})
