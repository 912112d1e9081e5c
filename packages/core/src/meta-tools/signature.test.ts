import { describe, expect, it } from 'vitest'
import { signatureOf, typeText } from './signature.ts'

const limit = { maxChars: 500 }

describe('a signature', () => {
  it('has the required parameters first, with types, values and what a text means', () => {
    const schema = {
      type: 'object',
      properties: {
        state: { enum: ['open', 'closed'] },
        query: { type: 'string', description: 'A query in the syntax of Lucene.' },
        ids: { type: 'array', items: { type: 'integer' } },
        since: { type: 'string', format: 'date-time' },
        'odd-name': { type: ['string', 'null'] },
      },
      required: ['query'],
    }
    expect(signatureOf(schema, limit)).toBe(
      '(query: string /* A query in the syntax of Lucene. */, state?: "open" | "closed", ids?: number[], since?: string /* date-time */, "odd-name"?: string | null)',
    )
  })

  it('shows what objects in lists contain, choices and references, and ends in a cycle', () => {
    const schema = {
      type: 'object',
      properties: {
        rows: {
          type: 'array',
          items: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
        },
        target: { anyOf: [{ type: 'string' }, { type: 'number' }] },
        tree: { $ref: '#/$defs/node' },
      },
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
    }
    expect(signatureOf(schema, limit)).toBe(
      '(rows?: { id: string }[], target?: string | number, tree?: { next?: { next?: {…} } })',
    )
  })

  it('gives up comments, then types, and never hides that something is left out', () => {
    const names = Array.from({ length: 30 }, (_, at) => `parameter_${at}`)
    const properties = Object.fromEntries(
      names.map((name) => [name, { type: 'string', description: 'Some words about it' }]),
    )
    const schema = { type: 'object', properties, required: ['parameter_29'] }
    for (const maxChars of [2_000, 800, 450]) {
      const text = signatureOf(schema, { maxChars })
      expect(text.length).toBeLessThanOrEqual(maxChars)
      expect(text).toMatch(/^\(parameter_29/)
      for (const name of names) expect(text).toContain(name)
    }
    const short = signatureOf(schema, { maxChars: 100 })
    expect(short.length).toBeLessThanOrEqual(100)
    expect(short).toMatch(/…\)$/)
  })

  it('gives up the types of optional parameters before those of required ones', () => {
    const schema = {
      type: 'object',
      properties: { note: { enum: ['first', 'second'] }, id: { type: 'integer' } },
      required: ['id'],
    }
    expect(signatureOf(schema, { maxChars: 30 })).toBe('(id: number, note?)')
  })

  it('says where it cannot tell', () => {
    expect(signatureOf({ oneOf: [{ type: 'object' }] }, limit)).toBe('(…)')
    expect(signatureOf(true, limit)).toBe('()')
    expect(signatureOf({ type: 'object', properties: { x: true } }, limit)).toBe('(x?: any)')
  })
})

it('is, of a result, deep enough to tell what its lists contain', () => {
  const bill = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }
  const result = {
    type: 'object',
    properties: { bills: { type: 'array', items: bill } },
    required: ['bills'],
  }
  expect(typeText(result)).toBe('{ bills: { id: string }[] }')
})
