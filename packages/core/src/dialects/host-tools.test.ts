import type Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { checkAnthropicRequest } from '../../../../test/dialects/wire-server/check-anthropic.ts'
import { checkResponsesRequest } from '../../../../test/dialects/wire-server/check-responses.ts'
import { anthropicVoice } from '../../../../test/dialects/wire-server/voices/anthropic.ts'
import { responsesVoice } from '../../../../test/dialects/wire-server/voices/openai-responses.ts'
import type { Surface } from '../session/surface.ts'
import { ToolRegistry } from '../tool-registry.ts'
import { anthropic } from './anthropic.ts'
import { bedrock } from './bedrock.ts'
import { gemini } from './gemini.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'

const SURFACE: Surface = {
  tools: [
    { name: 'query.db', description: 'Asks the database.', parameters: { type: 'object' } },
    { name: 'tool_search', description: 'Finds tools.', parameters: { type: 'object' } },
  ],
  deferredTools: [{ name: 'mcp__x__hidden', description: 'Hidden.', parameters: { type: 'object' } }],
  deferredCount: 1,
  strategy: 'native',
  fingerprint: 'x',
}

const PINGED: Surface = {
  tools: [{ name: 'ping', description: 'Answers.', parameters: { type: 'object' } }],
  deferredCount: 0,
  strategy: 'dispatch',
  fingerprint: 'y',
}

describe("the host's own tools", () => {
  it('come first on Anthropic, which still accepts the request', () => {
    const dialect = anthropic()
    const webSearch: Anthropic.ToolUnion = { type: 'web_search_20260318', name: 'web_search' }
    const request = dialect.toRequest({
      surface: SURFACE,
      messages: [dialect.userMessage('hello')],
      hostTools: [webSearch],
    })
    expect(request.tools.map((tool) => ('name' in tool ? tool.name : tool.type))).toEqual([
      'web_search',
      expect.stringMatching(/^query_db_/),
      'tool_search',
      'mcp__x__hidden',
    ])
    expect(checkAnthropicRequest({ ...request })).toBeUndefined()
  })

  it('come first on Responses and on Gemini', () => {
    const responses = openaiResponses()
    const request = responses.toRequest({
      surface: SURFACE,
      messages: [responses.userMessage('hello')],
      hostTools: [{ type: 'web_search' }, { type: 'programmatic_tool_calling' }],
      cacheKey: 'session-7',
    })
    expect(request.tools.map(({ type }) => type)).toEqual([
      'web_search',
      'programmatic_tool_calling',
      'function',
      'tool_search',
    ])
    expect(request.prompt_cache_key).toBe('session-7')
    expect(checkResponsesRequest({ ...request })).toBeUndefined()

    const { config } = gemini().toRequest({
      surface: SURFACE,
      messages: [],
      hostTools: [{ googleSearch: {} }],
    })
    expect(config.tools?.map((tool) => Object.keys(tool))).toEqual([
      ['googleSearch'],
      ['functionDeclarations'],
    ])
  })

  it.each([
    [
      'Anthropic',
      () =>
        anthropic().toRequest({
          surface: PINGED,
          messages: [],
          hostTools: [{ name: 'ping', input_schema: { type: 'object' } }],
        }),
    ],
    [
      'Responses',
      () =>
        openaiResponses().toRequest({
          surface: PINGED,
          messages: [],
          hostTools: [{ type: 'function', name: 'ping', strict: false, parameters: null }],
        }),
    ],
    [
      'Chat',
      () =>
        openaiChat().toRequest({
          surface: PINGED,
          messages: [],
          hostTools: [{ type: 'function', function: { name: 'ping' } }],
        }),
    ],
    [
      'Gemini',
      () =>
        gemini().toRequest({
          surface: PINGED,
          messages: [],
          hostTools: [{ functionDeclarations: [{ name: 'ping' }] }],
        }),
    ],
    [
      'Bedrock',
      () =>
        bedrock().toRequest({ surface: PINGED, messages: [], hostTools: [{ systemTool: { name: 'ping' } }] }),
    ],
  ])('must not have the name of a tool of the session, on %s', (_name, request) => {
    expect(request).toThrow(
      'the host\'s tool "ping" has the name of a tool of the session; rename it, or open the session with policy { deny: ["ping"] }',
    )
  })

  it('may search themselves on Responses, which gives their searches no ids', () => {
    const dialect = openaiResponses()
    const search = { execution: 'server', call_id: null, status: 'completed' }
    const output = [
      { type: 'tool_search_call', id: 'tsc_1', arguments: { paths: ['crm'] }, ...search },
      { type: 'tool_search_output', id: 'tso_1', tools: [], ...search },
    ]
    const response = { ...responsesVoice.respond({}), output } as unknown as OpenAI.Responses.Response
    const said = dialect.toMessages(response, [], PINGED)
    const messages = [dialect.userMessage('hello'), ...said, dialect.userMessage('again'), ...said]
    const hostTools: OpenAI.Responses.Tool[] = [{ type: 'tool_search' }]
    expect(dialect.toRequest({ surface: PINGED, messages, hostTools }).input).toEqual(messages)
  })

  it('are a clear error where they take the place of the search that the session needs, on Responses', () => {
    const hostTools: OpenAI.Responses.Tool[] = [{ type: 'tool_search' }]
    const request = () => openaiResponses().toRequest({ surface: SURFACE, messages: [], hostTools })
    expect(request).toThrow('open the session with strategy "dispatch"')
  })

  it('join those of a turn', async () => {
    const registry = new ToolRegistry()
    registry.registerFunction(function ping() {}, { description: 'Answers.' })
    const session = await registry.openSession({ dialect: openaiResponses() })
    const message = openaiResponses().userMessage('hello')
    const { request } = session.turn([message], { hostTools: [{ type: 'web_search' }] })
    expect(request.tools.map(({ type }) => type)).toEqual(['web_search', 'function'])
    expect(() => session.turn([message], { hostTools: 'web_search' as never })).toThrow('hostTools')
  })

  it('count towards the tool limit of a request', () => {
    const hostTools = [
      {
        functionDeclarations: Array.from({ length: 510 }, (_, index) => ({ name: `own_${index}` })),
      },
    ]
    expect(() => gemini().toRequest({ surface: SURFACE, messages: [], hostTools })).toThrow(
      'the request has 513 tools, but Gemini allows 512',
    )
  })
})

describe('programs of the model', () => {
  it('may call the tools that the host names, on Anthropic', () => {
    const dialect = anthropic({ allowedCallers: { 'query.db': ['code_execution_20260521'] } })
    const { tools } = dialect.toRequest({ surface: SURFACE, messages: [] })
    expect(tools.map((tool) => ('allowed_callers' in tool ? tool.allowed_callers : undefined))).toEqual([
      ['code_execution_20260521'],
      undefined,
      undefined,
    ])
  })

  it('may call the tools that the host names, on Responses, deferred ones too', () => {
    const dialect = openaiResponses({ allowedCallers: { mcp__x__hidden: ['direct', 'programmatic'] } })
    const call = { type: 'function_call', call_id: 'c', name: 'mcp__x__hidden', arguments: '{}' } as const
    const output = { type: 'function_call_output', call_id: 'c', output: 'x' } as const
    const { tools } = dialect.toRequest({ surface: SURFACE, messages: [call, output] })
    expect(tools.at(-1)).toMatchObject({
      type: 'namespace',
      tools: [{ name: 'mcp__x__hidden', allowed_callers: ['direct', 'programmatic'] }],
    })
  })

  it('get their results under their own id, on Responses', () => {
    const dialect = openaiResponses()
    const response = responsesVoice.respond({ calls: [{ id: 'c', name: 'tool_search', args: '{}' }] })
    const caller = { type: 'program', caller_id: 'prog_1' } as const
    const output = response.output.map((item) => (item.type === 'function_call' ? { ...item, caller } : item))
    const messages = dialect.toMessages({ ...response, output }, [], SURFACE)
    expect(messages).toMatchObject([
      { type: 'function_call', caller },
      { type: 'function_call_output', caller },
    ])
  })

  it('keep their container from turn to turn, on Anthropic', () => {
    const dialect = anthropic()
    const messages = [dialect.userMessage('hello')]
    expect(dialect.toRequest({ surface: SURFACE, messages })).not.toHaveProperty('container')
    const response = {
      ...anthropicVoice.respond({ text: 'Done.' }),
      container: { id: 'container_1', expires_at: '2026-11-16T00:00:00Z', skills: null },
    }
    messages.push(...dialect.toMessages(response, [], SURFACE), dialect.userMessage('again'))
    const request = dialect.toRequest({ surface: SURFACE, messages })
    expect(request.container).toBe('container_1')
    // The API knows no such field in a message.
    expect(JSON.stringify(request.messages)).not.toContain('container')
    const restored = JSON.parse(JSON.stringify(messages))
    expect(anthropic().toRequest({ surface: SURFACE, messages: restored })).toEqual(request)
    // The newest container counts.
    const next = { ...response, container: { ...response.container, id: 'container_2' } }
    restored.push(...dialect.toMessages(next, [], SURFACE), dialect.userMessage('more'))
    expect(dialect.toRequest({ surface: SURFACE, messages: restored }).container).toBe('container_2')
  })

  it('get nothing but results while they wait, on Anthropic', () => {
    const dialect = anthropic()
    const caller = { type: 'code_execution_20260120', tool_id: 'srvtoolu_1' } as const
    const response = anthropicVoice.respond({
      calls: [{ id: 'c', name: 'tool_search', args: '{"query":"x"}' }],
    })
    const content = response.content.map((block) =>
      block.type === 'tool_use' ? { ...block, caller } : block,
    )
    const structured = {
      matches: [{ name: 'mcp__x__hidden' }],
      activated: ['mcp__x__hidden'],
      evicted: ['mcp__x__other'],
    }
    const result = { ok: true as const, value: '{}', structured }
    const results = [{ toolCallId: 'c', name: 'tool_search', result, durationMs: 1 }]
    const blocksOf = (message: Anthropic.MessageParam | undefined) =>
      Array.isArray(message?.content) ? message.content.map(({ type }) => type) : []
    expect(blocksOf(dialect.toMessages(response, results, SURFACE)[1])).toEqual(['tool_result', 'text'])
    expect(blocksOf(dialect.toMessages({ ...response, content }, results, SURFACE)[1])).toEqual([
      'tool_result',
    ])
  })

  const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} } as const
  const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] } as const
  const answerOf = (stop_reason: Anthropic.StopReason | null, ...content: readonly object[]) =>
    ({ ...anthropicVoice.respond({ text: 'x' }), stop_reason, content }) as unknown as Anthropic.Message

  it.each([
    ['in a call', [{ type: 'text', text: 'Let me look.' }, search]],
    ['after its result', [search, found]],
  ])('that the provider has paused are continued unchanged, on Anthropic: %s', (_where, content) => {
    const dialect = anthropic()
    const paused = answerOf('pause_turn', ...content)
    expect(dialect.toReply(paused, SURFACE).stop).toBe('paused')
    const messages = [dialect.userMessage('hello'), ...dialect.toMessages(paused, [], SURFACE)]
    const request = dialect.toRequest({ surface: SURFACE, messages })
    expect(request.messages).toEqual(messages)
    expect(checkAnthropicRequest({ ...request })).toBeUndefined()
  })

  it.each([
    ['and said nothing', [], 4],
    ['and had spoken', [{ type: 'text', text: 'Let me look.' }], 5],
    ['and was thinking', [{ type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }], 4],
  ])('that were interrupted are not sent again, on Anthropic: %s', (_how, said, count) => {
    const dialect = anthropic()
    const interrupted = dialect.toMessages(answerOf(null, ...said, search), [], SURFACE)
    const late = dialect.toMessages(answerOf('end_turn', found, { type: 'text', text: 'Done.' }), [], SURFACE)
    const messages = [dialect.userMessage('hello'), ...interrupted, dialect.userMessage('stop'), ...late]
    const request = dialect.toRequest({ surface: SURFACE, messages })
    expect(checkAnthropicRequest({ ...request })).toBeUndefined()
    expect(JSON.stringify(request.messages)).not.toContain('srvtoolu_1')
    expect(request.messages).toHaveLength(count)
  })

  it('that wait for a call of their own code are kept, on Anthropic', () => {
    const dialect = anthropic()
    const caller = { type: 'code_execution_20260120', tool_id: 'srvtoolu_1' }
    const call = { type: 'tool_use', id: 'c', name: 'ping', input: {}, caller }
    const waiting = dialect.toMessages(answerOf('tool_use', search, call), [], SURFACE)
    const messages = [dialect.userMessage('hello'), ...waiting]
    expect(dialect.toRequest({ surface: SURFACE, messages }).messages).toEqual(messages)
  })
})
