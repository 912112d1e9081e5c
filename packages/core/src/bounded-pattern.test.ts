import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compilePattern } from './bounded-pattern.ts'
import { WorkBudget } from './time.ts'

describe('compilePattern', () => {
  it.each([
    ['get_(issue|ticket)s?$', 'mcp__x__get_issues', true],
    ['^get', 'to get', false],
    ['\\bfoo\\b', 'a foo, a bar', true],
    ['\\bfoo\\b', 'food', false],
    ['^$', '', true],
    ['a{2,3}b', 'ab', false],
    ['a{2,3}b', 'xaaab', true],
    ['(?:ab){2,}c', 'ababababc', true],
    ['[^a-c]', 'abc', false],
    ['[\\w.-]+@[\\w-]+', 'mail ann-b@example', true],
    ['[]', 'a', false],
    ['[^]', '\n', true],
    ['a.c', 'a\nc', false],
    ['\\u{1F600}|\\uD83D\\uDE00', '😀', true],
    ['^.$', '😀', true],
    ['\\p{Lu}é', 'Éé', true],
    ['{x}', 'a{x}', true],
    ['\\/\\-\\"', '/-"', true],
  ])('reads %j as JavaScript does', (source, text, expected) => {
    expect(compilePattern(source).test(text)).toBe(expected)
    expect(new RegExp(source, /[\\]u\{|p\{|\^\.\$/.test(source) ? 'u' : '').test(text)).toBe(expected)
  })

  it.each([
    ['(?i)GET_', 'get_news', true],
    ['(?i:G)ET', 'gET', true],
    ['(?i:G)ET', 'get', false],
    ['(?s)a.c', 'a\nc', true],
    ['\\Aab\\z', 'ab', true],
    ['\\Ab', 'ab', false],
    ['(?P<verb>get)_', 'get_x', true],
    ['^[[:alpha:]_]+$', 'get_x', true],
    ['[[:^digit:]]', '123', false],
    ['\\p{Greek}', 'α', true],
    ['\\pL', '1', false],
    ['\\x{61}', 'a', true],
  ])('reads what RE2 adds: %j', (source, text, expected) => {
    expect(compilePattern(source).test(text)).toBe(expected)
  })

  it('heeds ignoreCase, multiline and dotAll', () => {
    expect(compilePattern('É', { ignoreCase: true }).test('é')).toBe(true)
    expect(compilePattern('É').test('é')).toBe(false)
    expect(compilePattern('^b$', { multiline: true }).test('a\nb\nc')).toBe(true)
    expect(compilePattern('^b$').test('a\nb\nc')).toBe(false)
    expect(compilePattern('a.c', { dotAll: true }).test('a\nc')).toBe(true)
  })

  it.each([
    ['(', 'not closed'],
    ['a)', 'closes no group'],
    ['[a', 'not closed'],
    ['a{2,1}', 'counts down'],
    ['[z-a]', 'counts down'],
    ['*', 'nothing to repeat'],
    ['a**', 'quantifier'],
    ['a\\', 'single \\'],
    ['\\y', '\\y is not a known escape'],
    ['\\p{Nonsense}', 'Nonsense'],
    ['(?=x)', 'lookaround'],
    ['(?<!x)y', 'lookaround'],
    ['(a)\\1', 'backreferences'],
    ['(?<n>a)\\k<n>', 'backreferences'],
    ['(?#note)a', 'unknown kind of group'],
    ['a{0,999}a{0,999}b', '3998 steps'],
    ['((a{1,99}){1,99}){1,99}', 'steps'],
    ['a{99999999999999999999}', 'steps'],
    ['('.repeat(500), 'deep'],
  ])('refuses %j and says why', (source, reason) => {
    const compile = () => compilePattern(source, { maxLength: 1_000 })
    expect(compile).toThrow(reason)
    expect(compile).toThrow(expect.objectContaining({ code: 'pattern-invalid' }))
  })

  it('takes 200 characters, or as many as the caller allows', () => {
    expect(compilePattern('a'.repeat(200)).test('a')).toBe(false)
    expect(() => compilePattern('a'.repeat(201))).toThrow('has 201 characters; shorten it to 200')
    expect(compilePattern('a'.repeat(201), { maxLength: 500 }).test('a'.repeat(300))).toBe(true)
  })

  it('finds what the platform finds, for any pattern and text', () => {
    fc.assert(
      fc.property(patterns, fc.constantFrom('', 'i', 's', 'm'), texts, (source, flag, text) => {
        const options = { ignoreCase: flag === 'i', dotAll: flag === 's', multiline: flag === 'm' }
        const found = new RegExp(source, `u${flag}`).exec(text)
        // V8 finds empty matches between the halves of a character, where no other engine looks.
        fc.pre(found === null || !isLowHalf(text.charCodeAt(found.index)))
        expect(compilePattern(source, { ...options, maxLength: 5_000 }).test(text)).toBe(found !== null)
      }),
      { numRuns: 1_000 },
    )
  })
})

function isLowHalf(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}

describe('the work of a pattern', () => {
  it('is one step for a character on a way that is known', () => {
    const pattern = compilePattern('b$')
    pattern.test('a'.repeat(10))
    const budget = new WorkBudget(2_000)
    pattern.test('a'.repeat(1_000), budget)
    expect(budget.left).toBe(999)
  })

  it('is the same for the same search', () => {
    const workOf = () => {
      const budget = new WorkBudget()
      const pattern = compilePattern('(a|b)*a(a|b){9}c', { ignoreCase: true })
      for (const text of ['abab'.repeat(100), 'bbbaba'.repeat(90)]) pattern.test(text, budget)
      return budget.left
    }
    expect(workOf()).toBe(workOf())
  })

  it('is shared by all tests of a search, and refused when it is spent', () => {
    const pattern = compilePattern('x$')
    const budget = new WorkBudget(10_000)
    const search = () => {
      for (let test = 0; test < 100; test++) pattern.test('a'.repeat(1_000), budget)
    }
    expect(search).toThrow('takes too much work')
    expect(search).toThrow(expect.objectContaining({ code: 'pattern-invalid' }))
  })

  it.each([
    'a{0,490}a{0,490}b',
    '(x+x+)+y',
    '^(a+)+$',
    '(a|aa)+$',
    '(.*)*x',
    '((a{1,30}){1,30})b',
    '(a|b)*a(a|b){180}c',
    '[\\s\\S]{0,400}x[\\s\\S]{0,400}y',
  ])('of %j over any text stays within the budget', (source) => {
    const pattern = compilePattern(source)
    const budget = new WorkBudget(1_000_000)
    const texts = ['a'.repeat(100_000), 'ab'.repeat(50_000), `${'aab'.repeat(30_000)}!`]
    for (const text of texts) {
      try {
        pattern.test(text, budget)
      } catch (error) {
        expect(error).toMatchObject({ code: 'pattern-invalid' })
      }
    }
    // What one state costs is the most by which a budget is exceeded.
    expect(budget.left).toBeGreaterThan(-3 * 2_000 * 40)
  })

  it('forgets states rather than to hold ever more of them', () => {
    const pattern = compilePattern('(a|b)*a(a|b){40}c')
    let seed = 1
    const text = Array.from({ length: 40_000 }, () => {
      seed = Math.imul(seed, 48271) % 0x7fffffff
      return seed & 64 ? 'a' : 'b'
    }).join('')
    expect(pattern.test(text, new WorkBudget(1e9))).toBe(false)
    expect(pattern.test(`${text}a${'b'.repeat(40)}c`, new WorkBudget(1e9))).toBe(true)
  })
})

const texts = fc.string({
  unit: fc.constantFrom('a', 'b', 'B', 'é', '_', ' ', '\n', '1', '😀'),
  maxLength: 12,
})

const { pattern: patterns } = fc.letrec<{ pattern: string; piece: string; atom: string }>((tie) => ({
  pattern: fc
    .array(fc.array(tie('piece'), { maxLength: 4 }), { minLength: 1, maxLength: 3 })
    .map((options) => options.map((pieces) => pieces.join('')).join('|')),
  piece: fc
    .tuple(tie('atom'), fc.constantFrom('', '', '', '*', '+', '?', '*?', '{2}', '{1,2}', '{0,1}', '{2,}'))
    .map(([atom, quantifier]) => (/^(?:\^|\$|\\b|\\B)$/.test(atom) ? atom : atom + quantifier)),
  atom: fc.oneof(
    // Little: the platform's own matcher takes exponential time on nested repeats.
    { maxDepth: 1, depthIdentifier: 'group' },
    fc.constantFrom('a', 'b', 'é', '_', '.', '[ab]', '[^a]', '[a-f\\d]', '\\w', '\\W', '\\s', '\\d', '😀'),
    fc.constantFrom('^', '$', '\\b', '\\B', '\\n', '\\u{e9}', '[\\s\\S]', '\\p{L}'),
    tie('pattern').map((inner) => `(${inner})`),
    tie('pattern').map((inner) => `(?:${inner})`),
  ),
}))
