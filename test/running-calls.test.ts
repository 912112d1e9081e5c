import { describe, expect, test } from 'vitest'
import {
  type CallContext,
  type CallHooks,
  memorySpill,
  type RegistryOptions,
  type Tool,
  type ToolcribEvent,
  ToolRegistry,
} from '../packages/core/src/index.ts'

const SECRET = `sk_live_${'a1B2c3D4'.repeat(12)}`

const vault = {
  open: () => ({ get: () => SECRET }),
  mask: (text: string) => text.replaceAll(SECRET, '***'),
}

const echo: Tool = {
  name: 'echo',
  description: 'Answers its arguments.',
  inputSchema: { type: 'object' },
  execute: (input) => ({ ok: true, value: JSON.stringify(input) }),
}

function registryOf(tools: readonly Tool[], options: RegistryOptions = {}): ToolRegistry {
  const registry = new ToolRegistry(options)
  registry.registerAll(tools)
  return registry
}

const call = (name: string, args: unknown = {}, toolCallId = 'c1') => ({ toolCallId, name, args })

describe('a batch returns results and never rejects', () => {
  const hooks: [string, CallHooks][] = [
    [
      'writes over the result it is shown',
      {
        after_tool_call: (_call, result) => {
          Object.assign(result, { value: 42 })
        },
      },
    ],
    [
      'deletes parts of the result it is shown',
      {
        after_tool_call: (_call, result) => {
          delete (result as { value?: string }).value
        },
      },
    ],
  ]
  for (const [what, hook] of hooks) {
    test(`when a hook ${what}`, async () => {
      const [answer] = await registryOf([echo], { hooks: hook }).executeParallel([call('echo')], {
        sessionId: 's',
      })
      expect(answer?.result).toEqual({ ok: true, value: '{}' })
    })
  }

  test('without a context', async () => {
    const registry = registryOf([echo])
    const session = await registry.openSession()
    const [answer] = await registry.executeParallel([call('echo')], undefined as never)
    const [inSession] = await session.execute([call('echo')], undefined)
    expect([answer?.result, inSession?.result]).toEqual([
      { ok: true, value: '{}' },
      { ok: true, value: '{}' },
    ])
  })

  // A misspelt guard must not be a disabled guard: an invalid one denies every call.
  const contexts: [string, unknown][] = [
    ['a signal that is not an AbortSignal', { sessionId: 's', signal: {} }],
    ['a session id that cannot be read', { sessionId: Object.create(null) }],
    ['a misspelt key', { sessionId: 's', dryrun: true }],
    ['misspelt hooks', { sessionId: 's', hooks: { beforeToolCall: () => ({ deny: 'no' }) } }],
    ['a budget below zero', { sessionId: 's', resultBudgetChars: -1 }],
    ['a budget that is not a number', { sessionId: 's', resultBudgetChars: Number.NaN }],
    ['a budget in words', { sessionId: 's', resultBudgetChars: 'x' }],
    ['a text', 'context'],
    [
      'a context that throws',
      new Proxy(
        {},
        {
          get() {
            throw new Error('boom')
          },
        },
      ),
    ],
  ]
  for (const [what, context] of contexts) {
    test(`with ${what}`, async () => {
      const registry = registryOf([echo])
      const session = await registry.openSession()
      const denied = { ok: false, code: 'denied', error: expect.any(String) }
      const [answer] = await registry.executeParallel([call('echo')], context as CallContext)
      expect(answer?.result).toEqual(denied)
      // A session goes by its own id.
      if (what.startsWith('a session id')) return
      const [inSession] = await session.execute([call('echo')], context as CallContext)
      expect(inSession?.result).toEqual(denied)
    })
  }

  test('when the clock throws', async () => {
    const clock = () => {
      throw new Error('no time')
    }
    const [answer] = await registryOf([echo], { clock }).executeParallel([call('echo')], { sessionId: 's' })
    expect(answer).toMatchObject({ result: { ok: true }, durationMs: 0 })
  })
})

describe('invalid lists', () => {
  const bad: [string, unknown, unknown][] = [
    ['a list that is a text', 'echo', undefined],
    ['a filter with a list that is a text', undefined, { excludeTools: 'echo' }],
    ['a filter with an unknown key', undefined, { allowedServers: [] }],
    ['a filter that is a list', undefined, ['echo']],
  ]
  for (const [what, allowedTools, filter] of bad) {
    test(`permit nothing: ${what}`, async () => {
      const registry = registryOf([echo])
      const lists = [allowedTools as string[], filter as object] as const
      const answers = await registry.executeParallel(
        [call('echo'), call('echo')],
        { sessionId: 's' },
        ...lists,
      )
      for (const { result } of answers) {
        expect(result).toMatchObject({
          code: 'not_available',
          error: expect.stringContaining('not permitted'),
        })
      }
      expect(() => registry.toDefinitions(...lists)).toThrow(
        expect.objectContaining({ code: 'config-invalid' }),
      )
    })
  }

  test('null means no list, like undefined', async () => {
    const registry = registryOf([echo])
    const nothing = null as unknown as undefined
    const [answer] = await registry.executeParallel([call('echo')], { sessionId: 's' }, nothing, nothing)
    expect(answer?.result.ok).toBe(true)
  })
})

describe('secrets are masked', () => {
  const run = async (tool: Partial<Tool>, args: unknown = {}, options: RegistryOptions = {}) => {
    const events: ToolcribEvent[] = []
    const registry = registryOf([{ ...echo, ...tool }], {
      capabilities: { secrets: vault },
      onEvent: (event) => void events.push(event),
      ...options,
    })
    const [answer] = await registry.executeParallel([call('echo', args)], { sessionId: 's' })
    return { result: answer?.result, text: JSON.stringify([answer, events]) }
  }
  const start = SECRET.slice(0, 12)

  test('in argument errors, also where the value is shortened', async () => {
    const inputSchema = { type: 'object', properties: { n: { type: 'integer' } } }
    const { result, text } = await run({ inputSchema }, { n: `${SECRET} and more` })
    expect(result).toMatchObject({ code: 'input_invalid', error: expect.stringContaining('***') })
    expect(text).not.toContain(start)
  })

  test('in the name of an unknown tool, and in the event about it', async () => {
    const events: ToolcribEvent[] = []
    const registry = registryOf([], {
      capabilities: { secrets: vault },
      onEvent: (event) => void events.push(event),
    })
    const [answer] = await registry.executeParallel([call(`get_${SECRET}`)], { sessionId: 's' })
    expect(JSON.stringify([answer?.result, events])).not.toContain(start)
  })

  test("in a tool's own code", async () => {
    const { text } = await run({ execute: () => ({ ok: false, code: SECRET, error: 'x' }) })
    expect(text).not.toContain(start)
  })

  test('in the output of a reducer', async () => {
    const coloured = `\u001b[31m${SECRET.slice(0, 20)}\u001b[0m${SECRET.slice(20)}`
    const { result } = await run({
      execute: () => ({ ok: true, value: coloured }),
      reduce: (shown) =>
        shown.ok
          ? { ...shown, value: shown.value.replace('\u001b[31m', '').replace('\u001b[0m', '') }
          : undefined,
    })
    expect(result).toEqual({ ok: true, value: '***' })
  })

  test('in what a hook adds or returns', async () => {
    const hooks: CallHooks = {
      after_tool_call: (_call, result) => {
        Object.assign(result, { value: `${SECRET} changed` })
        return result
      },
    }
    expect((await run({}, {}, { hooks })).result).toEqual({ ok: true, value: '*** changed' })
  })

  test('in events about parts that failed and tools that hide', async () => {
    const boom = () => {
      throw new Error(`no ${SECRET}`)
    }
    const reduced = await run({ reduce: boom })
    expect(reduced.text).toContain('call-part-failed')
    expect(reduced.text).not.toContain(start)
    const hidden = await run({ isAvailable: boom })
    expect(hidden.text).toContain('tool-hidden')
    expect(hidden.text).not.toContain(start)
  })
})

describe('whatever hangs times out', () => {
  test('a tool and a hook without any deadline have the default one', async () => {
    const delays: number[] = []
    const original = globalThis.setTimeout
    // Fires a timer of two minutes immediately.
    globalThis.setTimeout = ((fire: () => void, delayMs = 0) => {
      delays.push(delayMs)
      return original(fire, 0)
    }) as typeof setTimeout
    try {
      const hanging = { ...echo, execute: () => new Promise<never>(() => {}) }
      const [tool] = await registryOf([hanging]).executeParallel([call('echo')], { sessionId: 's' })
      expect(tool?.result).toMatchObject({ code: 'timeout' })
      const hooks = { before_tool_call: () => new Promise<never>(() => {}) }
      const [hook] = await registryOf([{ ...echo, timeoutMs: 50 }], { hooks }).executeParallel(
        [call('echo')],
        {
          sessionId: 's',
        },
      )
      expect(hook?.result).toMatchObject({ code: 'denied' })
      expect(delays).toEqual([120_000, 120_000])
    } finally {
      globalThis.setTimeout = original
    }
  })
})

describe('read_result in executeParallel', () => {
  const long: Tool = { ...echo, execute: () => ({ ok: true, value: 'x'.repeat(9_000) }) }

  test('reads output that the same session spilled', async () => {
    const registry = registryOf([long], { spill: memorySpill() })
    const context = { sessionId: 's', resultBudgetChars: 1_000 }
    const [cut] = await registry.executeParallel([call('echo')], context)
    const handle = /handle "(\w+)"/.exec(cut?.result.ok ? cut.result.value : '')?.[1]
    const [read] = await registry.executeParallel([call('read_result', { handle, offset: 8_990 })], context)
    expect(read?.result).toMatchObject({ ok: true, structured: { total_chars: 9_000, text: 'x'.repeat(10) } })
    const [other] = await registry.executeParallel([call('read_result', { handle })], { sessionId: 'other' })
    expect(other?.result).toMatchObject({ structured: { found: false } })
  })

  test('is not mentioned when it is denied', async () => {
    const policy = { deny: ['read_result'] }
    const registry = registryOf([long], { spill: memorySpill(), policy })
    const context = { sessionId: 's', resultBudgetChars: 1_000 }
    const session = await registry.openSession()
    const [outside] = await registry.executeParallel([call('echo')], context)
    const [inside] = await session.execute([call('echo')], context)
    for (const answer of [outside, inside]) {
      expect(answer?.result.ok && answer.result.value).toMatch(/chars total\]$/)
    }
    const [denied] = await registry.executeParallel([call('read_result', { handle: 'r1' })], context)
    expect(denied?.result).toMatchObject({
      code: 'not_available',
      error: expect.stringContaining('not permitted'),
    })
  })
})

test('no plugin and no server can keep its results from being trimmed', async () => {
  const registry = new ToolRegistry()
  const endless = {
    ...echo,
    isSelfLimiting: true,
    execute: () => ({ ok: true, value: 'x'.repeat(300_000) }),
  } as Tool
  registry.register(endless, { pluginId: 'p' })
  registry.registerMcp(endless, 'server')
  const answers = await registry.executeParallel([call('echo'), call('mcp__server__echo')], {
    sessionId: 's',
    resultBudgetChars: 1_000,
  })
  expect(answers.map(({ result }) => (result.ok ? result.value.length : 0))).toEqual([500, 500])
})
