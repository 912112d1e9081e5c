import { describe, expect, it } from 'vitest'
import { globTest } from './glob.ts'

function matches(glob: string, ...paths: string[]): boolean[] {
  const test = globTest(glob)
  return paths.map((path) => test(path))
}

describe('globTest', () => {
  it('matches names anywhere when there is no slash', () => {
    expect(matches('*.ts', 'a.ts', 'src/deep/b.ts', 'a.tsx', 'a.ts/b')).toEqual([true, true, false, false])
    expect(matches('?.md', 'a.md', 'ab.md')).toEqual([true, false])
  })

  it('matches paths when there is one', () => {
    expect(matches('src/*.ts', 'src/a.ts', 'src/b/a.ts', 'a.ts')).toEqual([true, false, false])
    expect(matches('src/**/*.ts', 'src/a.ts', 'src/b/c/a.ts', 'other/a.ts')).toEqual([true, true, false])
    expect(matches('**/test/**', 'test/a', 'a/test/b/c', 'testing/a')).toEqual([true, true, false])
    expect(matches('./a/b', 'a/b')).toEqual([true])
  })

  it('supports classes, choices and escapes', () => {
    expect(matches('[a-c]?.{js,ts}', 'ax.js', 'cx.ts', 'dx.js', 'ax.tsx')).toEqual([true, true, false, false])
    expect(matches('[!a]*', 'b', 'a')).toEqual([true, false])
    expect(matches('{a,b{c,d}}', 'a', 'bc', 'bd', 'b')).toEqual([true, true, true, false])
    expect(matches('a\\*', 'a*', 'ab')).toEqual([true, false])
    expect(matches('a+(b).$', 'a+(b).$', 'aab')).toEqual([true, false])
    expect(matches('[]]', ']', 'a')).toEqual([true, false])
    expect(matches('a,b}', 'a,b}')).toEqual([true])
  })

  it('bounds the work of any pattern, and says what is wrong with an invalid one', () => {
    expect(matches(`${'*a'.repeat(200)}b`, 'a'.repeat(5_000))).toEqual([false])
    expect(() => globTest('{a,b')).toThrow('not closed')
    expect(() => globTest('[z-a]')).toThrow('not a valid glob')
    expect(() => globTest('*'.repeat(600))).toThrow('longer than')
    const costly = globTest(`*a${'?'.repeat(300)}b`)
    let state = 1
    const letter = () => {
      state = (state * 48_271) % 2_147_483_647
      return state % 2 === 0 ? 'a' : 'b'
    }
    const paths = Array.from({ length: 500 }, () => Array.from({ length: 400 }, letter).join(''))
    expect(() => paths.map(costly)).toThrow(
      expect.objectContaining({ code: 'input_invalid', message: expect.stringContaining('fewer wildcards') }),
    )
  })
})
