import { ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { tool } from './helpers.ts'

/** What callers without types may write. */
const untyped = (value: unknown) => value as never

describe('the context of a batch', () => {
  const throwing = new Proxy(
    {},
    {
      get() {
        throw new Error('boom')
      },
    },
  )
  const contexts: [string, unknown, RegExp?][] = [
    ['null', null, /as an object/],
    ['a text', 'context', /as an object/],
    ['a list', [], /as an object/],
    ['what throws', throwing],
    ['a misspelt key', { dryrun: true }, /did you mean "dryRun"\?/],
    ['a policy', { policy: { deny: ['*'] } }, /no option "policy"/],
    [
      'misspelt hooks',
      { hooks: { beforeToolCall: () => ({ deny: 'no' }) } },
      /did you mean "before_tool_call"\?/,
    ],
    ['misspelt hooks in a list', { hooks: [{}, { after: () => {} }] }, /no option "after"/],
    ['hooks that are null', { hooks: null }],
    ['hooks that are a text', { hooks: 'guard' }],
    ['hooks that are 0', { hooks: 0 }],
    ['a list with null', { hooks: [null] }],
    ['a budget below zero', { resultBudgetChars: -1 }, /resultBudgetChars is -1/],
    ['a budget that is not a number', { resultBudgetChars: Number.NaN }],
    ['a budget in words', { resultBudgetChars: 'x' }],
    ['dryRun in words', { dryRun: 'true' }, /it must be true or false/],
    ['a turn below zero', { turnCount: -1 }],
    ['a signal that is not an AbortSignal', { signal: { aborted: false } }],
    ['a deadline that no timer takes', { timeoutMs: 2 ** 40 }],
    ['no place at all', { maxParallel: 0 }],
    ['attachments that are not a list', { attachments: {} }],
    ['progress for nobody', { onProgress: true }],
  ]
  const run = async (context: unknown, ran: string[]) => {
    const registry = new ToolRegistry()
    const noting = tool('note', {
      execute: () => {
        ran.push('note')
        return { ok: true, value: '' }
      },
    })
    registry.register(noting)
    const session = await registry.openSession()
    const calls = [{ toolCallId: '1', name: 'note', args: {} }]
    const guarded = new ToolRegistry()
    guarded.register({
      ...noting,
      name: 'start',
      execute: async () => {
        const child = outer.fork()
        const [answer] = await child.execute([{ toolCallId: '2', name: 'note', args: {} }], untyped(context))
        return answer?.result ?? { ok: true, value: 'unanswered' }
      },
    })
    guarded.register(noting)
    const outer = await guarded.openSession()
    const hooks = { before_tool_call: () => undefined }
    const all = [
      ...(await session.execute(calls, untyped(context))),
      ...(await registry.executeParallel(calls, untyped(context))),
      // In a fork that inherits hooks, which must not hide what is wrong with its own.
      ...(await outer.execute([{ toolCallId: '1', name: 'start', args: {} }], { hooks })),
    ]
    return all.map(({ result }) => result)
  }

  it.each(contexts)(
    'denies every call with %s, in and out of sessions',
    async (_, context, message = /./) => {
      const ran: string[] = []
      const results = await run(context, ran)
      expect(results).toHaveLength(3)
      for (const result of results)
        expect(result).toMatchObject({ ok: false, code: 'denied', error: expect.stringMatching(/./) })
      expect(results[1]?.ok === false && results[1].error).toMatch(message)
      expect(ran).toEqual([])
    },
  )

  it('may be left out, or be empty', async () => {
    const ran: string[] = []
    for (const context of [undefined, {}, { hooks: [] }, { dryRun: undefined }])
      expect((await run(context, ran)).map(({ ok }) => ok)).toEqual([true, true, true])
    expect(ran).toHaveLength(12)
  })
})
