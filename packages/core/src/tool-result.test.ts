import { describe, expect, test } from 'vitest'
import { defineTool } from './authoring/define-tool.ts'
import type { CallHooks } from './call/call-scope.ts'
import type { ToolResult } from './tool.ts'
import { ToolRegistry } from './tool-registry.ts'

describe('what a tool returns', () => {
  test.each<[unknown, ToolResult]>([
    ['hello', { ok: true, value: 'hello' }],
    [undefined, { ok: true, value: '' }],
    [null, { ok: true, value: '' }],
    [{ value: 'x' }, { ok: true, value: '{"value":"x"}', structured: { value: 'x' } }],
    [[1], { ok: true, value: '[1]', structured: [1] }],
    [
      { ok: true, value: { rows: 2 } },
      { ok: true, value: '{"rows":2}', structured: { rows: 2 } },
    ],
    [
      { ok: true, value: 42, structured: 'mine' },
      { ok: true, value: '42', structured: 'mine' },
    ],
    [
      { ok: true, rows: 2 },
      { ok: true, value: '{"ok":true,"rows":2}', structured: { ok: true, rows: 2 } },
    ],
    [
      { ok: true, structured: { a: 1 } },
      { ok: true, value: '', structured: { a: 1 } },
    ],
    [
      { ok: false, error: 'no' },
      { ok: false, error: 'no', code: 'execution_failed' },
    ],
    [
      { ok: false, error: 'no', code: 'busy' },
      { ok: false, error: 'no', code: 'busy' },
    ],
  ])('%j means the same in every way of registering', async (returned, result) => {
    const execute = () => returned as never
    const registry = new ToolRegistry()
    const plain = { description: '', inputSchema: { type: 'object' } } as const
    registry.register({ ...plain, name: 'registered', execute })
    registry.register(defineTool({ ...plain, name: 'defined', execute }))
    registry.registerFunction(execute, { ...plain, name: 'function' })
    registry.registerMcp({ ...plain, name: 'own', execute }, 'server')
    registry.register({ ...plain, name: 'hooked', execute: () => 'unseen' })
    const names = ['registered', 'defined', 'function', 'mcp__server__own', 'hooked']
    const hooks: CallHooks = {
      before_tool_call: ({ name }) => (name === 'hooked' ? ({ result: returned ?? '' } as never) : undefined),
    }
    const calls = names.map((name) => ({ toolCallId: name, name, args: {} }))
    const answers = await registry.executeParallel(calls, { sessionId: 's', hooks })
    for (const answer of answers) expect(answer.result).toEqual(result)
  })
})
