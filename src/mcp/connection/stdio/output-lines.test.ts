import { describe, expect, it } from 'vitest'
import { OutputLines } from './output-lines.ts'

describe('what a server writes to stderr', () => {
  const collect = () => {
    let now = 0
    const lines: string[] = []
    const output = new OutputLines(
      (line) => lines.push(line),
      () => now,
    )
    return {
      lines,
      push: (text: string | Buffer) => output.push(Buffer.from(text)),
      pass: (ms: number) => (now += ms),
    }
  }

  it('is reported line by line, across chunks and characters', () => {
    const { lines, push } = collect()
    push('one\ntw')
    push(Buffer.from('é\r\n\n  \nthree').subarray(0, 1))
    push(Buffer.from('é\r\n\n  \nthree').subarray(1))
    push('\n')
    expect(lines).toEqual(['one', 'twé', 'three'])
  })

  it('is cut where a line does not end, and counted where lines do not', () => {
    const { lines, push, pass } = collect()
    for (let nth = 0; nth < 100; nth++) push('x'.repeat(100_000))
    push('\n')
    expect(lines).toEqual([`${'x'.repeat(2_000)}…`])
    push('y\n'.repeat(1_000))
    expect(lines).toHaveLength(50)
    pass(1_000)
    push('z\n')
    expect(lines.slice(50)).toEqual(['(951 more lines)', 'z'])
  })
})
