import { CapabilityError } from '@toolcrib/core'
import fc from 'fast-check'
import { expect } from 'vitest'
import { fuzz } from '../../../../test/fuzz.ts'
import { globTest } from './glob.ts'

const globs = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '*',
        '**',
        '**/',
        '?',
        '/',
        '[',
        ']',
        '!',
        '-',
        '{',
        '}',
        ',',
        '\\',
        '.',
        '^',
        '(',
        '|',
      ),
      fc.string({ maxLength: 3 }),
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(''))
const paths = fc
  .array(fc.oneof(fc.constantFrom('a', 'b', '/', '.', '-'), fc.string({ maxLength: 3 })), { maxLength: 20 })
  .map((parts) => parts.join(''))

fuzz(
  'every glob either compiles or is rejected with input_invalid',
  fc.tuple(globs, paths),
  ([glob, path]) => {
    try {
      expect(typeof globTest(glob)(path)).toBe('boolean')
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(CapabilityError)
      expect(thrown).toMatchObject({ code: 'input_invalid' })
    }
  },
)

const names = fc.stringMatching(/^[\w+$^()|-][\w.+$^()|-]{0,9}$/)

fuzz('a glob without wildcards matches only its own text', fc.tuple(names, names), ([name, other]) => {
  expect(globTest(name)(name)).toBe(true)
  expect(globTest(name)(`deep/${name}`)).toBe(true)
  expect(globTest(name)(other)).toBe(name === other)
})

fuzz(
  '* matches within a name, ** across directories',
  fc.tuple(names, names, names),
  ([first, middle, last]) => {
    const path = `${first}/${middle}/${last}`
    expect(globTest(`${first}/*/${last}`)(path)).toBe(true)
    expect(globTest(`${first}/**/${last}`)(path)).toBe(true)
    expect(globTest('**')(path)).toBe(true)
    expect(globTest(`${first}/*`)(path)).toBe(false)
  },
)
