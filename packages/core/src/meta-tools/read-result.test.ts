import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { memorySpill } from '../call/spill.ts'
import type { ToolContext, ToolResult } from '../tool.ts'
import { readResult } from './read-result.ts'

interface Answer {
  readonly text: string
  readonly next_offset?: number
  readonly total_chars: number
  readonly lines: readonly { line: number; text: string }[]
  readonly total_matches: number
}

function open(text: string, resultLimitChars = 80_000) {
  const spill = memorySpill({ clock: () => 0 })
  const handle = spill.put('s', text) as string
  const tool = readResult({ spill, sessionId: 's' })
  const context: ToolContext = {
    sessionId: 's',
    toolCallId: 'c',
    turnCount: 0,
    signal: new AbortController().signal,
    resultLimitChars,
    context: undefined,
  }
  const read = (input: { handle?: string; offset?: number; limit?: number; pattern?: string } = {}) =>
    tool.execute({ handle, ...input }, context) as Promise<ToolResult>
  const readOk = async (input = {}) => {
    const result = await read(input)
    if (!result.ok) throw new Error(result.error)
    expect(JSON.parse(result.value)).toEqual(result.structured)
    return { ...(result.structured as Answer), chars: result.value.length }
  }
  return { tool, handle, read, readOk }
}

describe('read_result', () => {
  test('lets other work have its turn while it looks through many lines', async () => {
    const { readOk } = open('a line of a long text\n'.repeat(400_000))
    let isOver = false
    const searching = readOk({ pattern: 'line of a' }).finally(() => {
      isOver = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setImmediate(resolve))
    expect(isOver).toBe(false)
    expect(await searching).toMatchObject({ total_matches: 400_000 })
  })

  test('an offset before the beginning is the beginning, with a pattern too', async () => {
    const { readOk } = open('0123456789\nabc\nabd')
    const piece = await readOk({ offset: -5, limit: 3 })
    expect(piece).toMatchObject({ offset: 0, text: '012', next_offset: 3 })
    const lines = await readOk({ offset: -1, pattern: 'ab' })
    expect(lines).toMatchObject({ total_matches: 2, lines: [{ line: 2 }, { line: 3 }] })
    expect(lines.next_offset).toBeUndefined()
  })

  test('a long handle that is wrong is cut in the answer', async () => {
    const { read } = open('text')
    const missed = await read({ handle: 'h'.repeat(10_000) })
    expect(missed).toMatchObject({ ok: true, structured: { found: false } })
    expect(JSON.stringify(missed).length).toBeLessThan(2_000)
  })

  test('reads a piece and says where to read on', async () => {
    const { readOk, handle } = open('0123456789')
    expect(await readOk({ offset: 2, limit: 3 })).toMatchObject({
      handle,
      total_chars: 10,
      offset: 2,
      text: '234',
      next_offset: 5,
    })
    const last = await readOk({ offset: 8, limit: 99 })
    expect(last.text).toBe('89')
    expect(last.next_offset).toBeUndefined()
  })

  test('beyond the end returns nothing more', async () => {
    const beyond = await open('abc').readOk({ offset: 50 })
    expect(beyond).toMatchObject({ text: '', total_chars: 3 })
    expect(beyond.next_offset).toBeUndefined()
  })

  test('read piece by piece gives the whole text, within the limit of each answer', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: fc.constantFrom('a', '\n', '"', '\\', '😀', 'é', '\u0001'), maxLength: 3_000 }),
        fc.integer({ min: 1, max: 2_000 }),
        async (text, limit) => {
          const { readOk } = open(text, 600)
          let whole = ''
          let offset: number | undefined = 0
          while (offset !== undefined) {
            const piece: Answer & { chars: number } = await readOk({ offset, limit })
            expect(piece.chars).toBeLessThanOrEqual(600)
            expect(piece.text).not.toMatch(/\p{Surrogate}/u)
            whole += piece.text
            offset = piece.next_offset
          }
          expect(whole).toBe(text)
        },
      ),
      { numRuns: 50 },
    )
  })

  test('finds the lines that match, with their numbers, page by page', async () => {
    const text = Array.from({ length: 300 }, (_, n) => (n % 3 === 0 ? `error ${n}` : `fine ${n}`)).join('\n')
    const { readOk } = open(text)
    const first = await readOk({ pattern: '^error', limit: 2 })
    expect(first).toMatchObject({
      total_matches: 100,
      lines: [
        { line: 1, text: 'error 0' },
        { line: 4, text: 'error 3' },
      ],
      next_offset: 2,
    })
    const last = await readOk({ pattern: '^error', offset: 99 })
    expect(last.lines).toEqual([{ line: 298, text: 'error 297' }])
    expect(last.next_offset).toBeUndefined()
    expect(await readOk({ pattern: 'nowhere' })).toMatchObject({ total_matches: 0, lines: [] })
  })

  test('stays within its limit however many lines match, and clips long ones', async () => {
    const { readOk } = open(Array.from({ length: 400 }, () => 'x'.repeat(2_000)).join('\n'), 5_000)
    const found = await readOk({ pattern: 'x', limit: 500 })
    expect(found.chars).toBeLessThanOrEqual(5_000)
    expect(found.lines[0]?.text).toMatch(/^x{400}… \[2000 chars\]$/)
    expect(found.next_offset).toBe(found.lines.length)
  })

  test('takes no pattern to the edge: evil ones are linear, broken and long ones refused', async () => {
    const { readOk, read } = open(`${'a'.repeat(50_000)}!`)
    expect(await readOk({ pattern: '^(a+)+$' })).toMatchObject({ total_matches: 0 })
    expect(await read({ pattern: '(' })).toMatchObject({ ok: false, code: 'input_invalid' })
    expect(await read({ pattern: 'x'.repeat(201) })).toMatchObject({ ok: false, code: 'input_invalid' })
    for (const [pattern, reason] of [
      ['a{0,999}a{0,999}b', '3998 steps'],
      ['a(a|b){300}c', 'too much work'],
    ] as const)
      expect(await open(noise(60_000)).read({ pattern })).toMatchObject({
        ok: false,
        code: 'input_invalid',
        error: expect.stringContaining(reason),
      })
  })

  test('explains a handle that has expired or belongs to another session', async () => {
    const { read } = open('text')
    expect(await read({ handle: 'r99' })).toMatchObject({
      ok: true,
      structured: { found: false, error: expect.stringContaining('expired') },
    })
    const spill = memorySpill({ clock: () => 0 })
    const theirs = spill.put('theirs', 'secret') as string
    const mine = readResult({ spill, sessionId: 'mine' })
    const context = {
      sessionId: 'theirs',
      toolCallId: '',
      turnCount: 0,
      signal: new AbortController().signal,
      resultLimitChars: 99,
      context: undefined,
    }
    expect(JSON.stringify(await mine.execute({ handle: theirs }, context))).not.toContain('secret')
  })
})

/** Letters a and b without a pattern, the same every time. */
function noise(length: number): string {
  let state = 1
  return Array.from({ length }, () => {
    state = (state * 48_271) % 2_147_483_647
    return state % 2 === 0 ? 'a' : 'b'
  }).join('')
}
