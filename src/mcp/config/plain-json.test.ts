import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readJson } from './json-file.ts'
import { readPlainJson } from './plain-json.ts'

describe('plain JSON', () => {
  it.each([
    ['a comment', '{ "a": 1 } // one'],
    ['a trailing comma', '{ "a": 1, }'],
    ['a key written twice', '{ "a": { "b": 1, "\\u0062": 2 } }'],
    ['a list', '[1]'],
    ['a mistake', '{ "a" 1 }'],
    ['nothing', ''],
    ['too many levels', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ])('does not read %s', (_, text) => {
    expect(readPlainJson(text, 'a.json')).toBeUndefined()
  })

  it('has the data and the lines that the parser for comments finds', () => {
    const key = fc.constantFrom('a', 'b', 'c:', '{"', '\\', '__proto__', 'é')
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(1, null, true, 'a', '}', '":', '\\"', 'two\nlines'),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
      ),
    }))
    const paths = fc.array(fc.array(key, { maxLength: 4 }), { maxLength: 5 })
    fc.assert(
      fc.property(fc.dictionary(key, tree), fc.constantFrom(0, 1, 2), paths, (data, indent, wanted) => {
        const text = `\n ${JSON.stringify(data, null, indent)}\n`
        const [plain, parsed] = [readPlainJson(text, 'a.json'), readJson(text, 'a.json')]
        expect(plain?.data).toEqual(parsed.data)
        for (const keys of wanted) expect(plain?.lineOf(keys)).toBe(parsed.lineOf(keys))
      }),
    )
  })
})
