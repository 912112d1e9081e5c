import { describe, expect, it } from 'vitest'
import { parameterTexts } from './listing-terms.ts'

describe('parameterTexts', () => {
  it('collects names, descriptions and allowed values, nested ones too', () => {
    const schema = {
      type: 'object',
      properties: {
        city: { type: 'string', description: 'Where' },
        units: { enum: ['metric', 1, 'imperial'] },
        stops: { type: 'array', items: { properties: { at: { description: 'When' } } } },
        when: { anyOf: [{ type: 'null' }, { properties: { day: {} } }] },
      },
    }
    expect(parameterTexts(schema)).toEqual({
      names: ['city', 'units', 'stops', 'at', 'when', 'day'],
      texts: ['Where', 'metric', 'imperial', 'When'],
    })
  })

  it.each([
    true,
    false,
    {},
    { properties: null },
    { properties: [1] },
    { properties: { a: 3, b: true } },
    { anyOf: 'x' },
  ])('tolerates %j', (schema) => expect(parameterTexts(schema).texts).toEqual([]))

  it('terminates on a schema that contains itself', () => {
    const schema: Record<string, unknown> = { description: 'again' }
    schema.properties = { self: schema, other: schema }
    expect(parameterTexts(schema).names.length).toBeLessThan(1000)
  })

  it('terminates on a schema with thousands of parameters', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 5000 }, (_, at) => [`p${at}`, { properties: { x: {} } }]),
    )
    expect(parameterTexts({ properties }).names.length).toBeLessThan(1000)
  })

  it('is bounded, also where parameters are allowed without a schema', () => {
    const properties = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`p${at}`, true]))
    expect(parameterTexts({ type: 'object', properties }).names.length).toBeLessThan(1_000)
  })
})
