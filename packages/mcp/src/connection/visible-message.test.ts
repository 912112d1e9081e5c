import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { visibleMessage } from './visible-message.ts'

const hidden = '\u200B\u{E0041}\u202E\u001B'

describe('visibleMessage', () => {
  const resultOf = (result: Record<string, unknown>, method = 'tools/call') => {
    const message = visibleMessage({ jsonrpc: '2.0', id: 1, result }, method)
    return 'result' in message ? message.result : undefined
  }

  it('removes hidden characters from every text of a result, and leaves bytes and _meta unchanged', () => {
    const content = [
      { type: 'text', text: `one${hidden}\n\ttwo` },
      { type: 'resource', resource: { uri: `file:///a${hidden}`, text: `th${hidden}ree` } },
      { type: 'resource', resource: { uri: 'file:///b', blob: 'AA+/\r\nBB==' } },
      { type: 'image', data: 'AA-_', mimeType: 'image/png', _meta: { a: hidden } },
    ]
    const structuredContent = { [`ke${hidden}y`]: [{ data: `va${hidden}lue`, _meta: `m${hidden}` }, 1, null] }
    expect(resultOf({ content, structuredContent, _meta: { b: hidden } })).toEqual({
      content: [
        { type: 'text', text: 'one\n\ttwo' },
        {
          type: 'resource',
          resource: { uri: 'file:///a%E2%80%8B%F3%A0%81%81%E2%80%AE%1B', text: 'three' },
        },
        { type: 'resource', resource: { uri: 'file:///b', blob: 'AA+/\r\nBB==' } },
        { type: 'image', data: 'AA-_', mimeType: 'image/png', _meta: { a: hidden } },
      ],
      structuredContent: { key: [{ data: 'value', _meta: 'm' }, 1, null] },
      _meta: { b: hidden },
    })
  })

  it('takes for bytes only what is base64', () => {
    const content = [
      { type: 'image', data: `AA${hidden}` },
      { type: 'custom', data: { text: `one${hidden}` }, blob: [`two${hidden}`] },
    ]
    expect(resultOf({ content, data: `three${hidden}` })).toEqual({
      content: [
        { type: 'image', data: 'AA' },
        { type: 'custom', data: { text: 'one' }, blob: ['two'] },
      ],
      data: 'three',
    })
  })

  it('keeps exact what a client or the gateway sends back', () => {
    const question = {
      method: 'elicitation/create',
      params: { message: `who${hidden}`, elicitationId: hidden },
    }
    const ids = { requestState: hidden, taskId: hidden, nextCursor: hidden }
    expect(resultOf({ ...ids, inputRequests: { [hidden]: question } })).toEqual({
      ...ids,
      inputRequests: { [hidden]: { ...question, params: { message: 'who', elicitationId: hidden } } },
    })
  })

  it('cleans questions, whatever their fields and ids are called', () => {
    const properties = { data: { type: 'string', title: `a${hidden}b` }, blob: { description: hidden } }
    const params = { message: `who${hidden}`, requestedSchema: { type: 'object', properties } }
    const cleaned = { data: { type: 'string', title: 'ab' }, blob: { description: '' } }
    expect(resultOf({ inputRequests: { data: { method: 'elicitation/create', params } } })).toMatchObject({
      inputRequests: { data: { params: { message: 'who', requestedSchema: { properties: cleaned } } } },
    })
  })

  it('leaves definitions to the lockfile and the scanner', () => {
    const tools = { tools: [{ name: 'a', description: hidden }] }
    expect(resultOf(tools, 'tools/list')).toBe(tools)
  })

  it('cleans errors and log messages with all their data', () => {
    const error = { code: 1, message: `no${hidden}`, data: { data: hidden, uri: `u${hidden}` } }
    expect(visibleMessage({ jsonrpc: '2.0', id: 1, error })).toMatchObject({
      error: { code: 1, message: 'no', data: { data: '', uri: 'u' } },
    })
    const params = { level: 'info', logger: `l${hidden}`, data: { [`k${hidden}`]: hidden } }
    expect(visibleMessage({ jsonrpc: '2.0', method: 'notifications/message', params })).toMatchObject({
      params: { level: 'info', logger: 'l', data: { k: '' } },
    })
  })

  it('returns the same object if nothing is hidden', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: fc.constantFrom('a', 'é', '天', '\n') }), (data) => {
        const message = { jsonrpc: '2.0' as const, id: 1, result: { data, structuredContent: data } }
        expect(visibleMessage(message)).toBe(message)
      }),
    )
  })

  it('changes _meta in no way but to mask what is secret', () => {
    const message = (note: string) => ({
      jsonrpc: '2.0' as const,
      id: 1,
      result: { _meta: { 'x/y': [note] } },
    })
    expect(visibleMessage(message('a\u200bb'), 'tools/call')).toEqual(message('a\u200bb'))
    const mask = (text: string) => text.replace('hunter2', '***')
    expect(visibleMessage(message('hunter2'), 'tools/call', mask)).toEqual(message('***'))
  })
})
