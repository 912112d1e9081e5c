import {
  defineTool,
  kanbanList,
  memorySpill,
  ReducerRegistry,
  readFileReducer,
  ToolRegistry,
  terminalReducer,
} from 'toolcrib'
import { expect } from 'vitest'
import { z } from 'zod'
import { call, shown, tool } from '../helpers.ts'

const run = async (registry: ToolRegistry, name: string, context: object = {}, ...more: []) => {
  const calls = [{ toolCallId: '1', name, args: {} }]
  const [answer] = await registry.executeParallel(calls, { sessionId: 's', ...context }, ...more)
  return answer?.result
}

export const ethos = {
  '`DefaultToolRegistry(backends, reducers)`': async () => {
    const reducers = new ReducerRegistry()
    reducers.register({ toolName: 'read', reduce: () => ({ ok: true, value: 'short' }) })
    const secrets = { open: () => ({ get: async () => 'x' }) } as never
    const registry = new ToolRegistry({ capabilities: { secrets }, reducers })
    registry.register(tool('read', { capabilities: { secrets: ['KEY'] } }))
    expect(await run(registry, 'read')).toMatchObject({ value: 'short' })
    const Registry = ToolRegistry as new (...given: unknown[]) => ToolRegistry
    expect(() => new Registry({ secrets }, reducers)).toThrow('new ToolRegistry({ capabilities, reducers })')
  },
  '`schema` of a tool': () => {
    expect(() =>
      new ToolRegistry().register({ ...tool('a'), inputSchema: undefined, schema: {} } as never),
    ).toThrow('rename the key to "inputSchema"')
    const drafted = {
      name: 'a',
      description: 'A.',
      inputSchema: z.object({ n: z.number() }),
      execute: () => '',
    }
    expect(defineTool(drafted).inputSchema).toMatchObject({ required: ['n'] })
  },
  '`executeParallel(calls, ctx, allowedTools, filterOpts, attachments)`': async () => {
    const registry = new ToolRegistry({ resultBudgetChars: 100 })
    const needsText = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
    registry.register(tool('long', { execute: () => 'x'.repeat(80) }))
    registry.register(tool('short', { execute: () => 'y' }))
    registry.register(tool('strict', { inputSchema: needsText }))
    const calls = ['long', 'short'].map((name) => ({ toolCallId: name, name, args: {} }))
    const results = await registry.executeParallel(calls, { sessionId: 's' }, ['long', 'short'], {}, [])
    expect(results.map(({ result }) => result.ok && result.value)).toEqual(['x'.repeat(80), 'y'])
    const [denied] = await registry.executeParallel(calls, { sessionId: 's' }, [])
    expect(denied?.result).toMatchObject({ code: 'not_available' })
    expect(await run(registry, 'strict')).toMatchObject({ code: 'input_invalid' })
  },
  '`toDefinitions(allowedTools, filterOpts)`': () => {
    const registry = new ToolRegistry()
    registry.registerAll([tool('a'), tool('b')])
    registry.registerMcp(tool('c'), 's')
    const names = (...given: Parameters<ToolRegistry['toDefinitions']>) =>
      registry.toDefinitions(...given).map(({ name }) => name)
    expect(names(['a'], { allowedMcpServers: [] })).toEqual(['a'])
    expect(names([])).toEqual(['mcp__s__c'])
    expect(names()).toEqual(['a', 'b', 'mcp__s__c'])
  },
  '`getForToolset`, `getAvailable`, `registerAll`, `unregister`': () => {
    const registry = new ToolRegistry()
    registry.registerAll([tool('a', { toolset: 'x' }), tool('b', { isAvailable: () => false })])
    expect(registry.getForToolset('x').map(({ name }) => name)).toEqual(['a'])
    expect(registry.getAvailable().map(({ name }) => name)).toEqual(['a'])
    expect([registry.unregister('a'), registry.unregister('a')]).toEqual([true, false])
  },
  '`alwaysInclude`, `maxResultChars`, `toolset`, `register(tool, { pluginId })`, `ctx.dryRun`': async () => {
    const registry = new ToolRegistry()
    const cut = tool('cut', { alwaysInclude: true, maxResultChars: 50, execute: () => 'x'.repeat(90) })
    registry.register(cut)
    registry.register(tool('drawn'), { pluginId: 'art' })
    expect(registry.toDefinitions([]).map(({ name }) => name)).toEqual(['cut', 'drawn'])
    expect(registry.sourceOf('drawn')).toEqual({ kind: 'plugin', plugin: 'art' })
    expect(await run(registry, 'cut')).toMatchObject({ value: expect.stringMatching(/^.{0,50}$/s) })
    expect(await run(registry, 'cut', { dryRun: true })).toMatchObject({
      ok: true,
      value: expect.stringMatching(/dry/i),
    })
  },
  'capabilities of a tool': async () => {
    const registry = new ToolRegistry({ capabilities: { storage: { open: () => ({}) as never } } })
    registry.register(tool('a', { capabilities: { storage: true, network: ['example.com'] } }))
    expect(await run(registry, 'a')).toMatchObject({
      code: 'not_available',
      error: expect.stringMatching(/network/),
    })
    const lists = { network: [], secrets: [], fs_reach: {}, process: [] }
    registry.register(tool('b', { capabilities: { ...lists, storage: true, attachments: true } }))
    expect(registry.has('b')).toBe(true)
  },
  '`isAvailable()`': () => {
    const registry = new ToolRegistry()
    const promising = (() => Promise.resolve(true)) as never
    registry.registerAll([tool('a', { isAvailable: () => true }), tool('b', { isAvailable: promising })])
    expect(registry.toDefinitions().map(({ name }) => name)).toEqual(['a'])
  },
  'gating by the name prefix `mcp__`': () => {
    const registry = new ToolRegistry()
    registry.register(tool('mcp__x__y'))
    expect(registry.toDefinitions(undefined, { allowedMcpServers: [] })).toMatchObject([
      { name: 'mcp__x__y' },
    ])
    expect(registry.toDefinitions([])).toEqual([])
  },
  '`ToolResultReducerRegistry`': () => {
    const reducers = new ReducerRegistry()
    const reducer = { toolName: 'a', reduce: () => undefined }
    const undo = reducers.register(reducer)
    expect(() => reducers.register(reducer)).toThrow(expect.objectContaining({ code: 'tool-duplicate' }))
    undo()
    expect(reducers.get('a')).toBeUndefined()
  },
  '`bashReducer`, `readFileReducer`, `kanbanListReducer`': () => {
    const all = [
      terminalReducer({ toolName: 'terminal' }),
      terminalReducer(),
      readFileReducer(),
      kanbanList(),
    ]
    expect(all.map(({ toolName }) => toolName)).toEqual(['terminal', 'exec', 'read_file', 'kanban_list'])
  },
  'truncated output is lost': async () => {
    const long = tool('long', { execute: () => 'x'.repeat(9_000) })
    const withSpill = new ToolRegistry({ spill: memorySpill(), resultBudgetChars: 500 })
    withSpill.register(long)
    const session = await withSpill.openSession()
    expect(shown(session)).toEqual(['long', 'read_result'])
    const result = await call(session, 'long')
    const [, handle] = /handle "?([\w-]+)/.exec(result.ok ? result.value : '') ?? []
    expect(await call(session, 'read_result', { handle })).toMatchObject({ ok: true })
    const without = new ToolRegistry({ resultBudgetChars: 500 })
    without.register(long)
    expect(await run(without, 'long')).toMatchObject({ value: expect.not.stringContaining('handle') })
  },
}
