import fc from 'fast-check'
import { expect } from 'vitest'
import { fuzz } from '../../../../../test/fuzz.ts'
import { LineFramer } from './line-framer.ts'

const MAX_BYTES = 50

const bytes = fc
  .array(
    fc.oneof(
      fc.constantFrom('\n', '\n\n', '\r\n', '{"id":1}', '{', 'x'.repeat(MAX_BYTES), 'x'.repeat(2_000)),
      fc.string({ unit: 'binary', maxLength: 9 }),
    ),
    { maxLength: 20 },
  )
  .map((pieces) => Buffer.from(pieces.join('')))

fuzz(
  'lines are the same however the bytes arrive, and none is longer than allowed',
  fc.tuple(bytes, fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 30 })),
  ([whole, sizes]) => {
    const expected = whole.toString('latin1').split('\n').slice(0, -1)
    const { lines, overlong } = frame(whole, sizes)
    expect(lines).toEqual(expected.filter((line) => line.length > 0 && line.length <= MAX_BYTES))
    expect(overlong).toEqual(expected.map(({ length }) => length).filter((length) => length > MAX_BYTES))
  },
)

function frame(whole: Buffer, sizes: readonly number[]) {
  const lines: string[] = []
  const overlong: number[] = []
  const framer = new LineFramer({
    maxBytes: MAX_BYTES,
    onLine: (line) => lines.push(line.toString('latin1')),
    onOverlong: ({ bytes: count, head, tail }) => {
      overlong.push(count)
      expect(Math.max(head.length, tail.length)).toBeLessThanOrEqual(1_024)
    },
  })
  for (let from = 0, turn = 0; from < whole.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1
    framer.push(whole.subarray(from, from + size))
    from += size
  }
  return { lines, overlong }
}
