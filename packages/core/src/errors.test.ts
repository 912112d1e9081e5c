import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { describeError } from './errors.ts'

describe('describeError', () => {
  it('puts the issues of a validation library into words', () => {
    const { error } = z.object({ a: z.string(), b: z.array(z.number()) }).safeParse({ b: ['x'] })
    const said =
      'a: Invalid input: expected string, received undefined; b.0: Invalid input: expected number, received string'
    expect(describeError(error)).toBe(said)
    expect(describeError(new Error(`Invalid result: ${error?.message}`))).toBe(`Invalid result: ${said}`)
    const many = z
      .tuple(Array.from({ length: 9 }, () => z.string()) as [z.ZodString])
      .safeParse(Array(9).fill(1))
    expect(describeError(many.error)).toMatch(/^0: .*; and 4 more$/)
  })

  it.each(['see [{"a":1}]', 'odd [{]', '[{"path":1,"message":2}]', 'list [1]', '[{'])(
    'leaves %j as it is',
    (text) => {
      expect(describeError(new Error(text))).toBe(text)
    },
  )
})
