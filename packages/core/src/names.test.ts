import { describe, expect, it } from 'vitest'
import { checkName, hidesNothing, nameSkeletons, splitName, withoutHidden, withoutHiding } from './names.ts'

describe('splitName', () => {
  it.each([
    ['mcp__github__search_issues', ['github', 'search', 'issues']],
    ['whatsapp.send', ['whatsapp', 'send']],
    ['readFile', ['read', 'file']],
    ['HTTPServer-start', ['http', 'server', 'start']],
    ['a/b', ['a', 'b']],
    ['mcp', ['mcp']],
    ['__proto__', ['proto']],
    ['天気', ['天気']],
  ])('%s', (name, parts) => {
    expect(splitName(name)).toEqual(parts)
  })
})

const collide = (a: string, b: string) =>
  nameSkeletons(a).some((skeleton) => nameSkeletons(b).includes(skeleton))

describe('nameSkeletons', () => {
  it.each([
    ['Search', 'search'],
    ['mcp__a__b_c', 'mcp__a_b__c'],
    ['seаrch', 'search'], // Cyrillic а
    ['ｓearch', 'search'], // full-width s
    ['οpen', 'open'], // Greek omicron
    ['Вash', 'bash'], // Cyrillic В
    ['Ηelp', 'help'], // Greek Eta
    ['Ꮪend', 'send'], // Cherokee
    ['ꓢend', 'Send'], // Lisu
    ['ΗΛ', 'ηλ'],
  ])('%s and %s collide', (a, b) => {
    expect(collide(a, b)).toBe(true)
  })

  it.each([
    ['search', 'research'],
    ['read_file', 'read-file'],
    ['か', 'が'],
    ['a1', 'al'],
    ['help', 'nelp'],
  ])('%s and %s do not', (a, b) => {
    expect(collide(a, b)).toBe(false)
  })
})

describe('checkName', () => {
  it.each(['a', 'mcp__x__y', '__proto__', 'constructor', 'with space', '天気', 'x'.repeat(200)])(
    'accepts %s',
    (name) => {
      expect(() => checkName(name, 'tool name')).not.toThrow()
    },
  )

  it.each([
    ['', 'empty'],
    ['x'.repeat(257), '257 characters'],
    ['a\u200bb', 'invisible'],
    ['a\u202eb', 'invisible'],
    ['a\nb', 'control'],
    [' a', 'space'],
    ['a,b', 'queries'],
    ['a*', 'queries'],
    [7, 'string'],
    [undefined, 'string'],
  ])('refuses %j and says why', (name, reason) => {
    expect(() => checkName(name, 'tool name')).toThrow(
      expect.objectContaining({ code: 'name-invalid', message: expect.stringContaining(reason) }),
    )
  })
})

describe('withoutHidden', () => {
  it('agrees with the fast test for texts that hide nothing', () => {
    for (let code = 0; code <= 0xffff; code++) {
      const character = String.fromCharCode(code)
      // The first character forces the closer look.
      if (hidesNothing(character)) expect(withoutHidden(`\0${character}`)).toBe(character)
    }
  })

  it('strips what people cannot see and keeps line breaks', () => {
    expect(withoutHidden('a\u200b\u202e\u{e0041}\u0007b\n\tc é 天')).toBe('ab\n\tc é 天')
  })
})

describe('withoutHiding', () => {
  it('keeps what writing requires, and nothing else', () => {
    for (const text of ['a\r\nb', 'می\u200cخواهم', '👩\u200d🚀', '❤\ufe0f'])
      expect(withoutHiding(text)).toBe(text)
    expect(withoutHiding('a\u200db\r❤\ufe0f\ufe0f👩\u200d\u200d🚀')).toBe('ab❤\ufe0f👩🚀')
  })
})
