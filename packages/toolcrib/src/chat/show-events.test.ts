import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { EventPrinter } from './show-events.ts'

describe('what a chat prints of a run', () => {
  it('fits calls and results into the width, and leaves the text of the model as it is', () => {
    let shown = ''
    const printer = new EventPrinter(
      (text) => {
        shown += stripVTControlCharacters(text)
      },
      'me',
      40,
    )
    const text = 'word '.repeat(20).trim()
    const result = { ok: false, code: 'denied', error: text } as const
    printer.show({ type: 'text', sessionId: 'me', iteration: 1, text })
    printer.show({
      type: 'called',
      sessionId: 'me',
      iteration: 1,
      results: [{ toolCallId: '1', name: 'read', result, durationMs: 3 }],
    })
    const [said, ...lines] = shown.trimEnd().split('\n')
    expect(said).toBe(text)
    expect(lines[0]).toBe('✗ read word word word word word word')
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(40)
  })
})
