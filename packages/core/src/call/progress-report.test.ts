import { describe, expect, test } from 'vitest'
import type { CallProgress, ToolContext } from '../tool.ts'
import { callOf, fakeRunner, fakeScope, fakeTool, runOne } from './fake-scope.fixture.ts'

describe('progress', () => {
  test('of every call of a batch reaches the host, with the call it is about', async () => {
    const notes: CallProgress[] = []
    const tool = fakeTool({
      execute: async (input, { onProgress }) => {
        onProgress?.({ progress: 1, total: 2 })
        await Promise.resolve()
        onProgress?.({ progress: 2, total: 2, message: 'nearly' })
        return { ok: true, value: String(input) }
      },
    })
    const calls = ['a', 'b'].map((toolCallId) => ({ ...callOf('echo'), toolCallId }))
    const context = { sessionId: 's', onProgress: (note: CallProgress) => notes.push(note) }
    await fakeRunner().execute(calls, context, fakeScope([tool]))
    expect(notes.filter(({ toolCallId }) => toolCallId === 'b')).toEqual([
      { toolCallId: 'b', progress: 1, total: 2 },
      { toolCallId: 'b', progress: 2, total: 2, message: 'nearly' },
    ])
    expect(notes).toHaveLength(4)
  })

  test('is asked of no tool when nobody listens', async () => {
    let seen: object = {}
    const tool = fakeTool({
      execute: (_input, ctx) => {
        seen = ctx
        return { ok: true, value: '' }
      },
    })
    await runOne(tool, {})
    expect(seen).not.toHaveProperty('onProgress')
  })

  test('is passed on without secrets and without invalid notes', async () => {
    const notes: CallProgress[] = []
    const tool = fakeTool({
      execute: (_input, { onProgress }) => {
        onProgress?.({ progress: 1, message: 'with hunter2', total: 'many' } as never)
        onProgress?.('nonsense' as never)
        onProgress?.(null as never)
        return { ok: true, value: 'done' }
      },
    })
    const secrets = { open: () => ({}), mask: (text: string) => text.replaceAll('hunter2', '***') }
    const scope = { backends: { secrets } as never }
    const context = { onProgress: (note: CallProgress) => notes.push(note) }
    expect(await runOne(tool, {}, { scope, context })).toMatchObject({ ok: true })
    expect(notes).toEqual([{ toolCallId: 'call-1', progress: 1, message: 'with ***' }])
  })

  test('after the result is dropped, and exceptions of a listener are ignored', async () => {
    let told = 0
    let late: ToolContext['onProgress']
    const tool = fakeTool({
      execute: (_input, { onProgress }) => {
        late = onProgress
        onProgress?.({ progress: 1 })
        return { ok: true, value: 'done' }
      },
    })
    const onProgress = () => {
      told++
      throw new Error('boom')
    }
    expect(await runOne(tool, {}, { context: { onProgress } })).toEqual({ ok: true, value: 'done' })
    late?.({ progress: 2 })
    expect(told).toBe(1)
  })
})
