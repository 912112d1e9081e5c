import { describe, expect, it } from 'vitest'
import { LogBook } from './log-book.ts'

describe('the log book', () => {
  it('notes servers and calls, by server', () => {
    const book = new LogBook()
    book.note({ at: 0, type: 'server-state', server: 'files', state: 'failed', reason: 'it exited' })
    book.note({
      at: 1,
      type: 'call-finished',
      toolCallId: '1',
      name: 'mcp__files__read',
      ok: false,
      code: 'timeout',
      durationMs: 12.4,
      chars: 3,
    })
    book.note({ at: 2, type: 'server-warning', server: 'other', warning: 'junk on stdout' })
    expect(book.lines('files')).toEqual([
      { at: '1970-01-01T00:00:00.000Z', level: 'error', server: 'files', message: 'failed: it exited' },
      {
        at: '1970-01-01T00:00:00.001Z',
        level: 'warn',
        server: 'files',
        message: 'call files.read: timeout, 12 ms',
      },
    ])
    expect(book.lines()).toHaveLength(3)
  })

  it('describes what is suspicious about a tool in one line', () => {
    const book = new LogBook()
    const finding = {
      kind: 'secrecy',
      severity: 'high',
      server: 'files',
      tool: 'read',
      place: 'description',
      message: 'it tells the model to keep something from the user',
      excerpt: 'do not tell\nthe user',
    } as const
    book.note({ at: 0, type: 'tool-suspicious', server: 'files', finding })
    expect(book.lines('files').map(({ message }) => message)).toEqual([
      'tool read is suspicious (high), description: it tells the model to keep something from the user: "do not tell\\nthe user"',
    ])
  })

  it('has one line for two servers whose tools are alike', () => {
    const book = new LogBook()
    for (const tool of ['read', 'write', 'move'])
      book.note({
        at: 0,
        type: 'tool-suspicious',
        server: 'docs',
        finding: {
          kind: 'clone',
          severity: 'low',
          server: 'docs',
          tool,
          place: 'description',
          message: `its description is identical to that of "${tool}" of server "files"`,
          excerpt: 'Reads.',
          original: { server: 'files', tool },
        },
      })
    expect(book.lines()).toMatchObject([
      {
        level: 'info',
        server: 'docs',
        message: 'tools are word for word those of "files", such as read; see "toolcrib doctor"',
      },
    ])
  })

  it('leaves out what says nothing about health', () => {
    const book = new LogBook()
    book.note({ at: 0, type: 'searched', query: 'private words', searcher: 'hybrid', total: 0, names: [] })
    expect(book.lines()).toEqual([])
  })

  it('keeps the last 2,000 lines', () => {
    const book = new LogBook()
    for (let nth = 0; nth < 2_010; nth++) book.add({ at: '', level: 'info', message: String(nth) })
    expect(book.lines()).toHaveLength(2_000)
    expect(book.lines()[0]?.message).toBe('10')
  })

  it('tells readers of new lines until they stop', () => {
    const book = new LogBook()
    const seen: string[] = []
    const stop = book.follow(({ message }) => seen.push(message))
    book.add({ at: '', level: 'info', message: 'one' })
    stop()
    book.add({ at: '', level: 'info', message: 'two' })
    expect(seen).toEqual(['one'])
  })
})
