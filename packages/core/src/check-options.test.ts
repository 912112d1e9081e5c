import { describe, expect, it } from 'vitest'
import {
  anyFunction,
  anyList,
  anyObject,
  anyText,
  anyValue,
  checkOptions,
  either,
  milliseconds,
  numberFrom,
  objectWith,
  oneOf,
  optionsWith,
  required,
  textList,
  trueOrFalse,
  type ValueCheck,
  wholeNumber,
} from './check-options.ts'
import { ToolcribError } from './errors.ts'

interface Options {
  maxActive?: number
  mode?: string
  policy?: { allow?: string[]; filter?: { servers?: string[] } }
}

const rules = {
  maxActive: wholeNumber(),
  mode: oneOf('full', 'lazy'),
  policy: optionsWith<NonNullable<Options['policy']>>({
    allow: textList,
    filter: optionsWith<{ servers?: string[] }>({ servers: textList }),
  }),
}

const check = (options: unknown) => () => checkOptions<Options>('a shelf', options, rules)

describe('checkOptions', () => {
  it('lets known keys with allowed values pass', () => {
    expect(check({})).not.toThrow()
    expect(check({ maxActive: 0, mode: 'lazy', policy: { filter: { servers: [] } } })).not.toThrow()
  })

  it('refuses an unknown key with the one that was likely meant, or with all there are', () => {
    expect(check({ maxActiv: 3 })).toThrow('a shelf has no option "maxActiv"; did you mean "maxActive"?')
    expect(check({ max_active: 3 })).toThrow('did you mean "maxActive"?')
    expect(check({ colour: 3 })).toThrow('a shelf has no option "colour"; it takes maxActive, mode, policy')
    expect(check({ colour: 3 })).toThrow(expect.objectContaining({ code: 'config-invalid' }))
    expect(check({ colour: 3 })).toThrow(ToolcribError)
  })

  it('knows no key that every object inherits', () => {
    expect(check({ constructor: 1 })).toThrow('has no option "constructor"')
    expect(check(JSON.parse('{ "__proto__": 1 }'))).toThrow('has no option "__proto__"')
    expect(check({ toString: () => '' })).toThrow('has no option "toString"')
  })

  it('counts a key that is undefined as absent', () => {
    expect(check({ colour: undefined, maxActive: undefined })).not.toThrow()
  })

  it('refuses a value out of range, with the value and what is allowed', () => {
    expect(check({ maxActive: -1 })).toThrow('a shelf: maxActive is -1; it must be a whole number, 0 or more')
    expect(check({ maxActive: Number.NaN })).toThrow('maxActive is NaN')
    expect(check({ mode: 'lasy' })).toThrow('a shelf: mode is "lasy"; it must be one of full, lazy')
    expect(check({ mode: null })).toThrow('mode is null')
    expect(check({ mode: 'x'.repeat(500) })).toThrow(/^.{0,150}$/)
  })

  it('refuses what is not an object', () => {
    for (const options of [null, 'lazy', [], 3, () => 1])
      expect(check(options)).toThrow(/^a shelf takes its options as an object, not /)
  })

  it('names the path of what is wrong within an option', () => {
    expect(check({ policy: { alow: [] } })).toThrow(
      'a shelf has no option "policy.alow"; did you mean "policy.allow"?',
    )
    expect(check({ policy: { filter: { servers: 'x' } } })).toThrow(
      'policy.filter.servers is "x"; it must be an array of strings',
    )
    expect(check({ policy: [] })).toThrow('policy is an array; it must be an object')
  })

  it('asks for a required option', () => {
    const needy = { root: required(anyText) }
    expect(() => checkOptions<{ root: string }>('files()', {}, needy)).toThrow(
      'files() needs the option "root": a string',
    )
    expect(() => checkOptions<{ root: string }>('files()', { root: '/' }, needy)).not.toThrow()
    expect(() => checkOptions<{ root: string }>('files()', { root: 3 }, needy)).toThrow('root is 3')
  })

  it.each<[string, ValueCheck, unknown[], unknown[]]>([
    ['oneOf', oneOf('a', 1, true), ['a', 1, true], ['b', '1', false, null]],
    ['wholeNumber', wholeNumber({ from: 1, to: 5 }), [1, 5], [0, 6, 1.5, '3', Number.NaN, null]],
    ['wholeNumber without an end', wholeNumber(), [0, 2 ** 53 - 1], [-1, Number.POSITIVE_INFINITY, 2 ** 53]],
    ['milliseconds', milliseconds({ from: 1 }), [1, 2 ** 31 - 1], [0, 2 ** 31, 1.5]],
    ['numberFrom', numberFrom(0), [0, 0.5, Number.POSITIVE_INFINITY], [-0.1, Number.NaN, '1']],
    ['anyText', anyText, ['', 'a'], [1, null, ['a']]],
    ['textList', textList, [[], ['a']], ['a', [1], null]],
    ['anyList', anyList, [[], [1]], ['a', {}]],
    ['trueOrFalse', trueOrFalse, [true, false], ['true', 0, null]],
    ['anyFunction', anyFunction, [() => 1, class {}], [{}, 'f']],
    ['anyObject', anyObject, [{}, new Map()], [null, [], () => 1]],
    ['anyValue', anyValue, [null, 1, []], []],
    ['objectWith', objectWith('get', 'set'), [new Map()], [{ get() {} }, null, {}]],
    ['either', either(oneOf(false), wholeNumber()), [false, 3], [true, -1]],
  ])('%s accepts what it says', (_name, rule, good, bad) => {
    for (const value of good) expect(rule.accepts(value)).toBe(true)
    for (const value of bad) expect(rule.accepts(value)).toBe(false)
    expect(rule.expected).not.toBe('')
  })
})
