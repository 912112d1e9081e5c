import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { fakeTerminal } from './fake-terminal.fixture.ts'
import { WaitLine } from './wait-line.ts'

/** A terminal whose patience ends when the test says so. */
function waiting({ isTTY = true, columns = 60 } = {}) {
  const errors = Object.assign(new PassThrough(), { isTTY, columns })
  const timers = new Set<() => void>()
  const schedule = (_: number, fire: () => void) => {
    timers.add(fire)
    return () => timers.delete(fire)
  }
  const { terminal } = fakeTerminal({ errors, schedule, patienceMs: 2_000 })
  const read = () => stripVTControlCharacters(String(errors.read() ?? '')).replace(/\r/g, '')
  return { line: new WaitLine(terminal), read, endPatience: () => [...timers].map((fire) => fire()) }
}

describe('the line about a wait', () => {
  it('says at once what is waited for, and after a while what can be done', () => {
    const { line, read, endPatience } = waiting()
    line.show('waiting for a', 'at most 30 s; Ctrl-C stops it')
    expect(read()).toBe('waiting for a …')
    endPatience()
    expect(read()).toBe('waiting for a, at most 30 s; Ctrl-C stops it')
    line.show('waiting for b', 'at most 30 s; Ctrl-C stops it')
    expect(read()).toBe('waiting for b, at most 30 s; Ctrl-C stops it')
    line.stop()
    expect(read()).toBe('')
    endPatience()
    expect(read()).toBe('')
  })

  it('keeps what can be done on a narrow terminal', () => {
    const { line, read, endPatience } = waiting({ columns: 50 })
    line.show(`waiting for ${'server, '.repeat(10)}`, 'at most 30 s; Ctrl-C stops it')
    read()
    endPatience()
    expect(read()).toBe('waiting for serve…, at most 30 s; Ctrl-C stops it')
  })

  it('is one note without a terminal, and none for a short wait', () => {
    const { line, read, endPatience } = waiting({ isTTY: false })
    line.show('waiting for a', 'Ctrl-C stops it')
    line.show('waiting for a, b', 'Ctrl-C stops it')
    expect(read()).toBe('')
    endPatience()
    expect(read()).toBe('note waiting for a, b, Ctrl-C stops it\n')
    line.show('waiting for a (downloading)', 'may take minutes')
    line.show('waiting for b', 'Ctrl-C stops it')
    line.show('waiting for b (downloading)', 'may take minutes')
    expect(read()).toBe('note waiting for a (downloading), may take minutes\n')
    const short = waiting({ isTTY: false })
    short.line.show('waiting for a', 'Ctrl-C stops it')
    short.line.stop()
    short.endPatience()
    expect(short.read()).toBe('')
  })
})
