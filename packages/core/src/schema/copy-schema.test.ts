import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { withoutHidden } from '../names.ts'
import { copySchema } from './copy-schema.ts'
import { linearPattern } from './linear-pattern.ts'

const ZERO_WIDTH = '\u200b'
const TURNED = '\u202e'
const TAG = '\u{e0041}'

describe('the copy of a schema', () => {
  it('has texts without hidden characters, wherever they stand', () => {
    const schema = {
      title: `T${TAG}`,
      $comment: `C${ZERO_WIDTH}`,
      'x-note': [`N${TURNED}`],
      properties: {
        city: {
          description: `The${TAG} city.`,
          default: `Os${ZERO_WIDTH}lo`,
          examples: [`Ro${TURNED}me`, { name: `Be${TAG}rn` }],
          enumDescriptions: [`a\u0007`],
          format: `x${ZERO_WIDTH}`,
        },
        description: { type: 'string', description: `lines\nand\ttabs${ZERO_WIDTH}` },
      },
    }
    expect(copySchema(schema, 'a')).toEqual({
      title: 'T',
      $comment: 'C',
      'x-note': ['N'],
      properties: {
        city: {
          description: 'The city.',
          default: 'Oslo',
          examples: ['Rome', { name: 'Bern' }],
          enumDescriptions: ['a'],
          format: 'x',
        },
        description: { type: 'string', description: 'lines\nand\ttabs' },
      },
    })
  })

  const exact: Record<string, object> = {
    'a name of a property': { properties: { [`ci${ZERO_WIDTH}ty`]: {} } },
    'a nested name': { properties: { a: { items: { properties: { [`b${TAG}`]: {} } } } } },
    'a name of a definition': { $defs: { [`x${TURNED}`]: {} } },
    'a name of an old definition': { definitions: { [`x${TURNED}`]: {} } },
    'a name by pattern': { patternProperties: { [`^x${ZERO_WIDTH}`]: {} } },
    'a value to choose from': { properties: { city: { enum: ['Rome', `Os${ZERO_WIDTH}lo`] } } },
    'a value inside one to choose from': { enum: [{ a: [`b${TAG}`] }] },
    'a constant': { properties: { city: { const: `Os${TURNED}lo` } } },
    'what is required': { required: [`ci${ZERO_WIDTH}ty`] },
    'what depends': { dependentRequired: { a: [`b${TAG}`] } },
    'a reference': { $ref: `#/$defs/x${TAG}` },
    'a keyword': { [`x-note${TAG}`]: 'a' },
  }

  it.each(Object.entries(exact))('is refused with hidden characters in %s', (_, schema) => {
    let message = ''
    try {
      copySchema(schema, 'lookup')
    } catch (error) {
      message = (error as Error).message
    }
    expect(message).toContain('the schema of "lookup" contains control or invisible characters in the ')
    expect(withoutHidden(message)).toBe(message)
  })

  it('treats properties named like keywords as properties', () => {
    const properties = {
      enum: { description: `a${TAG}` },
      const: { title: `b${TAG}`, enum: ['x'] },
      required: { items: { description: `c${TAG}` } },
    }
    expect(copySchema({ properties }, 'a')).toEqual({
      properties: {
        enum: { description: 'a' },
        const: { title: 'b', enum: ['x'] },
        required: { items: { description: 'c' } },
      },
    })
  })

  it('keeps emoji intact in exact names and values', () => {
    const schema = { enum: ['✔️', '👩‍💻', '👍🏽‍💻', '1️⃣', 'line\nbreak'] }
    expect(copySchema(schema, 'a')).toEqual(schema)
    expect(() => copySchema({ enum: ['a\u200db'] }, 'a')).toThrow('invisible')
    expect(() => copySchema({ enum: ['✔\u200d'] }, 'a')).toThrow('invisible')
  })

  it('keeps line breaks and joiners in exact names and values, and in defaults', () => {
    const texts = ['\n', '\r\n', '\t', 'a\r\nb', 'می\u200Cخواهم', 'क्\u200Dष', '👩‍💻']
    const schema = { enum: texts, default: texts[1], examples: texts, properties: { 'می\u200Cخواهم': {} } }
    expect(copySchema(schema, 'a')).toEqual(schema)
    expect(copySchema({ default: `\r\n\r${TAG}a\u200Db` }, 'a')).toEqual({ default: '\r\nab' })
    for (const text of ['a\rb', 'a\u200Cb', '\u200Cمی', `\r${ZERO_WIDTH}\n`])
      expect(() => copySchema({ enum: [text] }, 'a')).toThrow('invisible')
  })

  it('shows where a value hides something', () => {
    expect(() => copySchema({ enum: [`Os${ZERO_WIDTH}lo${TAG}`] }, 'a')).toThrow('"Os\\u200blo\\u{e0041}"')
    expect(() => copySchema({ enum: ['a\rb'] }, 'a')).toThrow('"a\\rb"')
  })

  it('escapes hidden characters in patterns, which match as before', () => {
    const patterns: [string, string, string][] = [
      [`^a${ZERO_WIDTH}b$`, '^a\\u200bb$', `a${ZERO_WIDTH}b`],
      [`^[${ZERO_WIDTH}-${TURNED}]$`, '^[\\u200b-\\u202e]$', TURNED],
      [`^\\${ZERO_WIDTH}$`, '^\\u200b$', ZERO_WIDTH],
      [`^\\\\${ZERO_WIDTH}$`, '^\\\\\\u200b$', `\\${ZERO_WIDTH}`],
      [`^${TAG}$`, '^\\u{e0041}$', TAG],
    ]
    for (const [pattern, written, text] of patterns) {
      expect(copySchema({ pattern }, 'a')).toEqual({ pattern: written })
      expect(linearPattern(written)(text)).toBe(true)
      expect(linearPattern(written)('a')).toBe(false)
    }
  })

  it('shows no hidden character of any schema', () => {
    const hidden = fc.constantFrom(ZERO_WIDTH, TURNED, TAG, '\u0000', '\u001b')
    const text = fc
      .tuple(fc.string({ maxLength: 5 }), hidden, fc.string({ maxLength: 5 }))
      .map((parts) => parts.join(''))
    const keys = fc.constantFrom('properties', 'enum', 'description', 'pattern', 'default', 'items', 'a')
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        text,
        fc.string(),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(fc.oneof({ weight: 8, arbitrary: keys }, text), tie('tree'), { maxKeys: 4 }),
      ),
    }))
    fc.assert(
      fc.property(fc.dictionary(keys, tree), (schema) => {
        let copy: unknown
        try {
          copy = copySchema(schema, 'a')
        } catch {
          return
        }
        for (const shown of textsIn(copy)) expect(withoutHidden(shown)).toBe(shown)
      }),
    )
  })
})

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsIn(inner)])
}
