import { describe, expect, it } from 'vitest'
import { unknownArguments } from './call-arguments.ts'

const schema = { type: 'object', properties: { path: { type: 'string' }, head: { type: 'number' } } }

describe('an argument that a tool does not have', () => {
  it('is named, with the nearest one and those that there are', () => {
    expect(unknownArguments({ pth: 'a', head: 1 }, schema)).toBe(
      'has no argument "pth" (did you mean "path"?); it takes path, head',
    )
    expect(unknownArguments({ colour: 'red' }, schema)).toBe('has no argument "colour"; it takes path, head')
    expect(unknownArguments({ x: 1 }, { type: 'object' })).toBe('has no argument "x"; it takes none')
  })

  it('is none where the schema knows all, refuses others itself, or may take them', () => {
    expect(unknownArguments({ path: 'a' }, schema)).toBeUndefined()
    for (const more of [{ additionalProperties: false }, { additionalProperties: {} }, { anyOf: [] }])
      expect(unknownArguments({ pth: 'a' }, { ...schema, ...more })).toBeUndefined()
    expect(unknownArguments({ pth: 'a' }, true)).toBeUndefined()
    expect(unknownArguments({ pth: 'a' }, undefined)).toBeUndefined()
  })

  it('is one of a limited number, however many there are', () => {
    const properties = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`p${at}`, {}]))
    expect(unknownArguments({ zebra: 1 }, { properties })).toMatch(/it takes p0, .*p7, …$/)
  })
})
