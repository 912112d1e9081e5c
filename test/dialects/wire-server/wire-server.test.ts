import { describe, expect, it } from 'vitest'
import { checkAnthropicRequest, checkMiniMaxRequest } from './check-anthropic.ts'
import { checkBedrockRequest } from './check-bedrock.ts'
import { checkChatRequest } from './check-chat.ts'
import { checkGeminiRequest } from './check-gemini.ts'
import { checkResponsesRequest } from './check-responses.ts'

const PLAIN = { type: 'object', properties: { a: { type: 'string' } } }
const LONG = 'x'.repeat(65)

describe('the stand-in for Anthropic', () => {
  const tool = (name: string, extra: object = {}) => ({ name, input_schema: PLAIN, ...extra })
  const hello = { role: 'user', content: 'hello' }
  const check = (body: object) => checkAnthropicRequest({ tools: [tool('a')], messages: [hello], ...body })
  const used = { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'a', input: {} }] }
  const answered = (content: unknown) => ({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 't', content }],
  })

  it('accepts what is right', () => {
    expect(check({})).toBeUndefined()
    expect(check({ messages: [hello, used, answered('fine')] })).toBeUndefined()
  })

  it.each([
    ['all tools deferred', { tools: [tool('a', { defer_loading: true })] }],
    [
      'a cache mark on a deferred tool',
      { tools: [tool('a'), tool('b', { defer_loading: true, cache_control: {} })] },
    ],
    ['a name that is too long', { tools: [tool(LONG)] }],
    ['two tools of one name', { tools: [tool('a'), tool('a')] }],
    ['a union at the root', { tools: [{ name: 'a', input_schema: { type: 'object', anyOf: [{}] } }] }],
    ['a root without a type', { tools: [{ name: 'a', input_schema: {} }] }],
    [
      'a draft-07 tuple',
      { tools: [{ name: 'a', input_schema: { type: 'object', properties: { a: { items: [{}] } } } }] },
    ],
    [
      'a strange property key',
      { tools: [{ name: 'a', input_schema: { type: 'object', properties: { 'a<': {} } } }] },
    ],
    [
      'a dangling reference',
      { messages: [hello, used, answered([{ type: 'tool_reference', tool_name: 'gone' }])] },
    ],
    [
      'a reference beside text',
      {
        messages: [
          hello,
          used,
          answered([
            { type: 'tool_reference', tool_name: 'a' },
            { type: 'text', text: 'x' },
          ]),
        ],
      },
    ],
    ['an unanswered call', { messages: [hello, used, hello] }],
    ['an answer without a call', { messages: [answered('x')] }],
    ['one id in two turns', { messages: [hello, used, answered('x'), used, answered('x')] }],
    ['an answer to be continued', { messages: [hello, { role: 'assistant', content: 'I am' }] }],
    [
      'thinking at the end of an answer',
      {
        messages: [
          hello,
          { role: 'assistant', content: [{ type: 'thinking', thinking: 'x', signature: 's' }] },
          hello,
        ],
      },
    ],
    ['blank text', { messages: [{ role: 'user', content: [{ type: 'text', text: ' ' }] }] }],
    ['empty text', { messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }],
    [
      'five cache marks',
      { system: Array.from({ length: 5 }, () => ({ type: 'text', text: 'x', cache_control: {} })) },
    ],
  ])('refuses %s', (_name, body) => {
    expect(check(body)).toEqual(expect.any(String))
  })

  it('as MiniMax, refuses deferral and lost thinking', () => {
    const body = { tools: [tool('a')], messages: [hello] }
    expect(checkMiniMaxRequest(body)).toBeUndefined()
    expect(
      checkMiniMaxRequest({ ...body, tools: [tool('a'), tool('b', { defer_loading: true })] }),
    ).toContain('deferral')
    expect(checkMiniMaxRequest({ ...body, messages: [hello, used, answered('x')] })).toContain('thinking')
  })
})

describe('the stand-in for OpenAI Chat', () => {
  const tool = (name: string, parameters: object = PLAIN) => ({
    type: 'function',
    function: { name, parameters },
  })
  const check = (body: object) =>
    checkChatRequest({ messages: [{ role: 'user', content: 'x' }], tools: [tool('a')], ...body })
  const asked = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 't', function: { name: 'a', arguments: '{}' } }],
  }

  const askedWith = (called: object) => ({
    ...asked,
    tool_calls: [{ id: 't', function: { name: 'a', arguments: '{}', ...called } }],
  })
  const told = { role: 'tool', tool_call_id: 't', content: 'x' }
  const describedTool = (description: string) => ({
    type: 'function',
    function: { name: 'a', description, parameters: PLAIN },
  })

  it('accepts what is right', () => {
    expect(check({})).toBeUndefined()
    expect(check({ messages: [asked, told] })).toBeUndefined()
  })

  it.each([
    ['no tools', { tools: [] }],
    ['129 tools', { tools: Array.from({ length: 129 }, (_, index) => tool(`t${index}`)) }],
    ['a name that is too long', { tools: [tool(LONG)] }],
    [
      'a list of types',
      { tools: [tool('a', { type: 'object', properties: { a: { type: ['string', 'null'] } } })] },
    ],
    ['a oneOf', { tools: [tool('a', { type: 'object', properties: { a: { oneOf: [{}] } } })] }],
    ['an unanswered call', { messages: [asked, { role: 'user', content: 'x' }] }],
    ['an unanswered call at the end', { messages: [asked] }],
    ['a stray answer', { messages: [{ role: 'tool', tool_call_id: 't', content: 'x' }] }],
    ['a long description', { tools: [describedTool('x'.repeat(1_025))] }],
    ['empty arguments', { messages: [askedWith({ arguments: '' }), told] }],
    ['arguments that are an object', { messages: [askedWith({ arguments: {} }), told] }],
    ['a call without a name', { messages: [askedWith({ name: '' }), told] }],
    ['one id in two turns', { messages: [asked, told, asked, told] }],
    ['an answer to be continued', { messages: [{ role: 'assistant', content: 'I am' }] }],
    [
      'arguments that are not JSON',
      {
        messages: [
          { ...asked, tool_calls: [{ id: 't', function: { name: 'a', arguments: '{' } }] },
          { role: 'tool', tool_call_id: 't', content: 'x' },
        ],
      },
    ],
  ])('refuses %s', (_name, body) => expect(check(body)).toEqual(expect.any(String)))
})

describe('the stand-in for OpenAI Responses', () => {
  const fn = (name: string, extra: object = {}) => ({ type: 'function', name, parameters: PLAIN, ...extra })
  const search = { type: 'tool_search', execution: 'client', parameters: PLAIN }
  const space = (tools: object[]) => ({ type: 'namespace', name: 'n', description: 'd', tools })
  const found = (tools: object[]) => [
    { type: 'tool_search_call', call_id: 's', arguments: {} },
    { type: 'tool_search_output', call_id: 's', tools },
  ]
  const called = (extra: object) => [
    { type: 'function_call', call_id: 'c', name: 'a', arguments: '{}', ...extra },
    { type: 'function_call_output', call_id: 'c', output: 'x' },
  ]
  const member = fn('a', { defer_loading: true })
  const check = (body: object) => checkResponsesRequest({ tools: [search], input: [], ...body })

  it('accepts what is right', () => {
    expect(check({ input: [...found([space([member])]), ...called({ namespace: 'n' })] })).toBeUndefined()
  })

  it.each([
    ['a missing namespace', { input: [...found([space([member])]), ...called({})] }],
    ['an unknown namespace', { input: called({ namespace: 'n' }) }],
    [
      'ten tools in a namespace',
      {
        input: found([
          space(Array.from({ length: 10 }, (_, index) => fn(`t${index}`, { defer_loading: true }))),
        ]),
      },
    ],
    ['a loaded tool that is not deferred', { input: found([space([fn('a')])]) }],
    ['a loaded tool in no namespace', { input: found([member]) }],
    ['reasoning that led nowhere', { input: [{ type: 'reasoning', id: 'r', summary: [] }] }],
    [
      'reasoning before an item that is not known',
      {
        input: [
          { type: 'reasoning', id: 'r' },
          { role: 'assistant', content: 'half' },
        ],
      },
    ],
    ['an unanswered search', { input: [{ type: 'tool_search_call', call_id: 's', arguments: {} }] }],
    ['empty arguments', { tools: [fn('a')], input: called({ arguments: '' }) }],
    ['arguments that are an object', { tools: [fn('a')], input: called({ arguments: {} }) }],
    ['one call_id twice', { tools: [fn('a')], input: [...called({}), ...called({})] }],
    ['a call without a name', { tools: [fn('a')], input: called({ name: '' }) }],
    ['a union at the root', { tools: [fn('a', { parameters: { type: 'object', anyOf: [{}] } })] }],
    [
      'an array without items',
      { tools: [fn('a', { parameters: { type: 'object', properties: { a: { type: 'array' } } } })] },
    ],
    ['a name that is too long', { tools: [fn(LONG)] }],
  ])('refuses %s', (_name, body) => expect(check(body)).toEqual(expect.any(String)))
})

describe('the stand-in for Gemini', () => {
  const declare = (parametersJsonSchema: object, name = 'a') => ({
    tools: [{ functionDeclarations: [{ name, parametersJsonSchema }] }],
  })
  const hello = { role: 'user', parts: [{ text: 'x' }] }
  const check = (body: object) => checkGeminiRequest({ contents: [hello], ...body })
  const property = (schema: object) =>
    declare({ type: 'object', properties: { a: schema }, $defs: { d: {} } })

  it('accepts what is right', () => expect(check(property({ $ref: '#/$defs/d' }))).toBeUndefined())

  it.each([
    ['an unknown keyword', property({ pattern: 'x' })],
    ['a sibling of a reference', property({ $ref: '#/$defs/d', description: 'x' })],
    ['an enum of booleans', property({ enum: [true] })],
    ['a required property that is not there', declare({ type: 'object', properties: {}, required: ['a'] })],
    ['a name that is too long', declare(PLAIN, LONG)],
    [
      '513 tools',
      {
        tools: [
          {
            functionDeclarations: Array.from({ length: 513 }, (_, index) => ({
              name: `t${index}`,
              parametersJsonSchema: PLAIN,
            })),
          },
        ],
      },
    ],
    [
      'a required recursion',
      declare({
        type: 'object',
        properties: { a: { $ref: '#/$defs/d' } },
        $defs: { d: { type: 'array', items: { $ref: '#/$defs/d' } } },
      }),
    ],
    [
      'an unanswered call',
      {
        contents: [hello, { role: 'model', parts: [{ functionCall: { name: 'a' }, thoughtSignature: 's' }] }],
      },
    ],
    [
      'a call right after an answer',
      {
        contents: [
          hello,
          { role: 'model', parts: [{ text: 'x' }] },
          { role: 'model', parts: [{ functionCall: { name: 'a' }, thoughtSignature: 's' }] },
          { role: 'user', parts: [{ functionResponse: { name: 'a', response: {} } }] },
        ],
      },
    ],
    ['an answer at the end', { contents: [hello, { role: 'model', parts: [{ text: 'x' }] }] }],
    [
      'media it cannot read',
      { contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/svg+xml', data: 'A' } }] }] },
    ],
    [
      'a lost thought signature',
      {
        contents: [
          hello,
          { role: 'model', parts: [{ functionCall: { name: 'a' } }] },
          { role: 'user', parts: [{ functionResponse: { name: 'a', response: {} } }] },
        ],
      },
    ],
  ])('refuses %s', (_name, body) => expect(check(body)).toEqual(expect.any(String)))
})

describe('the stand-in for Bedrock', () => {
  const tool = (toolSpec: object) => ({
    toolConfig: { tools: [{ toolSpec: { name: 'a', inputSchema: { json: PLAIN }, ...toolSpec } }] },
  })
  const hello = { role: 'user', content: [{ text: 'hello' }] }
  const use = { toolUse: { toolUseId: 't', name: 'a', input: {} } }
  const used = { role: 'assistant', content: [use] }
  const answered = { role: 'user', content: [{ toolResult: { toolUseId: 't', content: [{ text: 'x' }] } }] }
  const check = (body: object) => checkBedrockRequest({ ...tool({}), messages: [hello], ...body })

  it('accepts what is right', () => {
    expect(check({})).toBeUndefined()
    expect(check({ messages: [hello, used, answered] })).toBeUndefined()
  })

  it.each([
    ['no tools', { toolConfig: { tools: [] } }],
    ['an empty description', tool({ description: '' })],
    ['a name that is too long', tool({ name: LONG })],
    ['calls without a toolConfig', { toolConfig: undefined, messages: [hello, used, answered] }],
    ['two messages of one role', { messages: [hello, hello] }],
    ['an answer to be continued', { messages: [hello, { role: 'assistant', content: [{ text: 'I am' }] }] }],
    ['an unanswered call', { messages: [hello, used, hello] }],
    ['an answer without a call', { messages: [answered] }],
    ['one id in two turns', { messages: [hello, used, answered, used, answered] }],
    ['blank text', { messages: [{ role: 'user', content: [{ text: ' ' }] }] }],
    [
      'arguments that are not an object',
      { messages: [hello, { ...used, content: [{ toolUse: { ...use.toolUse, input: '{}' } }] }, answered] },
    ],
  ])('refuses %s', (_name, body) => expect(check(body)).toEqual(expect.any(String)))
})
