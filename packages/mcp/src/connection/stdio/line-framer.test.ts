import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LineFramer, type OverlongLine } from './line-framer.ts'

describe('LineFramer', () => {
  it('returns the same lines however the bytes are chunked', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1 }).filter((line) => !line.includes('\n'))),
        fc.array(fc.nat({ max: 200 })),
        (lines, cuts) => {
          const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
          expect(frame(cutAt(bytes, cuts)).lines).toEqual(lines)
        },
      ),
    )
  })

  it('drops an overlong line, keeps its ends, and continues with the next', () => {
    const long = `head${'x'.repeat(5_000)}tail`
    const { lines, overlong } = frame([Buffer.from(`${long}\nnext\n`)], 100)
    expect(lines).toEqual(['next'])
    expect(overlong[0]?.bytes).toBe(long.length)
    expect(overlong[0]?.head.toString()).toMatch(/^headx/)
    expect(overlong[0]?.tail.toString()).toMatch(/xtail$/)
  })
})

function frame(chunks: readonly Buffer[], maxBytes = 1_000_000) {
  const lines: string[] = []
  const overlong: OverlongLine[] = []
  const framer = new LineFramer({
    maxBytes,
    onLine: (line) => lines.push(line.toString()),
    onOverlong: (line) => overlong.push(line),
  })
  for (const chunk of chunks) framer.push(chunk)
  return { lines, overlong }
}

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const chunks: Buffer[] = []
  let rest = bytes
  for (const cut of cuts) {
    chunks.push(rest.subarray(0, cut))
    rest = rest.subarray(cut)
  }
  return [...chunks, rest]
}
