import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JSON_WITH_COMMENTS } from './json-text.ts'

const { parse, set, layOut } = JSON_WITH_COMMENTS
const ENTRY = { command: 'toolcrib', args: ['serve', '--stdio'] }
const PATH = ['mcpServers', 'toolcrib']

describe('JSON on one line', () => {
  it.each([
    [
      '{"a":1.0,"mcpServers":{}}\n',
      '{"a":1.0,"mcpServers":{"toolcrib":{"command":"toolcrib","args":["serve","--stdio"]}}}\n',
    ],
    [
      '{"a": "\\u00e9", "mcpServers": {"m": {"command": "x"}}}',
      '{"a": "\\u00e9", "mcpServers": {"m": {"command": "x"}, "toolcrib": {"command": "toolcrib", "args": ["serve", "--stdio"]}}}',
    ],
    [
      '{ "mcpServers": { "m": { "url": "y" } }, "z": [1,2] }\r\n',
      '{ "mcpServers": { "m": { "url": "y" }, "toolcrib": { "command": "toolcrib", "args": ["serve", "--stdio"] } }, "z": [1,2] }\r\n',
    ],
    [
      '{"z": 1}',
      '{"z": 1, "mcpServers": {"toolcrib": {"command": "toolcrib", "args": ["serve", "--stdio"]}}}',
    ],
    [
      '{\n    "z": [1],\n    "mcpServers": {"m": {"command": "x"}}\n}\n',
      '{\n    "z": [1],\n    "mcpServers": {"m": {"command": "x"}, "toolcrib": {"command": "toolcrib", "args": ["serve", "--stdio"]}}\n}\n',
    ],
  ])('keeps its style when a server is added to %j', (before, after) => {
    expect(set(before, PATH, ENTRY)).toBe(after)
  })

  it('loses a server, whichever it is, with its comma and blanks', () => {
    const text = '{ "mcpServers": { "a": { "x": 1 }, "b": 2, "c": 3 } }'
    const without = (name: string) => set(text, ['mcpServers', name], undefined)
    expect(without('a')).toBe('{ "mcpServers": { "b": 2, "c": 3 } }')
    expect(without('b')).toBe('{ "mcpServers": { "a": { "x": 1 }, "c": 3 } }')
    expect(without('c')).toBe('{ "mcpServers": { "a": { "x": 1 }, "b": 2 } }')
  })

  it('gets lines of its own where the text has several, or nothing yet', () => {
    expect(set('{\n\t"mcpServers": {}\n}\n', ['mcpServers', 'm'], { url: 'y' })).toBe(
      '{\n\t"mcpServers": {\n\t\t"m": {\n\t\t\t"url": "y"\n\t\t}\n\t}\n}\n',
    )
    expect(set('{}', ['a'], 1)).toBe('{\n  "a": 1\n}')
  })

  it('stays on one line and is what it was after a change and its undoing, whatever is in it', () => {
    const data = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { minKeys: 1 })
    const style = fc.constantFrom(
      (value: object) => JSON.stringify(value),
      (value: object) => JSON.stringify(value, null, 1).replace(/\n */g, ''),
    )
    fc.assert(
      fc.property(data, style, (others, write) => {
        const { mcpServers: _, ...rest } = others
        const text = write({ ...rest, mcpServers: { m: { command: 'x' } } })
        const added = set(text, PATH, ENTRY)
        expect(added).not.toContain('\n')
        expect(parse(added)).toEqual({
          ...Object(parse(text)),
          mcpServers: { m: { command: 'x' }, toolcrib: ENTRY },
        })
        expect(set(added, PATH, undefined)).toBe(text)
      }),
    )
  })

  it('is laid out for a diff, with its comments', () => {
    expect(layOut?.('{"a": [1], "b":2} // mine\n')).toBe('{\n  "a": [\n    1\n  ],\n  "b": 2\n} // mine')
  })
})
