import { describe, expect, it } from 'vitest'
import type { Surface } from '../session/surface.ts'
import type { Tool } from '../tool.ts'
import { ToolRegistry } from '../tool-registry.ts'
import { type AiSdkMessage, type AiSdkResponse, aiSdk, type TargetCall } from './ai-sdk.ts'

const dialect = aiSdk({ jsonSchema: (schema) => schema })
const SURFACE: Surface = {
  tools: [{ name: 'ping', description: 'Answers.', parameters: { type: 'object' } }],
  deferredCount: 0,
  strategy: 'dispatch',
  fingerprint: 'x',
}

describe('a call that the AI SDK could not read', () => {
  const call = { toolCallId: 'a', toolName: 'ping', input: '{"n": ', invalid: true }

  it('is answered when it came in a stream, and goes back with arguments that are an object', () => {
    const reader = dialect.openStream()
    reader.add({ type: 'tool-call', ...call })
    reader.add({ type: 'finish-step', finishReason: 'tool-calls' })
    const messages = dialect.toMessages(reader.response(), [], SURFACE)
    expect(messages).toMatchObject([
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', input: {} }] },
      {
        role: 'tool',
        content: [
          { toolCallId: 'a', output: { type: 'error-text', value: expect.stringContaining('read') } },
        ],
      },
    ])
  })

  it('is not answered twice when the SDK has answered it', () => {
    const own: AiSdkMessage[] = [
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'ping', input: {} }] },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'a',
            toolName: 'ping',
            output: { type: 'error-text', value: 'not JSON' },
          },
        ],
      },
    ]
    const response: AiSdkResponse = {
      text: '',
      finishReason: 'tool-calls',
      toolCalls: [call],
      response: { messages: own },
      usage: {},
    }
    expect(dialect.toMessages(response, [], SURFACE)).toEqual(own)
  })
})

describe('tools that run themselves', () => {
  const tool = (name: string, annotations: Tool['annotations'] = {}): Tool => ({
    name,
    description: `Does ${name}.`,
    inputSchema: { type: 'object' },
    annotations,
    execute: () => ({ ok: true, value: `${name} done` }),
  })

  async function open(strategy: 'dispatch' | 'native' = 'dispatch') {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registry.register(tool('exec.now'))
    registry.syncMcp('files', [tool('read', { readOnlyHint: true }), tool('delete'), tool('x.y')])
    return registry.openSession({ dialect, strategy })
  }

  const unlessReadOnly = ({ annotations }: TargetCall) => annotations?.readOnlyHint !== true

  it('wait for approval by the tool that is reached, not by the one that is called', async () => {
    const asked: TargetCall[] = []
    const tools = dialect.toExecutableTools(await open(), {
      needsApproval: (call) => {
        asked.push(call)
        return unlessReadOnly(call)
      },
    })
    const through = (name: string) => tools.call_tool?.needsApproval?.({ name, arguments: { path: 'a' } })
    expect(through('mcp__files__read')).toBe(false)
    expect(through('files.delete')).toBe(true)
    expect(asked.at(-1)).toEqual({
      name: 'mcp__files__delete',
      args: { path: 'a' },
      source: { kind: 'mcp', server: 'files' },
      annotations: {},
    })
    const [own] = Object.keys(tools).filter((name) => name.startsWith('exec_now'))
    expect(tools[own ?? '']?.needsApproval?.({})).toBe(true)
  })

  it('never wait for approval of a search, or of what cannot run', async () => {
    const tools = dialect.toExecutableTools(await open(), { needsApproval: () => true })
    expect(tools.tool_search?.needsApproval?.({ query: 'delete' })).toBe(false)
    expect(tools.call_tool?.needsApproval?.({ name: 'nothing_like_it', arguments: {} })).toBe(false)
    expect(tools.call_tool?.needsApproval?.('no arguments')).toBe(false)
  })

  it('wait for nothing unless asked to, and refuse a misspelt option', async () => {
    const session = await open()
    expect(dialect.toExecutableTools(session).call_tool).not.toHaveProperty('needsApproval')
    const misspelt = { needApproval: () => true }
    expect(() => dialect.toExecutableTools(session, misspelt as object)).toThrow(/"needsApproval"/)
  })

  it('are marked as deferred under native, and found by the search under their wire names', async () => {
    const session = await open('native')
    const tools = dialect.toExecutableTools(session)
    const deferred = Object.keys(tools).filter((name) => tools[name]?.deferLoading)
    expect(deferred).toHaveLength(3)
    expect(deferred).toContain('mcp__files__delete')
    expect(tools.tool_search).not.toHaveProperty('deferLoading')
    const search = dialect.toolSearch(session)
    expect(await search({ query: 'delete' })).toEqual(['mcp__files__delete'])
    for (const name of await search({ query: 'does' })) expect(tools).toHaveProperty([name])
    expect(await search({ query: 'nothing like it' })).toEqual([])
  })
})
