import { describe, expect, it } from 'vitest'
import { schemaRows } from './schema-rows.ts'

const card = {
  title: 'Card',
  type: 'object',
  properties: { number: { type: 'string' } },
  required: ['number'],
}
const invoice = { title: 'Invoice', type: 'object', properties: { company: { type: 'string' } } }

describe('the rows of a schema', () => {
  it('has what is nested below what it belongs to, also in lists', () => {
    const city = { type: 'object', properties: { name: { type: 'string' } } }
    const rows = schemaRows({ type: 'object', properties: { stops: { type: 'array', items: city } } })
    expect(rows.map(({ name, depth, type }) => ({ name, depth, type }))).toEqual([
      { name: 'stops', depth: 0, type: 'list of objects' },
      { name: 'name', depth: 1, type: 'string' },
    ])
  })

  it('has the arguments of each variant, and the titles of the variants', () => {
    const rows = schemaRows({ type: 'object', properties: { payment: { oneOf: [card, invoice] } } })
    expect(rows.map(({ name, type, isRequired }) => ({ name, type, isRequired }))).toEqual([
      { name: 'payment', type: 'Card or Invoice', isRequired: false },
      { name: 'number', type: 'string', isRequired: true },
      { name: 'company', type: 'string', isRequired: false },
    ])
    expect(new Set(rows.map(({ path }) => path)).size).toBe(3)
  })

  it('ends, however deep a schema refers to itself', () => {
    const loop = {
      type: 'object',
      properties: { next: { anyOf: [{ $ref: '#/$defs/loop' }, { $ref: '#/$defs/loop' }] } },
    }
    const rows = schemaRows({ ...loop, $defs: { loop } })
    expect(rows.length).toBeLessThanOrEqual(400)
  })
})
