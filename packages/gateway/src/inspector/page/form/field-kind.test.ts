import { describe, expect, it } from 'vitest'
import { fieldKind, initialValue, openSchema } from './field-kind.ts'

describe('a form', () => {
  it.each([
    [{ type: 'string' }, 'text'],
    [{ type: ['null', 'integer'] }, 'number'],
    [{ type: 'boolean' }, 'flag'],
    [{ enum: ['a', 1, null] }, 'choice'],
    [{ oneOf: [{ type: 'string' }, { type: 'number' }] }, 'variants'],
    [{ type: 'array', items: { type: 'string' } }, 'list'],
    [{ properties: { a: {} } }, 'object'],
    [{ type: 'object' }, 'json'],
    [{ type: 'array' }, 'json'],
    [{}, 'json'],
    [{ type: 'strin' }, 'json'],
  ])('shows %o as %s', (schema, kind) => {
    expect(fieldKind(openSchema(schema, schema), 0)).toBe(kind)
  })

  it('follows references, and stops where they go round', () => {
    const root = { $defs: { name: { type: 'string' }, loop: { $ref: '#/$defs/loop' } } }
    expect(fieldKind(openSchema({ $ref: '#/$defs/name' }, root), 0)).toBe('text')
    expect(fieldKind(openSchema({ $ref: '#/$defs/loop' }, root), 0)).toBe('json')
    const tree = { properties: { child: { $ref: '#' } }, required: ['child'] }
    expect(JSON.stringify(initialValue(tree, tree, true)).length).toBeLessThan(200)
  })

  it('starts with defaults and with what is required, and leaves the rest out', () => {
    const schema = {
      type: 'object',
      properties: {
        path: { type: 'string' },
        depth: { type: 'integer', default: 3 },
        where: { type: 'object', properties: { deep: { type: 'boolean' } }, required: ['deep'] },
        tags: { type: 'array', items: { type: 'string' } },
        kind: { const: 'file' },
      },
      required: ['path', 'where', 'tags'],
    }
    expect(initialValue(schema, schema, true)).toEqual({
      depth: 3,
      where: { deep: false },
      tags: [],
      kind: 'file',
    })
  })

  it('lets people write JSON below six levels', () => {
    expect(fieldKind({ properties: { a: {} } }, 6)).toBe('json')
  })
})
