import { describe, expect, it } from 'vitest'
import { toToolResult } from './to-tool-result.ts'

const fine = () => undefined

describe('toToolResult', () => {
  it('joins texts and text resources, and hands every block on as it came', () => {
    const content = [
      { type: 'text', text: 'one', annotations: { priority: 1 } },
      { type: 'image', data: 'AA==', mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'file:///a', text: 'two' } },
      { type: 'audio', data: 'AA==', mimeType: 'audio/wav' },
    ]
    expect(toToolResult({ content }, fine).result).toEqual({ ok: true, value: 'one\ntwo', content })
  })

  it('says what there is to look at when there is nothing to read', () => {
    const content = [
      { type: 'image', data: 'AA==', mimeType: 'image/png' },
      { type: 'resource_link', uri: 'file:///b', name: 'b' },
    ]
    expect(toToolResult({ content }, fine).result).toMatchObject({
      value: '[image, image/png]\n[b: file:///b]',
    })
  })

  it('reads structured content as text when there is no other', () => {
    const { result } = toToolResult({ content: [], structuredContent: { a: 1 } }, fine)
    expect(result).toEqual({ ok: true, value: '{"a":1}', structured: { a: 1 } })
  })

  it('makes isError a failure with the text, and loses no block', () => {
    const image = { type: 'image', data: 'AA==', mimeType: 'image/png' }
    const content = [{ type: 'text', text: 'no' }, image]
    expect(toToolResult({ content, isError: true }, fine).result).toEqual({
      ok: false,
      code: 'execution_failed',
      error: 'no',
      structured: { content },
    })
  })

  it('reports structured content that breaks its schema, beside all there is', () => {
    const answer = { content: [{ type: 'text', text: 'x' }], structuredContent: 1 }
    expect(toToolResult(answer, () => 'wrong').result).toEqual({
      ok: true,
      value: 'x\n[structured content does not match its schema: wrong]',
      content: [
        ...answer.content,
        { type: 'text', text: '[structured content does not match its schema: wrong]' },
      ],
      structured: 1,
    })
  })

  it.each([[null], [7], ['text'], [[]]])('takes %j for a failure', (answer) => {
    expect(toToolResult(answer, fine).result.ok).toBe(false)
  })
})
