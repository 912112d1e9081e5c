import { type CallHooks, type Session, ToolRegistry, type ToolResult } from 'toolcrib'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { tool } from './helpers.ts'

const one = (name: string, args: unknown = {}) => [{ toolCallId: '1', name, args }]

/** Hooks that note when they run. */
function noting(label: string, seen: string[]): CallHooks {
  return {
    before_tool_call: ({ name }) => void seen.push(`${label} before ${name}`),
    after_tool_call: ({ name }) => void seen.push(`${label} after ${name}`),
  }
}

/** Lets all work that waits for nothing outside be done. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

afterEach(() => void vi.useRealTimers())

describe('hooks of a batch', () => {
  it('run before those of the registry, in their order, each once', async () => {
    const seen: string[] = []
    const [a, b, c] = ['a', 'b', 'c'].map((label) => noting(label, seen))
    const registry = new ToolRegistry({ hooks: [c ?? {}, a ?? {}] })
    registry.register(tool('x'))
    const session = await registry.openSession()
    await session.execute(one('x'), { hooks: [a ?? {}, b ?? {}, a ?? {}] })
    expect(seen).toEqual(['a before x', 'b before x', 'c before x', 'a after x', 'b after x', 'c after x'])
    seen.length = 0
    await registry.executeParallel(one('x'), { sessionId: 's', hooks: b ?? {} })
    expect(seen).toEqual(['b before x', 'c before x', 'a before x', 'b after x', 'c after x', 'a after x'])
  })

  it('deny before the registry is asked', async () => {
    const seen: string[] = []
    const registry = new ToolRegistry({ hooks: noting('registry', seen) })
    registry.register(tool('x'))
    const session = await registry.openSession()
    const [answer] = await session.execute(one('x'), {
      hooks: { before_tool_call: () => ({ deny: 'not now' }) },
    })
    expect(answer?.result).toEqual({ ok: false, code: 'denied', error: 'not now' })
    expect(seen).toEqual([])
  })

  it('have no deadline: one may ask a person; those of the registry have one', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const waiting = () => {
      let say = () => {}
      const said = new Promise<undefined>((resolve) => {
        say = () => resolve(undefined)
      })
      return { hooks: { before_tool_call: () => said } satisfies CallHooks, say: () => say() }
    }
    const person = waiting()
    const registry = new ToolRegistry()
    registry.register(tool('x'))
    const session = await registry.openSession()
    const asked = session.execute(one('x'), { hooks: person.hooks, timeoutMs: 50 })
    await settle()
    vi.advanceTimersByTime(3_600_000)
    await settle()
    person.say()
    expect((await asked)[0]?.result).toMatchObject({ ok: true })

    const guarded = new ToolRegistry({ hooks: waiting().hooks })
    guarded.register(tool('x'))
    const guardedSession = await guarded.openSession()
    const denied = guardedSession.execute(one('x'), { timeoutMs: 50 })
    await settle()
    vi.advanceTimersByTime(50)
    expect((await denied)[0]?.result).toMatchObject({
      ok: false,
      code: 'denied',
      error: expect.stringContaining('in time'),
    })
  })

  it('end with the signal of the batch', async () => {
    const registry = new ToolRegistry()
    registry.register(tool('x'))
    const session = await registry.openSession()
    const controller = new AbortController()
    const hooks: CallHooks = { before_tool_call: () => new Promise(() => {}) }
    const asked = session.execute(one('x'), { hooks, signal: controller.signal })
    await settle()
    controller.abort()
    expect((await asked)[0]?.result).toMatchObject({ code: 'cancelled' })
  })

  /** A session whose tool `start` works with the child that `make` gives it. */
  const withChild = async (make: (session: Session) => Session) => {
    const registry = new ToolRegistry()
    let session: Session | undefined
    registry.register(tool('x'))
    registry.register(
      tool('start', {
        execute: async (): Promise<ToolResult> => {
          if (!session) throw new Error('no session')
          const [answer] = await make(session).execute(one('x'))
          return answer?.result ?? { ok: true, value: '' }
        },
      }),
    )
    session = await registry.openSession()
    return session
  }
  const denyX: CallHooks = {
    before_tool_call: ({ name }) => (name === 'x' ? { deny: 'no x' } : undefined),
  }

  it('apply to forks made while the batch runs, and for theirs', async () => {
    for (const make of [
      (session: Session) => session.fork(),
      (session: Session) => session.fork().fork(),
      (session: Session) => session.fork({ tools: ['x'] }),
    ]) {
      const session = await withChild(make)
      expect((await session.execute(one('start'), { hooks: denyX }))[0]?.result).toEqual({
        ok: false,
        code: 'denied',
        error: 'no x',
      })
    }
  })

  it('do not apply to forks made before or after the batch, nor for the next batch', async () => {
    const parent = await withChild((session) => session.fork())
    const before = parent.fork()
    await parent.execute(one('start'), { hooks: denyX })
    for (const session of [before, parent, parent.fork()])
      expect((await session.execute(one('x')))[0]?.result).toMatchObject({ ok: true })
    expect((await parent.execute(one('start')))[0]?.result).toMatchObject({ ok: true })
  })

  it('still apply to a child once the batch is over', async () => {
    const children: Session[] = []
    const session = await withChild((parent) => {
      const child = parent.fork()
      children.push(child)
      return child
    })
    await session.execute(one('start'), { hooks: denyX })
    expect((await children[0]?.execute(one('x')))?.[0]?.result).toMatchObject({ code: 'denied' })
  })

  it('of parent and child run once each, the inherited ones first', async () => {
    const seen: string[] = []
    const shared = noting('shared', seen)
    const registry = new ToolRegistry()
    let parent: Session | undefined
    registry.register(tool('x'))
    registry.register(
      tool('start', {
        execute: async () => {
          await parent?.fork().execute(one('x'), { hooks: [noting('own', seen), shared] })
          return { ok: true, value: '' }
        },
      }),
    )
    parent = await registry.openSession()
    await parent.execute(one('start'), { hooks: shared })
    expect(seen).toEqual([
      'shared before start',
      'shared before x',
      'own before x',
      'shared after x',
      'own after x',
      'shared after start',
    ])
  })
})
