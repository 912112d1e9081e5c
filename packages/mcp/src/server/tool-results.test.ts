import { describe, expect, it } from 'vitest'
import { toToolResult } from './tool-results.ts'

const fine = () => ({ kind: 'fine' }) as const

describe('toToolResult', () => {
  it('joins texts and text resources, and returns every block unchanged', () => {
    const content = [
      { type: 'text', text: 'one', annotations: { priority: 1 } },
      { type: 'image', data: 'AA==', mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'file:///a', text: 'two' } },
      { type: 'audio', data: 'AA==', mimeType: 'audio/wav' },
    ]
    expect(toToolResult({ content }, fine)).toEqual({ ok: true, value: 'one\ntwo', content })
  })

  it('lists the other blocks when there is no text', () => {
    const content = [
      { type: 'image', data: 'AA==', mimeType: 'image/png' },
      { type: 'resource_link', uri: 'file:///b', name: 'b' },
    ]
    expect(toToolResult({ content }, fine)).toMatchObject({
      value: '[image, image/png]\n[b: file:///b]',
    })
  })

  it('reads structured content as text when there is no other', () => {
    const result = toToolResult({ content: [], structuredContent: { a: 1 } }, fine)
    expect(result).toEqual({ ok: true, value: '{"a":1}', structured: { a: 1 } })
  })

  it('turns isError into a failure with the text, and loses no block', () => {
    const image = { type: 'image', data: 'AA==', mimeType: 'image/png' }
    const content = [{ type: 'text', text: 'no' }, image]
    expect(toToolResult({ content, isError: true }, fine)).toEqual({
      ok: false,
      code: 'execution_failed',
      error: 'no',
      structured: { content },
    })
  })

  it('keeps the blocks of a failure beside its structured content', () => {
    const content = [{ type: 'image', data: 'AA==', mimeType: 'image/png' }]
    const failure = (structuredContent: unknown) =>
      toToolResult({ content, structuredContent, isError: true }, fine)
    expect(failure({ line: 3 })).toMatchObject({ structured: { line: 3, content } })
    expect(failure({ content: 'own' })).toMatchObject({
      structured: { structuredContent: { content: 'own' }, content },
    })
    expect(failure([1])).toMatchObject({ structured: { structuredContent: [1], content } })
  })

  it('reports structured content that violates its schema, and returns everything', () => {
    const answer = { content: [{ type: 'text', text: 'x' }], structuredContent: 1 }
    expect(toToolResult(answer, () => ({ kind: 'faulty', faults: 'wrong' }))).toEqual({
      ok: true,
      value: 'x\n[structured content does not match its schema: wrong]',
      content: [
        ...answer.content,
        { type: 'text', text: '[structured content does not match its schema: wrong]' },
      ],
      structured: 1,
    })
  })

  it('keeps the other fields of a failure', () => {
    const plain = { type: 'text', text: 'no' }
    const annotated = { ...plain, annotations: { audience: ['user'] }, _meta: { 'x/line': 3 } }
    expect(toToolResult({ content: [plain], isError: true }, fine)).toEqual({
      ok: false,
      code: 'execution_failed',
      error: 'no',
    })
    expect(toToolResult({ content: [annotated], isError: true }, fine)).toMatchObject({
      error: 'no',
      structured: { content: [annotated] },
    })
  })

  it('returns _meta of success and failure, unchanged', () => {
    const meta = { 'x/cost': { 'to\u200Bkens': 12, unit: 'to\u202Ekens' } }
    const whole = { ...meta, 'io.modelcontextprotocol/serverInfo': { name: 'a' } }
    const content = [{ type: 'text', text: 'x' }]
    expect(toToolResult({ content, _meta: whole }, fine)).toEqual({ ok: true, value: 'x', content, meta })
    expect(toToolResult({ content, _meta: meta, isError: true }, fine)).toMatchObject({ ok: false, meta })
    for (const nothing of [{}, 'text', [1], null])
      expect(toToolResult({ content, _meta: nothing }, fine)).not.toHaveProperty('meta')
  })

  it.each([[null], [7], ['text'], [[]]])('treats %j as a failure', (answer) => {
    expect(toToolResult(answer, fine).ok).toBe(false)
  })
})
